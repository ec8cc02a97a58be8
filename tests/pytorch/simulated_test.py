#!/usr/bin/env python3
"""A PyTorch example with PyTorch's own CUDA and NCCL calls, on simulated GPUs, without Weft and with it filling.

Called by CTest: simulated_test.py SOURCE BUILD RANKS BUBBLES EXPECT SCRIPT [SCRIPT ARGUMENTS]. BUBBLES is "some" where
Weft must have seen the idle time, else "any"; EXPECT is compare.py's --expect. PyTorch's kernels take time and
write nothing, so the losses mean nothing: what is checked is that all calls go through, and what Weft saw against the
simulator's own log.
"""
import dataclasses
import json
import os
import pathlib
import subprocess
import sys
import tempfile

LIMIT = 200  # seconds, of each run
ITERATIONS = 8
TIME_SCALE = os.environ.get("SIMGPU_TIME_SCALE", "4")
# A busy machine delays what Weft sees; its records say by how much. Graphs hide idle time: there ("any") it need not be seen.
MOST_OFF = 0.02  # of all time
SHORTEST_IDLE = 10_000  # ns at time scale 1: gaps between dependent kernels are no bubbles


def command(source: pathlib.Path, build: pathlib.Path, output: str, ranks: str, expect: str, script: str,
            arguments: list[str]) -> list[str]:
    """compare.py on the simulated GPU."""
    return [str(source / "scripts/on-simulated-gpu"), "--build", str(build), "--pytorch", "env", f"SIMGPU_LOG={output}",
            f"SIMGPU_TIME_SCALE={TIME_SCALE}", "SIMGPU_SCHEDULING=realtime", sys.executable, "-B", str(source / "examples/pytorch/compare.py"), "--json", "--weft", str(build / "bin/weft"),
            "--fill", str(build / "lib/weft/fill_matmul.so"), "--time-limit", str(LIMIT), "--out", output, "--script", script, "--ranks", ranks, "--expect", expect,
            "--", "--iterations", str(ITERATIONS), "--device", "cuda", *arguments]


@dataclasses.dataclass
class Shares:
    """Of the window of a rank's trace."""
    true: float  # by the simulator's log
    unsure: float  # by how much all ends of bubbles together may be wrong, as the trace says


def shares(build: pathlib.Path, output: str, rank: dict) -> Shares:
    folder = pathlib.Path(output)
    trace, = (folder / "trace").glob(f"rank{rank['rank']}.*.jsonl")
    records = [json.loads(line) for line in trace.read_text(encoding="utf-8").splitlines()]
    begin, end = records[-1]["window_begin"], records[-1]["window_end"]
    log, = folder.glob(f"gpu*.{rank['process']}.jsonl")
    done = subprocess.run([build / "bin/simgpu-truth", "--as-told", "--from", str(begin), "--to", str(end), "--shortest",
                           str(int(SHORTEST_IDLE * float(TIME_SCALE))), log], capture_output=True, text=True, timeout=LIMIT,
                          check=True)
    unsure = sum(record["opened_within"] + record["closed_within"] for record in records if record["type"] == "bubble")
    return Shares(json.loads(done.stdout)["logs"][0]["idle_share"], unsure / (end - begin))


def is_right(idle: float, truth: Shares) -> bool:
    return abs(idle - truth.true) <= max(MOST_OFF, truth.unsure)


def main() -> int:
    source, build = map(pathlib.Path, sys.argv[1:3])
    ranks, bubbles, expect, script = sys.argv[3:7]
    with tempfile.TemporaryDirectory() as output:
        done = subprocess.run(command(source, build, output, ranks, expect, script, sys.argv[7:]), stdout=subprocess.PIPE, text=True,
                              timeout=3 * LIMIT, check=False)
        print(done.stdout)
        assert done.returncode == 0, done.returncode
        result = json.loads(done.stdout)
        truth = {rank["rank"]: shares(build, output, rank) for rank in result["ranks"]}
    print(f"found: {[rank['idle_share'] for rank in result['ranks']]}, truly: {truth}")
    assert result["simulated"] and result["iterations"] == ITERATIONS
    assert len(result["ranks"]) == int(ranks), result["notes"]
    for rank in result["ranks"]:
        assert rank["complete"] and (is_right(rank["idle_share"], truth[rank["rank"]]) or bubbles == "any"), (rank, truth)
    return 0


if __name__ == "__main__":
    sys.exit(main())
