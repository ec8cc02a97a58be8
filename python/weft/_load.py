"""weft.load(): the traces of a run as tables. Reads file after file, line by line; only the tables grow."""

import sys
import warnings

from weft._clocks import alignment_of, move_times
from weft._errors import TraceError, TraceWarning, printable
from weft._frames import frames_named
from weft._kinds import KINDS, OF_THE_TRAINING, kind_named
from weft._lines import lines_of
from weft._records import RecordReader, process_of, with_added
from weft._run import Run
from weft._run_files import folders_of, found_files, newest_run, notes_on_ranks
from weft._tables import Faults, TableBuilder

# Of kinds that are not documented; each is a table.
_MOST_FURTHER_KINDS = 256

_MOST_TEXTS = 65536


def load(directory, *, frames=None, kinds=None, ranks=None, align=False):
    """The newest run whose traces are in `directory` (or in several), as `weft summary` finds it.

    frames   "pandas", "polars" or "dicts" (lists of dicts); None: pandas where it is installed, else polars, else dicts
    kinds    load only lines of these kinds, such as ["bubble", "iteration"]; headers and summaries are always there
    ranks    load only these ranks
    align    True: all times are moved to the clock of the first rank, as the command `weft` (in PATH, or the path that
             stands here in place of True) finds it out from the messages between hosts; `run.alignment` says how well

    Every table has the keys of docs/trace.md as columns, an object as one column for each of its keys
    (`forecast.median`), and in front `rank`, `process` and `segment`, the row of the line's header in `headers`. Times
    and lengths are integers in nanoseconds, as in the trace. Traces that cannot be used raise TraceError; where some
    can be used in part, a TraceWarning says so and is in `notes`.
    """
    wanted = wanted_ranks(ranks)
    folders, notes = folders_of(directory), []
    files = newest_run(found_files(folders, notes), notes)
    notes.extend(notes_on_ranks(files))
    chosen = _of_ranks(files, wanted)
    alignment = alignment_of(folders, align) if align else None
    if alignment:
        notes.extend(alignment.notes)
    loader = _Loader(frames_named(frames), wanted_kinds(kinds), alignment)
    for file in chosen:
        loader.add(file)
    run = loader.run(sorted({file.rank for file in chosen}), notes)
    for note in run.notes:
        warnings.warn(note, TraceWarning, stacklevel=2)
    return run


def wanted_kinds(kinds):
    if isinstance(kinds, str):
        raise TypeError("kinds is a list, such as ['bubble']")
    if kinds is None:
        return None
    kinds = frozenset(kinds)
    for kind in sorted(kinds):
        of_table = next((known.name for known in KINDS.values() if known.table == kind), kind)
        if of_table != kind:
            raise ValueError(f"{kind!r} is a table; its kind of line is {of_table!r}")
    return kinds


def wanted_ranks(ranks):
    if ranks is None:
        return None
    ranks = frozenset(ranks)
    if not ranks or any(not isinstance(rank, int) or rank < 0 for rank in ranks):
        raise ValueError(f"ranks is a list of numbers from 0, not {sorted(ranks, key=str)}")
    return ranks


def _of_ranks(files, wanted):
    if wanted is None:
        return files
    there = {file.rank for file in files}
    missing = sorted(wanted - there)
    if missing:
        raise TraceError(f"no trace of rank {', '.join(map(str, missing))} in the run of {printable(files[0].path)}, "
                         f"which has ranks {min(there)} to {max(there)}")
    return [file for file in files if file.rank in wanted]


def _lines(file, reader):
    """(number, values) of each line that says something, of the process that counts."""
    try:
        for number, line in lines_of(file.path, reader.damage):
            values = reader.record(number, line)
            if values is not None and reader.headers >= file.first_header:
                yield number, values
    except TraceError as error:  # the file has been read before, but a run may still write and remove files
        reader.damage.read_error = str(error)


class _Loader:
    def __init__(self, frames, wanted, alignment):
        self._frames = frames
        self._wanted = wanted
        self._alignment = alignment
        self._faults = Faults()
        known = (kind for kind in KINDS if wanted is None or kind in wanted or kind in OF_THE_TRAINING)
        self._tables = {kind: self._new_table(kind) for kind in known}
        self._left_out = {}  # kinds beyond the bound; the values mean nothing
        self._segments = 0
        self._notes = []

    def _new_table(self, kind):
        return TableBuilder(kind, self._frames, self._faults)

    def add(self, file):
        reader = RecordReader(file.path, self._wanted)
        texts = {}  # each once: most repeat
        rank = process = moved = None
        for number, values in _lines(file, reader):
            if values["type"] == "header":
                self._segments += 1
                rank, process = values["rank"], process_of(values)[1]
                values["file"] = file.path
                if self._alignment:
                    moved = self._alignment.of_header(values, f"{printable(file.path)}:{number}")
            if moved:
                move_times(values, kind_named(values["type"]), moved)
            for key, value in values.items():
                if type(value) is str and len(texts) < _MOST_TEXTS:
                    values[key] = texts.setdefault(value, value)
            table = self._table_of(values["type"])
            if table is not None:
                table.add(with_added(values, rank, process, self._segments - 1), (file.path, number))
        self._notes.extend(reader.damage.notes())
        if file.first_header > 1:
            self._notes.append(f"{printable(file.path)}: the lines of earlier processes in this file are left out")

    def _table_of(self, kind):
        table = self._tables.get(kind)
        if table is None:
            if len(self._tables) >= len(KINDS) + _MOST_FURTHER_KINDS:
                self._left_out[kind] = None
                return None
            table = self._tables[sys.intern(kind)] = self._new_table(kind)
        return table

    def run(self, ranks, notes):
        if self._left_out:
            notes = [*notes, f"lines of the kind {printable(next(iter(self._left_out)))!r} and others are left out: "
                             f"there are more than {_MOST_FURTHER_KINDS} kinds that are not known"]
        for kind in self._wanted or ():
            if kind not in self._tables:
                raise ValueError(f"{kind!r} is no kind of line that is known or in these traces; known are "
                                 f"{', '.join(KINDS)}")
        tables = {kind: table.table() for kind, table in self._tables.items()}
        notes = [*notes, *self._notes, *self._faults.notes()]
        return Run(tables, self._wanted, ranks, notes, self._alignment and self._alignment.clocks)
