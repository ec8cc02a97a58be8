"""The files of a run: the results and the page, written anew after each step, and one archive of its logs.

Called by main.py. Whoever is stopped at any moment leaves whole files: each is put in its place by a rename.
"""

import json
import os
import tarfile

LOGS = {".out", ".err", ".log", ".txt", ""}  # endings of what is worth keeping
MOST_BYTES = 1_000_000  # of one log
TRACES = {".jsonl"}  # of Weft and of the truth, as far as there is room
MOST_BYTES_OF_TRACE = 40_000_000
MOST_BYTES_PACKED = 12_000_000  # of the archive, before the last trace


def replace(path, text):
    """Writes a file beside its place and moves it there."""
    beside = path.with_name(f".{path.name}.new")
    beside.write_text(text)
    os.replace(beside, path)


def write_results(stem, result, page):
    """Both files of a run; returns the page's path."""
    json_file, page_file = stem.with_name(stem.name + ".json"), stem.with_name(stem.name + ".md")
    replace(json_file, json.dumps(result, indent=1, allow_nan=False) + "\n")
    replace(page_file, page)
    return page_file


def pack_logs(folder, archive):
    """All logs below the folder in one file, and behind them traces, smallest first."""
    beside = archive.with_name(f".{archive.name}.new")
    present = [path for path in sorted(folder.glob("**/*")) if path.is_file() and not path.is_symlink() and path.stat().st_size > 0]
    logs = [path for path in present if path.suffix in LOGS and path.stat().st_size <= MOST_BYTES]
    traces = sorted((path for path in present if path.suffix in TRACES and path.stat().st_size <= MOST_BYTES_OF_TRACE), key=lambda path: path.stat().st_size)
    with tarfile.open(beside, "w:gz") as packed:
        for path in logs + traces:
            if path.suffix not in TRACES or beside.stat().st_size < MOST_BYTES_PACKED:
                packed.add(path, arcname=str(path.relative_to(folder)), filter=_of_nobody)
    os.replace(beside, archive)


def _of_nobody(entry):
    entry.uid = entry.gid = 0
    entry.uname = entry.gname = ""
    return entry
