#!/usr/bin/env python3
"""observing_cost.py with one short training of each kind, stopped and continued: command_test.py FOLDER BUILD. No bound on
the change: other tests share the machine."""
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile


def run(folder: str, build: str, results: pathlib.Path, *more: str) -> subprocess.CompletedProcess:
    command = [sys.executable, "-B", f"{folder}/observing_cost.py", "--build", build, "--results", str(results), "--rows",
               "control,5us", "--forward", "2", "--backward", "4", "--microbatches", "4", "--iterations", "2", "--rounds", "6",
               "--error", "100", *more]
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=150)


def kept(results: pathlib.Path) -> dict[str, dict]:
    return {path.stem: json.loads(path.read_text()) for path in results.glob("*.json")}


def main() -> None:
    with tempfile.TemporaryDirectory() as temporary:
        results = pathlib.Path(temporary) / "results"
        # Some time, and then enough: the second command goes on where the first one ended.
        assert run(*sys.argv[1:3], results, "--minutes", "0.15").returncode == 0
        first = kept(results)
        done = run(*sys.argv[1:3], results, "--minutes", "2.3")
        print(done.stdout, done.stderr)
        assert done.returncode == 0, done.returncode
        rows = kept(results)
        assert set(rows) == {"control", "5us"} and len(first) > 0, (set(rows), set(first))
        assert all(rows[name]["runs"][:len(row["runs"])] == row["runs"] for name, row in first.items()), first
        for row in rows.values():
            rounds = [one for each in row["runs"] for one in each["rounds"]]
            assert len(rounds) == 24 and row["groups"] == 6, row
            assert all(len(one[kind]) == 4 for one in rounds for kind in ("on", "off")), rounds
            # An iteration computes 5 forwards and backwards, one after the other. A single one is shorter where the end of
            # the one before was late.
            assert all(statistics.median(one["on"] + one["off"]) > 30 for one in rounds), rounds
        page = results / "page.md"
        assert run(*sys.argv[1:3], results, "--only-table", "--markdown", str(page)).returncode == 0
        assert page.read_text().count("| reached |") == 2, page.read_text()
        other = run(*sys.argv[1:3], results, "--ranks", "3")
        assert other.returncode != 0 and "is of another training" in other.stderr, other


if __name__ == "__main__":
    main()
