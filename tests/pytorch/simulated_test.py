#!/usr/bin/env python3
"""A PyTorch example with PyTorch's own CUDA and NCCL calls, on simulated GPUs, without Weft and with it filling.

Called by CTest: simulated_test.py SOURCE BUILD RANKS BUBBLES EXPECT SCRIPT [SCRIPT ARGUMENTS]. BUBBLES is "some" where
Weft must have seen most of the idle time, else "any"; EXPECT is compare.py's --expect. PyTorch's kernels take time and
write nothing, so the losses mean nothing: what is checked is that all calls go through, and what Weft saw against the
simulator's own log.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

LIMIT = 200  # seconds, of each run
ITERATIONS = 8
# A simulator that is short of processor time tells the host late what has happened, so the bounds are wide; what they must
# catch is idle time that is not seen at all.
SEEN_AT_LEAST = 0.5
BELOW_NOTICE = 0.02  # of all time


def command(source: pathlib.Path, build: pathlib.Path, output: str, ranks: str, expect: str, script: str,
            arguments: list[str]) -> list[str]:
    """compare.py on the simulated GPU."""
    return [str(source / "scripts/on-simulated-gpu"), "--build", str(build), "--pytorch", "env", f"SIMGPU_LOG={output}",
            sys.executable, "-B", str(source / "examples/pytorch/compare.py"), "--json", "--weft", str(build / "bin/weft"),
            "--fill", str(build / "lib/weft/fill_matmul.so"), "--time-limit", str(LIMIT), "--out", output, "--script", script, "--ranks", ranks, "--expect", expect,
            "--", "--iterations", str(ITERATIONS), "--device", "cuda", *arguments]


def true_idle_share(build: pathlib.Path, output: str, rank: dict) -> float:
    """The idle share in the simulator's log, over the window of a rank's trace."""
    folder = pathlib.Path(output)
    trace, = (folder / "trace").glob(f"rank{rank['rank']}.*.jsonl")
    window = json.loads(trace.read_text(encoding="utf-8").splitlines()[-1])
    log, = folder.glob(f"gpu*.{rank['process']}.jsonl")
    done = subprocess.run([build / "bin/simgpu-truth", "--from", str(window["window_begin"]), "--to", str(window["window_end"]), log],
                          capture_output=True, text=True, timeout=LIMIT, check=True)
    return json.loads(done.stdout)["logs"][0]["idle_share"]


def main() -> int:
    source, build = map(pathlib.Path, sys.argv[1:3])
    ranks, bubbles, expect, script = sys.argv[3:7]
    with tempfile.TemporaryDirectory() as output:
        done = subprocess.run(command(source, build, output, ranks, expect, script, sys.argv[7:]), stdout=subprocess.PIPE, text=True,
                              timeout=3 * LIMIT, check=False)
        print(done.stdout)
        assert done.returncode == 0, done.returncode
        result = json.loads(done.stdout)
        truth = {rank["rank"]: true_idle_share(build, output, rank) for rank in result["ranks"]}
    print(f"truly idle: {truth}")
    assert result["simulated"] and result["iterations"] == ITERATIONS
    assert len(result["ranks"]) == int(ranks), result["notes"]
    for rank in result["ranks"]:
        seen = rank["idle_share"] >= SEEN_AT_LEAST * truth[rank["rank"]] - BELOW_NOTICE
        assert rank["complete"] and (seen or bubbles == "any"), (rank, truth)
    return 0


if __name__ == "__main__":
    sys.exit(main())
