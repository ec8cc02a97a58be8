#!/usr/bin/env python3
"""Names of messages against the schedules of torch.distributed.pipelining, on simulated GPUs.

Called by CTest: names_test.py SOURCE BUILD CHECKER SCHEDULE LEAST. No name may be wrong; LEAST percent of the messages have
one, 0 where Weft does not know the schedule. SCHEDULE "branches": a graph of stages, whose messages have no names.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

LIMIT = 300  # seconds
RANKS = 4


def program(source: pathlib.Path, schedule: str) -> list[str]:
    if schedule == "branches":
        return [str(source / "bench/jobs/frameworks/branches.py")]
    return [str(source / "tests/pytorch/named_pipeline.py"), "--schedule", schedule]


def check_that_none_has_a_name(weft: pathlib.Path, trace: pathlib.Path) -> None:
    summary = json.loads(subprocess.run([weft, "summary", "--json", trace], check=True, stdout=subprocess.PIPE).stdout)
    slots = summary["most_idle_slots"]
    assert slots and not any(slot["message"] for slot in slots), slots
    assert any("of no schedule that Weft knows" in note for note in summary["notes"]), summary["notes"]


def main() -> int:
    source, build, checker = map(pathlib.Path, sys.argv[1:4])
    schedule, least = sys.argv[4:6]
    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(name)
        (work / "reports").mkdir()
        scale = os.environ.get("SIMGPU_TIME_SCALE", "4")
        subprocess.run(
            [source / "scripts/on-simulated-gpu", "--build", build, "--pytorch", "env", f"NAMED_REPORTS={work}/reports",
             f"SIMGPU_DEVICES={RANKS}", f"SIMGPU_TIME_SCALE={scale}",
             build / "bin/weft", "run", "-q", "--observe", "--output", work / "trace", "--",
             sys.executable, "-B", *program(source, schedule), "--launch", str(RANKS),
             "--iterations", "10", "--device", "cuda", "--time-limit", str(LIMIT)],
            check=True, timeout=LIMIT + 20)
        if schedule == "branches":
            check_that_none_has_a_name(build / "bin/weft", work / "trace")
        else:
            subprocess.run([checker, work / "trace", work / "reports", least], check=True, timeout=LIMIT)
    return 0


if __name__ == "__main__":
    sys.exit(main())
