"""weft.follow(): the lines of a run while it is being written. Looks at the sizes of the files now and then; between two
looks no file is open, as a run may have more ranks than a process may have files.
"""

import itertools
import os
import time
import warnings

from weft._errors import TraceError, TraceWarning, printable
from weft._kinds import kind_named
from weft._lines import PIECE_BYTES, LineSplitter, pieces
from weft._load import wanted_kinds, wanted_ranks
from weft._records import RecordReader, empty_wrong_values, process_of, with_added
from weft._run_files import TraceFile, folders_of, newest_run, paths_in, scanned, without_traces

# Of a file, by which it is known again: a header is shorter.
_FIRST_BYTES = 1024


def follow(directory, *, kinds=None, ranks=None, timeout=None, interval=0.1):
    """Yields each line of the newest run in `directory` (or in several) as a dict, as soon as it has been written.

    A line has the keys of docs/trace.md, `type` among them, and `rank`, `process` and `segment` as the tables of load().
    Lines that are there already come first. Lines of one rank keep their order, those of several have none.

    kinds, ranks   as those of load(); headers and summaries come always
    timeout        seconds without a new line after which it ends; None: never
    interval       seconds between two looks

    It waits for the folder and its traces, takes up files that appear later, and ends when every rank has written its
    summary. A process that is killed writes none: `timeout` is for that, and a TraceWarning then names the ranks.
    """
    if timeout is not None and timeout < 0:
        raise ValueError("timeout is negative")
    if interval < 0:
        raise ValueError("interval is negative")
    return _lines_of(_Follower(folders_of(directory), wanted_kinds(kinds), wanted_ranks(ranks)), timeout, interval)


def _lines_of(follower, timeout, interval):
    latest = time.monotonic()
    was_done = False
    while True:
        has_new = False
        for values in follower.new_lines():
            has_new = True
            yield values
        for note in follower.taken_notes():
            warnings.warn(note, TraceWarning, stacklevel=2)
        # A process may open communicators again right behind its summary: one look more.
        is_done = follower.is_done() and not has_new
        if is_done and was_done:
            return
        was_done = is_done
        if has_new:
            latest = time.monotonic()
        elif timeout is not None and not is_done and time.monotonic() - latest >= timeout:
            warnings.warn(follower.unfinished(timeout), TraceWarning, stacklevel=2)
            return
        time.sleep(interval)


def _piece(path, begin, most=PIECE_BYTES):
    return next(pieces(path, begin, most), b"") if most else b""


class _FollowedFile:
    """One trace, up to where it has been read."""

    def __init__(self, path, wanted, first_header):
        self.path = path
        self.trace = TraceFile(path)
        self.is_left_out = False  # it cannot be used, or its rank is not wanted
        self._reader = RecordReader(path, wanted)
        self._splitter = LineSplitter()
        self._first_header = first_header
        self._offset = 0
        self._first_bytes = b""
        self._place = None  # what the lines of the latest header have in front
        self._said = set()  # faults of which the first has been noted

    def piece(self):
        """The next bytes that were written, b"" where none were; None: another file has its name now. OSError,
        TraceError: it is gone."""
        size = os.stat(self.path).st_size
        if size == self._offset:
            return b""
        # A header tells the process and its start. The number of the inode tells little, as it is given again.
        if size < self._offset or _piece(self.path, 0, len(self._first_bytes)) != self._first_bytes:
            return None
        piece = _piece(self.path, self._offset)
        self._first_bytes += piece[:_FIRST_BYTES - len(self._first_bytes)]
        self._offset += len(piece)
        return piece

    def lines(self, piece, follower):
        for number, line in self._splitter.lines(piece):
            values = self._reader.record(number, line)
            self._note_damage(number, follower)
            if values is None:
                continue
            self.trace.take(values, self._reader.headers)
            if values["type"] == "header":
                if not follower.is_wanted(values["rank"]):
                    self.is_left_out = True
                    return
                values["file"] = self.path
                self._place = (values["rank"], process_of(values)[1], follower.new_segment())
            if self._reader.headers < self._first_header:
                continue
            values = with_added(values, *self._place)
            for fault in empty_wrong_values(values, kind_named(values["type"])):
                self._note_once(fault, number, fault, follower)
            yield values
        self.trace.end_segment()

    def _note_damage(self, number, follower):
        damage = self._reader.damage
        for count, fault in ((damage.unreadable, "not readable"), (damage.too_long, "too long")):
            if count.lines and count.first == number:
                self._note_once(fault, number, f"this line is {fault} and is skipped", follower)

    def _note_once(self, fault, number, text, follower):
        if fault not in self._said:
            self._said.add(fault)
            follower.note(f"{printable(self.path)}:{number}: {text}; further ones of this file are not named")


