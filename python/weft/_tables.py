"""Rows of one kind, packed as they come, with the values left empty that are not of the documented type.

Used by _load only.
"""

from weft._errors import printable
from weft._kinds import kind_named
from weft._records import columns_of, fault_text, not_an_object, wrong_values

_ROWS_IN_A_PART = 8192

# A trace that has more of them than a newer Weft could have is damaged, and each costs a column for all rows.
_MOST_FURTHER_COLUMNS = 256


class Faults:
    """Lines with values that cannot be what they should be: the first one of each file, and how many more."""

    def __init__(self):
        self._of_file = {}

    def add(self, place, text):
        path, number = place
        lines, first = self._of_file.setdefault(path, (set(), f"{printable(path)}:{number}: {text}"))
        lines.add(number)

    def notes(self):
        for lines, first in self._of_file.values():
            more = len(lines) - 1
            yield first + (f" (and values of {more} more line{'s' if more > 1 else ''})" if more else "")


class TableBuilder:
    """The table of one kind, over all files."""

    def __init__(self, kind_name, frames, faults):
        self._kind = kind_named(kind_name)
        self._frames = frames
        self._faults = faults
        self._further = {}  # columns that are not documented; the values mean nothing
        self._rows, self._places, self._parts = [], [], []

    def add(self, values, place):
        """`place`: file and line."""
        row, not_objects = columns_of(values, self._kind)
        for key in not_objects:
            self._faults.add(place, not_an_object(key))
        if len(row) > len(self._kind.empty_row):
            self._add_further(row, place)
        self._rows.append(row)
        self._places.append(place)
        if len(self._rows) >= _ROWS_IN_A_PART:
            self._pack()

    def _add_further(self, row, place):
        for name in [name for name in row if name not in self._kind.empty_row and name not in self._further]:
            if len(self._further) < _MOST_FURTHER_COLUMNS:
                self._further[name] = None
            else:
                del row[name]
                self._faults.add(place, f"`{printable(name)[:80]}` is left out: lines of the kind `{self._kind.name}` "
                                        f"have more than {_MOST_FURTHER_COLUMNS} keys that are not known")

    def _pack(self):
        columns = self._columns_of_rows()
        for name, kind_of_value in self._kind.columns.items():
            wrong = wrong_values(kind_of_value, columns[name])
            if wrong:
                columns[name] = list(columns[name])
            for index in wrong:
                columns[name][index] = None
                self._faults.add(self._places[index], fault_text(name, kind_of_value))
        self._parts.append(self._frames.part(columns, self._kind.columns))
        self._rows, self._places = [], []

    def _columns_of_rows(self):
        if not self._further:  # then all rows have the same keys, in the same order
            return dict(zip(self._kind.columns, zip(*(row.values() for row in self._rows))))
        return {name: [row.get(name) for row in self._rows] for name in (*self._kind.columns, *self._further)}

    def table(self):
        if self._rows:
            self._pack()
        return self._frames.table(self._parts, self._kind.columns)
