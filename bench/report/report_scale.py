#!/usr/bin/env python3
"""How weft report grows with the number of ranks: report_scale.py WEFT TRACES FOLDER [--ranks 64,512,4096,8192]
[--bytes 1000000] [--keep]

Makes a run of so many ranks in FOLDER from the traces of a small one (scripts/demo), of so many bytes for each rank:
each of its ranks stands for one rank of every pipeline, with communicators of their own, on hosts of eight GPUs. Then
prints, for each number of ranks, the CPU time, wall time and peak memory of weft report, and the size of its page. FOLDER
needs the room (8 GB for 8,192 ranks), and is emptied again. With --keep the last run stays."""
import argparse
import json
import pathlib
import shutil
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from measured_command import measured  # noqa: E402


def shortened(path, most):
    """The trace's lines up to `most` bytes, and its summary."""
    lines = path.read_bytes().splitlines(keepends=True)
    summary = lines[-1] if lines[-1].startswith(b'{"type": "summary"') else b""
    kept, size = [], len(summary)
    for line in lines[:-1] if summary else lines:
        size += len(line)
        if size > most:
            break
        kept.append(line)
    return kept, summary


class Source:
    """A rank of the small run. Lines that differ from copy to copy stand in front of the others."""

    def __init__(self, path, most):
        kept, self.summary = shortened(path, most)
        self.header = json.loads(kept[0])
        self.parts, block = [], []
        for line in kept[1:]:
            if line.startswith(b'{"type": "communicator"'):
                self.parts += [b"".join(block), json.loads(line)]
                block = []
            else:
                block.append(line)
        self.parts.append(b"".join(block))

    def write(self, folder, rank, ranks, pipeline):
        header = dict(self.header, rank=rank, ranks=ranks, process=1000 + rank, host=f"node-{rank // 8:04d}",
                      device=self.header["device"])
        with open(folder / f"rank{rank}.{1000 + rank}.jsonl", "wb") as file:
            file.write(json.dumps(header).encode() + b"\n")
            for part in self.parts:
                if isinstance(part, dict):
                    own = (int(part["id"] or "1", 16) + pipeline * 0x9E3779B97F4A7C15) % 2 ** 64
                    part = json.dumps(dict(part, id=f"{own:016x}")).encode() + b"\n"
                file.write(part)
            file.write(self.summary)


def make_run(sources, folder, ranks):
    for rank in range(ranks):
        sources[rank % len(sources)].write(folder, rank, ranks, rank // len(sources))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("weft")
    parser.add_argument("traces", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--ranks", default="64,512,4096,8192")
    parser.add_argument("--bytes", type=int, default=1_000_000)
    parser.add_argument("--keep", action="store_true")
    wanted = parser.parse_args()
    wanted.folder.mkdir(parents=True, exist_ok=True)
    sources = [Source(path, wanted.bytes) for path in sorted(wanted.traces.glob("rank*.jsonl"))]
    print("ranks    trace MB   CPU s   of it user   CPU ms per rank   wall s   peak MB   page MB")
    for ranks in map(int, wanted.ranks.split(",")):
        folder = pathlib.Path(tempfile.mkdtemp(dir=wanted.folder))
        make_run(sources, folder, ranks)
        size = sum(path.stat().st_size for path in folder.iterdir()) / 1e6
        page = wanted.folder / f"report-{ranks}.html"
        found = measured([wanted.weft, "report", folder, "-o", page])
        print(f"{ranks:5} {size:11.0f} {found['cpu_s']:7.1f} {found['user_s']:12.1f} {1e3 * found['cpu_s'] / ranks:17.2f} "
              f"{found['wall_s']:8.1f} {found['peak_mb']:9.0f} {page.stat().st_size / 1e6:9.2f}", flush=True)
        if wanted.keep and ranks == int(wanted.ranks.split(",")[-1]):
            print(f"the traces are in {folder}")
        else:
            shutil.rmtree(folder)


if __name__ == "__main__":
    main()
