"""One line of a trace as a dict, its faults found: JSON, a header in front, values of the documented types.

Used by _load and _follow, which get the lines, and by _run_files. Takes whatever a killed job, a full disk or a
stranger has left.
"""

import json
import math
import re

from weft._errors import TraceError, printable
from weft._kinds import ADDED, NEWEST_VERSION, OF_THE_TRAINING
from weft._lines import MOST_LINE_BYTES

# Weft writes each line this way. Of another writer's line the kind is known when it has been parsed.
_TYPE = re.compile(rb'\{"type": "([a-z_]+)"')


def _no_number(text):
    raise ValueError(text + " is no JSON")


_decoder = json.JSONDecoder(parse_constant=_no_number)


def parsed(line):
    """The object that a line holds; None: it holds none. Of a key that stands there twice the last value counts."""
    try:
        values = _decoder.decode(line.decode("utf-8"))
        if b"\\u" in line:
            json.dumps(values, ensure_ascii=False).encode("utf-8")  # half of a surrogate pair is no text
    except (ValueError, RecursionError):
        return None
    return values if isinstance(values, dict) else None


def kind_of(line):
    """Without parsing; None: the line does not begin as Weft writes it."""
    match = _TYPE.match(line)
    return match[1].decode() if match else None


def _is_integer(value):
    return type(value) is int and -(2**63) <= value < 2**63


def _are_within_64_bits(integers):
    return -(2**63) <= min(integers) and max(integers) < 2**63


def _is_number(value):
    return type(value) in (int, float) and math.isfinite(value)


_CHECKS = {
    "integer": (_is_integer, "an integer of 64 bits"),
    "number": (_is_number, "a number"),
    "text": (lambda value: type(value) is str, "a text"),
    "boolean": (lambda value: type(value) is bool, "a boolean"),
    "list": (lambda value: type(value) is list, "a list"),
}
_PLAIN = {"integer": int, "text": str, "boolean": bool, "list": list}


def wrong_values(kind_of_value, values):
    """The indices of those that are neither of this type nor None."""
    found = set(map(type, values))
    # As nearly always; the rest is ten times as slow.
    if found <= {_PLAIN.get(kind_of_value), type(None)} and (
            kind_of_value != "integer" or int not in found or
            _are_within_64_bits(values if len(found) == 1 else [value for value in values if value is not None])):
        return []
    is_right = _CHECKS[kind_of_value][0]
    return [index for index, value in enumerate(values) if value is not None and not is_right(value)]


def fault_text(column, kind_of_value):
    return f"`{printable(column)}` is not {_CHECKS[kind_of_value][1]}; it is left empty"


def empty_wrong_values(values, kind):
    """Of one line, as it stands in the trace; returns a text for each fault."""
    faults = []
    for key in list(values):
        value, documented = values[key], kind.columns.get(key)
        if value is None:
            continue
        if documented is not None and not _CHECKS[documented][0](value):
            values[key] = None
            faults.append(fault_text(key, documented))
        elif key in kind.objects:
            if type(value) is not dict:
                values[key] = None
                faults.append(not_an_object(key))
                continue
            for name, inside in value.items():
                documented = kind.columns.get(f"{key}.{name}")
                if inside is not None and documented is not None and not _CHECKS[documented][0](inside):
                    value[name] = None
                    faults.append(fault_text(f"{key}.{name}", documented))
    return faults


def not_an_object(key):
    return f"`{key}` is not an object; it is left empty"


class Count:
    """How many lines, and the first of them."""

    def __init__(self):
        self.lines = 0
        self.first = 0

    def add(self, number):
        if self.lines == 0:
            self.first = number
        self.lines += 1


class Damage:
    """Of one file; the same things that `weft summary` notes."""

    def __init__(self, path):
        self.path = path
        self.unreadable = Count()  # no JSON, or not after a header
        self.too_long = Count()
        self.cut_off = None  # the number of the last line, where that breaks off
        self.read_error = None

    def notes(self):
        path = printable(self.path)
        if self.read_error is not None:
            yield f"{path} could be read in part only: {self.read_error}"
        if self.cut_off is not None:
            yield f"{path}:{self.cut_off}: the last line breaks off"
        for count, fault in ((self.unreadable, "not readable"),
                             (self.too_long, f"longer than {MOST_LINE_BYTES} bytes")):
            if count.lines:
                more = f" (and {count.lines - 1} more such lines)" if count.lines > 1 else ""
                yield f"{path}:{count.first}: this line is {fault} and is skipped{more}"


def process_of(header):
    """Unlike that of every other process. Keys that an older Weft did not write count as 0 and empty."""
    def value(key, type_of_value):
        found = header.get(key)
        return found if type(found) is type_of_value else type_of_value()

    return value("host", str), value("process", int), value("start_id", int)


def _check_header(values, place):
    if values.get("format") != "weft-trace":
        raise TraceError(f"{place}: this is not a trace of Weft")
    version = values.get("version")
    if not _is_integer(version) or not 1 <= version <= NEWEST_VERSION:
        shown = printable(json.dumps(version))[:40]
        raise TraceError(f"{place}: version {shown} of the trace format; this package reads up to {NEWEST_VERSION}")
    if not _is_integer(values.get("rank")) or values["rank"] < 0:
        raise TraceError(f"{place}: the header has no rank")


class RecordReader:
    """Takes the lines of one file in their order. `wanted`: the kinds that are; None: all of them."""

    def __init__(self, path, wanted=None):
        self.header = None  # the latest
        self.headers = 0
        self.damage = Damage(path)
        self._path = path
        self._wanted = wanted

    def record(self, number, line):
        """The values of a line; None: it says nothing that can be used, or is not wanted. TraceError: the file cannot
        be used from here on."""
        if line is None:
            self.damage.too_long.add(number)
            return None
        if self.header is not None and not self.is_wanted(kind_of(line)):
            return None
        values = parsed(line)
        kind = values.get("type") if values is not None else None
        if kind == "header":
            _check_header(values, f"{printable(self._path)}:{number}")
            self.header = values
            self.headers += 1
        elif type(kind) is not str or not kind or self.header is None:
            self.damage.unreadable.add(number)
            return None
        return values if self.is_wanted(kind) else None

    def is_wanted(self, kind):
        """None, a kind that is not known yet, is."""
        return self._wanted is None or kind is None or kind in self._wanted or kind in OF_THE_TRAINING


def with_added(values, rank, process, segment):
    """The values of a line with those that tell it from the lines of other traces."""
    kind = values["type"]
    own = {}
    if kind not in OF_THE_TRAINING:
        for column in ADDED:
            if column in values:
                own[f"{kind}_{column}"] = values.pop(column)
    return {"type": kind, "rank": rank, "process": process, "segment": segment, **values, **own}


def columns_of(values, kind):
    """A line as a row of its table: an object becomes a column for each of its keys. With the columns that have to be
    empty, because they should have been objects."""
    row = {**kind.empty_row, **values}
    del row["type"]
    not_objects = []
    for key in kind.objects:
        inside = row.pop(key, None)
        if type(inside) is dict:
            row.update((f"{key}.{name}", value) for name, value in inside.items())
        elif inside is not None:
            not_objects.append(key)
    if len(row) > len(kind.empty_row):
        for key in [key for key in row if key not in kind.empty_row and type(row[key]) is dict]:
            inside = row.pop(key)
            row.update((f"{key}.{name}", value) for name, value in inside.items())
    return row, not_objects
