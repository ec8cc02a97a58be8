#!/usr/bin/env python3
"""job_table.py with one job, twice: command_test.py FOLDER BUILD. The second time nothing is run.

Called by CTest. The bounds are wide, because other tests share the machine; they catch a trace that is held against the
wrong log, or at wrong times."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

KEYS = {"row", "queues", "mode", "time_scale", "state", "rc", "plain_rc", "seconds", "iterations_real", "losses_identical",
        "ranks", "log"}
LEAST_COVERAGE = 0.9
TIME_SCALE = os.environ.get("SIMGPU_TIME_SCALE", "2")  # scripts/sanitize slows the simulated GPUs down


def run(folder: str, build: str, results: pathlib.Path) -> str:
    command = [sys.executable, "-B", f"{folder}/job_table.py", "--build", build, "--results", str(results), "--rows",
               "trainer-gpipe-event", "--queues", "32", "--iterations", "5", "--time-scale", TIME_SCALE,
               "--timeout", "80", "--markdown", str(results / "table.md")]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, timeout=190).stdout


def main() -> None:
    with tempfile.TemporaryDirectory() as temporary:
        results = pathlib.Path(temporary) / "results"
        print(run(*sys.argv[1:3], results))
        path = results / "trainer-gpipe-event.32.observe.json"
        first = path.stat().st_mtime_ns
        cell = json.loads(path.read_text())
        print(cell)
        assert KEYS <= set(cell), KEYS - set(cell)
        assert cell["rc"] == 0 and cell["state"] == "ok" and cell["losses_identical"] is True
        assert [rank["rank"] for rank in cell["ranks"]] == [0, 1, 2, 3]
        for rank in cell["ranks"]:
            assert 0.02 < rank["true"] < 0.98 and rank["bubbles"] > 0 and rank["iterations"] > 0, rank
            assert rank["coverage"] > LEAST_COVERAGE, rank
        text = (results / "table.md").read_text()
        assert run(*sys.argv[1:3], results) == "" and path.stat().st_mtime_ns == first, "a cell was run again"
        assert (results / "table.md").read_text() == text and len(text.splitlines()) == 5, text


if __name__ == "__main__":
    main()
