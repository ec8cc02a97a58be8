#!/usr/bin/env python3
"""Jobs of bench/jobs/frameworks, each once under Weft and once without: frameworks_test.py FOLDER BUILD PACKAGE ROW...

Called by CTest with the Python that has PyTorch. Exit code 77 where it lacks the package. The losses must be identical and
mean something; the bounds on idle time are wide, because these jobs keep the whole machine busy and other tests share it.
"""
import importlib.util
import json
import pathlib
import subprocess
import sys
import tempfile

ITERATIONS = 6
MOST_OFF = 0.25  # of all time, reported and uncertain against true


def check(cell: dict, losses: list) -> None:
    assert cell["rc"] == 0 and cell["state"] == "ok", cell
    assert cell["losses_identical"] is True, cell
    values = [loss for of_rank in losses for loss in of_rank]
    assert len(set(values)) > ITERATIONS and all(value > 0 for value in values), losses
    for rank in cell["ranks"]:
        assert rank["bubbles"] > 0 and rank["dropped_records"] == 0, rank
        assert rank["true"] - rank["uncertain"] - MOST_OFF < rank["idle"] < rank["true"] + MOST_OFF, rank


def main() -> int:
    folder, build, package, *rows = sys.argv[1:]
    if importlib.util.find_spec(package) is None:
        print(f"{sys.executable} has no {package}")
        return 77
    with tempfile.TemporaryDirectory() as temporary:
        results = pathlib.Path(temporary)
        subprocess.run([sys.executable, "-B", f"{folder}/job_table.py", "--build", build, "--python", sys.executable,
                        "--results", temporary, "--rows", ",".join(rows), "--queues", "32", "--time-scale", "2",
                        "--iterations", str(ITERATIONS)], check=True, timeout=390 * len(rows))
        for row in rows:
            plain = json.loads((results / f"{row}.32.plain.json").read_text(encoding="utf-8"))
            check(json.loads((results / f"{row}.32.observe.json").read_text(encoding="utf-8")), plain["losses"])
    return 0


if __name__ == "__main__":
    sys.exit(main())
