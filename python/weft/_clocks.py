"""One clock for all ranks: how far the times of each trace are to be moved, as `weft summary --json` has found it out.

Used by _load where align is asked for. The command does the work: it compares all messages between the hosts.
"""

import bisect
import json
import os
import shutil
import subprocess

from weft._errors import TraceError, printable
from weft._records import process_of


class Clock:
    """The clock of one host. `shifts` are pairs of a time on it and how far the first rank's clock is ahead then."""

    def __init__(self, found):
        self._times = [time for time, _, _ in found["shifts"]]
        self._shifts = [shift for _, shift, _ in found["shifts"]]
        self._rate = found["shift_rate"]

    def shift(self, time):
        """Between the known ones on the straight line, beyond them at the rate of the whole run."""
        right = bisect.bisect_right(self._times, time)
        if right == 0 or right == len(self._times):
            end = min(right, len(self._times) - 1)
            return self._shifts[end] + round((time - self._times[end]) * self._rate)
        left = right - 1
        length, beyond = self._times[right] - self._times[left], time - self._times[left]
        return self._shifts[left] + (self._shifts[right] - self._shifts[left]) * beyond // length


class Alignment:
    """The clocks of a run. `clocks` and `notes`: as `weft summary --json` has them, of the notes those on clocks."""

    def __init__(self, summary):
        self.clocks = summary["clocks"]
        self.notes = [note for note in summary["notes"] if note.startswith("clocks: ") or "clock_offset" in note]
        made = [Clock(found) for found in self.clocks]
        self._of_trace = {(rank["host"], rank["process"], rank["rank"], rank["device"]): made[rank["clock"]]
                          for rank in summary["ranks"]}

    def of_header(self, header, place):
        """A function that moves a time of the header's trace."""
        host, process, _ = process_of(header)
        clock = self._of_trace.get((host, process, header["rank"], header.get("device", 0)))
        if clock is None:
            raise TraceError(f"{place}: weft summary does not have this trace in the run, so its clock is not known")
        offset = header.get("clock_offset")
        offset = offset if type(offset) is int else 0
        return lambda time: time - offset + clock.shift(time - offset)


def move_times(values, kind, moved):
    """Those of one line; what is no time stays, and is found later."""
    for key in kind.times:
        if type(values.get(key)) is int:
            values[key] = moved(values[key])


def alignment_of(folders, align):
    """`align`: True, then the command is looked for in PATH, or the path of the command `weft`."""
    command = shutil.which("weft") if align is True else os.fsdecode(align)
    if command is None:
        raise TraceError("align=True needs the command weft, which is not in PATH; align='/path/to/weft' names it")
    try:
        done = subprocess.run([command, "summary", "--json", *folders], capture_output=True, check=False)
    except OSError as error:
        raise TraceError(f"{printable(command)} cannot be run: {error.strerror}") from None
    if done.returncode != 0:
        reason = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise TraceError(f"{printable(command)} summary failed: {printable(reason[-1] if reason else 'it says nothing')}")
    try:
        return Alignment(json.loads(done.stdout))
    except (ValueError, KeyError, TypeError, IndexError):
        raise TraceError(f"{printable(command)} summary --json does not tell the clocks: is it an older Weft?") from None
