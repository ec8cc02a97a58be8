"""Which traces of one or several folders make the newest run, by the same rules as `weft summary`: the processes that
ran at the same time as the one that was started last, and those of its other ranks.

Used by _load and _follow. Each file is read once for that, line by line, and nothing of it is kept.
"""

import os
import re
import time

from weft._errors import TraceError, printable, reason_of
from weft._lines import lines_of
from weft._records import Damage, RecordReader, process_of

_TIME = re.compile(rb'\{"type": "[a-z_]+", "time": ([0-9]{1,19}),')
_LATEST_TIME = 2**62 - 1
_DAY = 24 * 3600 * 10**9


class TraceFile:
    """A trace, by the things that tell it from others. Of a file with lines of several processes only the last one counts."""

    def __init__(self, path):
        self.path = path
        self.rank = self.ranks = self.device = 0  # by the latest header
        self.boot = ""
        self.process = None
        self.begin = self.end = 0  # nanoseconds since 1970
        self.is_complete = False  # the latest header has its summary
        self.first_header = 1  # of the process that counts; from 1
        self._started = self._wall_clock = self._last = 0

    def take(self, values, number_of_header):
        """A line, and how many headers there have been."""
        if values["type"] == "header":
            self._take_header(values, number_of_header)
        elif values["type"] == "summary":
            self.take_time(_whole(values, "window_end"))
            self.is_complete = True
        else:
            self.take_time(_whole(values, "time"))

    def _take_header(self, values, number_of_header):
        process = process_of(values)
        self.end_segment()
        if process != self.process:
            self.first_header = number_of_header
        self.rank, self.ranks, self.device = values["rank"], _whole(values, "ranks"), _whole(values, "device")
        self.boot = values.get("boot", "")
        self._started, self._wall_clock = _whole(values, "started"), _whole(values, "wall_clock")
        if self._wall_clock > time.time_ns() + _DAY:
            self._wall_clock = 0  # else this would be the newest run, and all others would be left out
        if process != self.process:
            self.process = process
            self.begin = self.end = self._wall_clock
        self._last = 0
        self.is_complete = False

    def take_time(self, moment):
        if self._last < moment <= _LATEST_TIME:
            self._last = moment

    def end_segment(self):
        """After this `end` is right; it may be called again and again."""
        if self.process is not None:
            end = min(self._wall_clock + self._last - self._started, time.time_ns() + _DAY)
            self.end = max(self.end, self._wall_clock, end)

    def is_copy_of(self, other):
        return ((self.device, self.rank, self.boot, self.begin) == (other.device, other.rank, other.boot, other.begin))


def _whole(values, key):
    value = values.get(key)
    return value if type(value) is int and 0 <= value <= _LATEST_TIME else 0


def scanned(path):
    """TraceError where nothing of the file can be used. Its `process` is None where it has no header, or not yet."""
    file = TraceFile(path)
    reader = RecordReader(path)
    for number, line in lines_of(path, Damage(path)):
        match = _TIME.match(line) if line is not None else None
        if match and reader.header is not None:
            file.take_time(int(match[1]))
            continue
        values = reader.record(number, line)
        if values is not None:
            file.take(values, reader.headers)
    file.end_segment()
    return file


def is_trace_name(name):
    return name.startswith("rank") and name.endswith(".jsonl")


def folders_of(directories):
    """One folder or several, as a list of texts."""
    if isinstance(directories, (str, bytes, os.PathLike)):
        directories = [directories]
    folders = [os.fsdecode(directory) for directory in directories]
    if not folders:
        raise ValueError("no folder is named")
    return folders


def paths_in(folders):
    """The traces there, each once, also where a link leads to it. TraceError: a folder cannot be read."""
    paths, known = [], set()
    for folder in folders:
        for path in _paths_in(folder):
            try:
                status = os.stat(path)
            except OSError:
                paths.append(path)
                continue
            if (status.st_dev, status.st_ino) not in known:
                known.add((status.st_dev, status.st_ino))
                paths.append(path)
    return paths


def _paths_in(folder):
    try:
        return sorted(os.path.join(folder, name) for name in os.listdir(folder) if is_trace_name(name))
    except FileNotFoundError:
        raise TraceError(f"{printable(folder)} does not exist: mistyped, or no process with an NCCL communicator ran "
                         "under Weft") from None
    except NotADirectoryError:
        raise TraceError(f"{printable(folder)} is not a directory") from None
    except (OSError, ValueError) as error:
        reason = reason_of(error) if isinstance(error, OSError) else str(error)
        raise TraceError(f"{printable(folder)} cannot be read: {reason}") from None