class _Follower:
    """All files of the run."""

    def __init__(self, folders, wanted, ranks):
        self._folders = folders
        self._wanted = wanted
        self._ranks = ranks
        self._files = {}  # by path
        self._left_out = set()  # paths: of earlier runs, or no traces
        self._has_begun = False
        self._segments = 0
        self._notes = []
        self._said = set()

    def note(self, text):
        if text not in self._said:
            self._said.add(text)
            self._notes.append(text)

    def taken_notes(self):
        notes, self._notes = self._notes, []
        return notes

    def is_wanted(self, rank):
        return self._ranks is None or rank in self._ranks

    def new_segment(self):
        self._segments += 1
        return self._segments - 1

    def new_lines(self):
        self._look_for_files()
        growing = [file for file in self._files.values() if not file.is_left_out]
        # Piece by piece, so that one long file does not hold up the others.
        while growing:
            for file in list(growing):
                if not (yield from self._lines_of_piece(file)):
                    growing.remove(file)

    def _lines_of_piece(self, file):
        """Returns whether there may be more."""
        try:
            piece = file.piece()
            if piece is None:
                self.note(f"{printable(file.path)} was replaced or has become shorter: it is followed from its begin")
                self._files[file.path] = _FollowedFile(file.path, self._wanted, 1)
                return False
            yield from file.lines(piece, self)
        except (OSError, TraceError) as error:
            file.is_left_out = True
            reason = f"{printable(file.path)} cannot be read any more" if isinstance(error, OSError) else str(error)
            self.note(f"{reason}; it is left out from here on")
            return False
        return bool(piece) and not file.is_left_out

    def _look_for_files(self):
        try:
            paths = paths_in(self._folders)
        except TraceError as error:
            self.note(f"{error}; waiting for it" if not self._has_begun else str(error))
            return
        if self._has_begun:
            for path in paths:
                if path not in self._files and path not in self._left_out:
                    self._files[path] = _FollowedFile(path, self._wanted, 1)
        elif paths:
            self._begin(paths)

    def _begin(self, paths):
        """Of the traces that are there the newest run; later ones belong to it. One without a header is just begun."""
        files = []
        for path in paths:
            try:
                file = scanned(path)
            except TraceError as error:
                self._left_out.add(path)
                self.note(f"{error}; it is left out")
                continue
            if file.process is not None:
                files.append(file)
        if not files:
            return
        self._has_begun = True
        run = newest_run(files, self._notes)
        self._left_out.update(file.path for file in files)
        self._left_out.difference_update(file.path for file in run)
        for file in run:
            self._files[file.path] = _FollowedFile(file.path, self._wanted, file.first_header)

    def _is_over(self, trace, of_rank):
        """It has its summary, or its process was gone before another one took the rank over."""
        return trace.is_complete or any(other.process != trace.process and other.begin > trace.end for other in of_rank)

    def _unfinished_ranks(self):
        """One after the other, as a damaged header may tell of any number. None: it is not known which there are."""
        traces = {}
        for file in self._files.values():
            if file.trace.process is not None:
                traces.setdefault(file.trace.rank, []).append(file.trace)
        expected = max((trace.ranks for of_rank in traces.values() for trace in of_rank), default=0)
        if expected == 0:
            return None
        ranks = range(expected) if self._ranks is None else sorted(self._ranks)
        if ranks[-1] >= expected:
            raise TraceError(f"the run in {printable(self._folders[0])} has no rank {ranks[-1]}, only {expected} ranks")
        return (rank for rank in ranks
                if rank not in traces or not all(self._is_over(trace, traces[rank]) for trace in traces[rank]))

    def is_done(self):
        unfinished = self._unfinished_ranks()
        return unfinished is not None and next(unfinished, None) is None

    def unfinished(self, timeout):
        """The text for a run that has not ended; TraceError where there was none at all."""
        unfinished = self._unfinished_ranks()
        if unfinished is None:
            paths_in(self._folders)
            raise TraceError(without_traces(self._folders))
        first = list(map(str, itertools.islice(unfinished, 9)))
        shown = ", ".join([*first[:8], *(["..."] if len(first) > 8 else [])])
        return f"no new line for {timeout} s, and no summary of rank {shown}: still running, hanging, or killed"
