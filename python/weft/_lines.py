"""The lines of one file that may be anything: it has the name of a trace, nothing more is known of it.

Used by _run_files (which traces make a run), _load and _follow. Memory does not depend on the file, and reading never
waits for a writer.
"""

import os
import stat

from weft._errors import TraceError, printable, reason_of

# A record of Weft has a few hundred bytes. Longer lines are passed over without being kept, as `weft summary` does.
MOST_LINE_BYTES = 64 * 1024

PIECE_BYTES = 1024 * 1024


class LineSplitter:
    """Cuts pieces of a file into lines. The beginning of a line is kept until the rest of it comes."""

    def __init__(self):
        self._number = 0
        self._begin = b""
        self._too_long = False

    def lines(self, piece):
        """(number, line) of each line that ends in this piece; the line is None where it is too long."""
        *ended, begin = piece.split(b"\n")
        for line in ended:
            if self._begin:
                line = self._begin + line
            too_long = self._too_long or len(line) > MOST_LINE_BYTES
            self._begin, self._too_long = b"", False
            self._number += 1
            yield self._number, None if too_long else line
        self._begin += begin
        if len(self._begin) > MOST_LINE_BYTES:
            self._begin, self._too_long = b"", True

    def line_without_end(self):
        """The number of the last line if its end has not come; else None."""
        return self._number + 1 if self._begin or self._too_long else None


def _kind_of(mode):
    if stat.S_ISDIR(mode):
        return "a directory"
    if stat.S_ISFIFO(mode):
        return "a FIFO"
    if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
        return "a device"
    return "something else"


def pieces(path, begin=0, most=PIECE_BYTES):
    """The bytes of a regular file from `begin` up to the size that it has now. TraceError where it cannot be opened."""
    try:
        # To open a FIFO would wait for its writer.
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
    except (OSError, ValueError) as error:
        reason = reason_of(error) if isinstance(error, OSError) else str(error)
        raise TraceError(f"{printable(path)} cannot be read: {reason}") from None
    try:
        status = os.fstat(file)
        if not stat.S_ISREG(status.st_mode):
            raise TraceError(f"{printable(path)} is {_kind_of(status.st_mode)}, not a regular file")
        while begin < status.st_size:
            piece = os.pread(file, min(most, status.st_size - begin), begin)
            if not piece:
                return
            begin += len(piece)
            yield piece
    finally:
        os.close(file)


def lines_of(path, damage):
    """(number, line) of each line of a whole file. `damage` notes a last line that breaks off and a failed read."""
    splitter = LineSplitter()
    try:
        for piece in pieces(path):
            yield from splitter.lines(piece)
    except OSError as error:
        damage.read_error = reason_of(error)
    number = splitter.line_without_end()
    if number is not None:
        damage.cut_off = number