class _Process:
    """The traces of one process: one for each of its devices."""

    def __init__(self, file):
        self.begin, self.end = file.begin, file.end
        self.files = []

    def add(self, file, left_out):
        self.begin, self.end = min(self.begin, file.begin), max(self.end, file.end)
        for index, known in enumerate(self.files):
            if file.is_copy_of(known):
                # A copy may have been made while the process still wrote: the one that tells more is kept.
                if (file.end, file.is_complete) > (known.end, known.is_complete):
                    self.files[index], file, known = file, known, file
                left_out.append(f"{printable(file.path)} is a copy of {printable(known.path)}")
                return
        self.files.append(file)


def _are_simultaneous(one, other):
    """For most of the shorter one's time: clocks of two machines differ by a little, and a process that is being killed
    may see the next run begin."""
    overlap = min(one.end, other.end) - max(one.begin, other.begin)
    return overlap >= 0 and 2 * overlap >= min(one.end - one.begin, other.end - other.begin)


def _runs_of(processes):
    """The process that was started last with those that ran next to it, and next to these; then the rest, likewise."""
    left = sorted(processes, key=lambda process: -process.begin)
    while left:
        run = [left.pop(0)]
        for known in run:  # grows meanwhile
            if not left:
                break
            apart = []
            for process in left:
                (run if _are_simultaneous(process, known) else apart).append(process)
            left = apart
        yield run


def _is_of_earlier_run(earlier, newest):
    """Whether processes that ran at another time are not of this run: it has these ranks, or is another job."""
    there = {file.rank for process in newest for file in process.files}
    ranks = newest[0].files[0].ranks
    return any(file.rank in there or file.ranks != ranks or file.rank >= ranks
               for process in earlier for file in process.files)


def _latest_of_each_rank(run):
    """Of the processes of one rank the one that was started last, and those that ran next to it."""
    last = {}
    for process in run:
        for file in process.files:
            known = last.get(file.rank)
            if known is None or known.begin < process.begin:
                last[file.rank] = process
    return [file for process in run for file in process.files if _are_simultaneous(process, last[file.rank])]


def newest_run(files, notes):
    """Of scanned files those of the newest run, by rank, process and device. `notes` gets one text for each thing that
    is left out."""
    processes, left_out = {}, []
    for file in files:
        processes.setdefault(file.process, _Process(file)).add(file, left_out)
    notes.extend(text + "; it is left out" for text in left_out)
    # In this order equal beginnings stay.
    newest, *others = _runs_of([process for _, process in sorted(processes.items(), key=lambda item: item[0])])
    run = list(newest)
    for earlier in others:
        if not _is_of_earlier_run(earlier, run):
            run.extend(earlier)
    chosen = _latest_of_each_rank(run)
    older = sum(len(process.files) for process in processes.values()) - len(chosen)
    if older:
        notes.append(f"traces of earlier runs that are left out: {older}")
    return sorted(chosen, key=lambda file: (file.rank, file.process, file.device))


def notes_on_ranks(files):
    """Ranks that are missing, or that several processes have taken."""
    processes = {}
    for file in files:
        processes.setdefault(file.rank, set()).add(file.process)
    is_shared = False
    for rank, of_rank in sorted(processes.items()):
        if len(of_rank) > 1:
            is_shared = True
            yield (f"at the same time {len(of_rank)} processes were rank {rank}: no launcher gave them one, or two jobs "
                   "wrote here; the column `segment` tells them apart")
    expected = max((file.ranks for file in files), default=0)
    if not is_shared and expected > len(processes):
        yield f"the job has {expected} ranks; {expected - len(processes)} left no trace here"


def without_traces(folders):
    """The text for folders that hold no traces, with the folders below that have some."""
    below = sorted({found for folder in folders for found in _folders_below(folder)})
    where = printable(folders[0]) if len(folders) == 1 else "these folders"
    text = f"there are no traces (rank*.jsonl) in {where}"
    if below:
        text += "; below there are some in " + ", ".join(map(printable, below[:3]))
    return text + (f" and {len(below) - 3} more" if len(below) > 3 else "")


def _folders_below(folder, deepest=3, most_folders=20_000):
    begin = folder.rstrip(os.sep).count(os.sep)
    for seen, (path, folders, names) in enumerate(os.walk(folder)):
        if seen >= most_folders:
            return
        if path.count(os.sep) - begin >= deepest:
            folders.clear()
        if path != folder and any(map(is_trace_name, names)):
            yield path


def found_files(folders, notes):
    """The scanned traces of all these folders. Those that cannot be used are noted; TraceError where none can be."""
    files, left_out = [], []
    for path in paths_in(folders):
        try:
            file = scanned(path)
            if file.process is None:
                raise TraceError(f"{printable(path)} holds no header")
            files.append(file)
        except TraceError as error:
            left_out.append(str(error))
    if not files:
        raise TraceError(left_out[0] if left_out else without_traces(folders))
    notes.extend(text + "; it is left out" for text in left_out)
    return files
