#!/usr/bin/env python3
"""How the readers of traces take long ones: long_trace.py WEFT TRACES FOLDER [--bytes 100000000,1000000000,10000000000]

TRACES is a run (scripts/demo). The later half of each rank's iterations is repeated, with times and numbers that go on,
until the traces of all ranks have so many bytes together. Then prints, for each verb that reads traces, CPU time, wall
time and peak memory. FOLDER needs the room, exports included, and is emptied again."""
import argparse
import json
import multiprocessing
import pathlib
import shutil
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from measured_command import measured  # noqa: E402

TIMES = {"time", "opened", "closed", "began", "ended", "begun", "launched", "finished", "started", "monotonic",
         "wall_clock"}
ITERATIONS = {"number", "iteration", "turn"}


class Repeated:
    """The lines of a trace before and behind a block of whole iterations, and the block as a text to be numbered."""

    def __init__(self, lines, records, first, last, length):
        header = dict(records[0], start_id=records[0]["start_id"] + 1)  # another run
        self.before, self.after = [json.dumps(header).encode() + b"\n", *lines[1:first]], lines[last:]
        block = records[first:last]
        self.steps = {"iteration": sum(record["type"] == "iteration" for record in block),
                      "bubble": sum(record["type"] == "bubble" for record in block), "time": length}
        groups = [record["id"] for record in records if record["type"] == "group"]
        inside = [record["id"] for record in block if record["type"] == "group"]
        self.steps["group"] = max(inside) - max(number for number in groups if number < min(inside))
        self.sequences = {}
        for record in block:
            for key in self.operations(record):
                self.sequences[key] = self.sequences.get(key, 0) + 1
        self.units = sum(record.get("unit_done", False) for record in block)
        self.bases, self.deltas = [], []
        self.text = "".join(json.dumps(self.marked(record)).replace("%", "%%").replace('"@"', "%d") + "\n"
                            for record in block)

    @staticmethod
    def operations(record):
        """For each operation the messages that its sequence counts."""
        for operation in record.get("operations", []):
            one_way = operation["kind"] in ("send", "receive")
            yield record["communicator"], *((operation["kind"], operation["peer"]) if one_way else ())

    def mark(self, value, delta):
        self.bases.append(value)
        self.deltas.append(delta)
        return "@"

    def marked(self, record):
        """The record with a mark for each number that goes on."""
        kind = record["type"]
        out = {}
        for key, value in record.items():
            step = ("time" if key in TIMES else "iteration" if key in ITERATIONS else
                    key if key in ("bubble", "group") else kind if key == "id" and kind in ("bubble", "group") else None)
            if isinstance(value, int) and value > 0 and step:
                value = self.mark(value, self.steps[step])
            elif key == "unit":
                value = self.mark(value, self.units)
            elif key == "operations":
                value = [dict(operation, sequence=self.mark(operation["sequence"], self.sequences[counted]))
                         for operation, counted in zip(value, self.operations(record))]
            out[key] = value
        return out

    def numbered(self, turn):
        return (self.text % tuple(base + delta * turn for base, delta in zip(self.bases, self.deltas))).encode()


def repeated_ranks(traces):
    """Of each trace, with one length of time for all: blocks of a rank do not overlap."""
    parsed = []
    for path in sorted(traces.glob("rank*.jsonl")):
        lines = path.read_bytes().splitlines(keepends=True)
        records = [json.loads(line) for line in lines]
        ends = [place + 1 for place, record in enumerate(records) if record["type"] == "iteration"]
        parsed.append((path, lines, records, ends[len(ends) // 2], ends[-1]))
    length = max(max(record["time"] for record in records[first:last]) -
                 min(record.get("opened", record["time"]) for record in records[first:last])
                 for _, _, records, first, last in parsed)
    return [(path, Repeated(lines, records, first, last, length)) for path, lines, records, first, last in parsed]


def make_run(traces, folder, most):
    files = [(open(folder / path.name, "wb"), repeated) for path, repeated in repeated_ranks(traces)]
    size = turn = 0
    for file, repeated in files:
        size += file.write(b"".join(repeated.before))
    while size < most:
        for file, repeated in files:
            size += file.write(repeated.numbered(turn))
        turn += 1
    for file, repeated in files:
        file.write(b"".join(repeated.after))
        file.close()


def readers(weft, traces, run, out):
    return {"summary": [weft, "summary", "--json", run],
            "diff": [weft, "diff", "--json", traces, run],
            "estimate": [weft, "estimate", run, "--fill", "100x300us"],
            "report": [weft, "report", run, "-o", out / "report.html"],
            "export --perfetto": [weft, "export", run, "--perfetto", out / "trace.pftrace"],
            "export --kineto": [weft, "export", run, "--kineto", out / "kineto"],
            "export --csv": [weft, "export", run, "--csv", out / "csv"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("weft")
    parser.add_argument("traces", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--bytes", default="100000000,1000000000,10000000000")
    wanted = parser.parse_args()
    print("trace MB   reader               CPU s   CPU s per GB   wall s   peak MB   written MB")
    for most in map(int, wanted.bytes.split(",")):
        folder = pathlib.Path(tempfile.mkdtemp(dir=wanted.folder))
        run = folder / "run"
        run.mkdir()
        # In a process of its own: what this one had of memory would count as that of the processes it starts.
        maker = multiprocessing.Process(target=make_run, args=(wanted.traces, run, most))
        maker.start()
        maker.join()
        size = sum(path.stat().st_size for path in run.iterdir())
        for name, command in readers(wanted.weft, wanted.traces, run, folder / "out").items():
            (folder / "out").mkdir()
            found = measured(command)
            written = sum(path.stat().st_size for path in (folder / "out").rglob("*") if path.is_file())
            print(f"{size / 1e6:8.0f}   {name:18} {found['cpu_s']:7.1f} {found['cpu_s'] / size * 1e9:14.1f} "
                  f"{found['wall_s']:8.1f} {found['peak_mb']:9.0f} {written / 1e6:12.0f}", flush=True)
            shutil.rmtree(folder / "out")
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
