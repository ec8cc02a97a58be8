#!/usr/bin/env python3
"""observing_cost.py with one short training of each kind, stopped and continued: command_test.py FOLDER BUILD. No bound on
the change: other tests share the machine."""
import json
import pathlib
import subprocess
import sys
import tempfile


def run(folder: str, build: str, results: pathlib.Path, *more: str) -> subprocess.CompletedProcess:
    command = [sys.executable, "-B", f"{folder}/observing_cost.py", "--build", build, "--results", str(results), "--rows",
               "control,5us", "--forward", "4", "--backward", "8", "--microbatches", "4", "--iterations", "2", "--rounds", "2", *more]
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=190)


def main() -> None:
    with tempfile.TemporaryDirectory() as temporary:
        results = pathlib.Path(temporary) / "results"
        for wanted in (1, 2):  # the second command goes on where the first one ended
            done = run(*sys.argv[1:3], results, "--minutes", "0.25", "--error", "0.000001")
            print(done.stdout, done.stderr)
            assert done.returncode == 0, done.returncode
            for name in ("control", "5us"):
                kept = json.loads((results / f"{name}.json").read_text())
                assert len(kept["runs"]) >= wanted and kept["groups"] == 6, kept
                assert all(len(one[kind]) == 4 for each in kept["runs"] for one in each["rounds"] for kind in ("on", "off")), kept
                # An iteration cannot be shorter than what it computes: 5 forwards and backwards, one after the other.
                assert all(time > 60 for each in kept["runs"] for one in each["rounds"] for time in one["on"] + one["off"]), kept
        page = results / "page.md"
        assert run(*sys.argv[1:3], results, "--only-table", "--markdown", str(page)).returncode == 0
        assert "| control |" in page.read_text() and "not reached" in page.read_text()
        other = run(*sys.argv[1:3], results, "--ranks", "3")
        assert other.returncode != 0 and "is of another training" in other.stderr, other


if __name__ == "__main__":
    main()
