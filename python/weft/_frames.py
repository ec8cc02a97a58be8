"""The three forms of a table: lists of dicts, and data frames of pandas and polars, which are imported only here.

Used by _tables, which hands over some thousand rows at a time: as long as rows are Python objects they take ten times
the memory of a data frame.

Each class has part(columns, types), which packs rows given as a list of values for each column, and
table(parts, types), which makes one table of them. `types` has the type of each column that is documented. Another
column has the type of its values, where they are all of one.
"""

import importlib
import importlib.util
import json

_TYPES = {int: "integer", float: "number", str: "text", bool: "boolean", list: "list"}


def type_of(values):
    """The type of a column that is not documented; None: of several, or of none."""
    found = set(map(type, values)) - {type(None)}
    kind = _TYPES.get(found.pop()) if len(found) == 1 else None
    if kind == "integer" and any(value is not None and not -(2**63) <= value < 2**63 for value in values):
        return None
    return kind


def _has_value(values):
    return any(value is not None for value in values)


class Dicts:
    name = "dicts"

    def part(self, columns, types):
        return columns

    def table(self, parts, types):
        names = list(dict.fromkeys([*types, *(name for part in parts for name in part)]))
        rows = []
        for part in parts:
            count = len(next(iter(part.values())))
            filled = [part.get(name) or [None] * count for name in names]
            rows.extend(dict(zip(names, values)) for values in zip(*filled))
        return rows


class Pandas:
    name = "pandas"

    # With a value for "not known" of their own: a float has no room for 64 bits.
    _DTYPES = {"integer": "Int64", "number": "Float64", "text": "string", "boolean": "boolean"}

    def __init__(self):
        self._pandas = importlib.import_module("pandas")

    def _column(self, values, kind):
        dtype = self._DTYPES.get(kind)
        if dtype is not None:
            return self._pandas.array(values, dtype=dtype)
        return self._pandas.Series(values, dtype=object)

    def part(self, columns, types):
        return self._pandas.DataFrame({
            name: self._column(values, types.get(name) or type_of(values)) for name, values in columns.items()
            if name in types or _has_value(values)})

    def table(self, parts, types):
        if not parts:
            return self.part({name: [] for name in types}, types)
        return self._pandas.concat(parts, ignore_index=True) if len(parts) > 1 else parts[0]


class Polars:
    name = "polars"

    def __init__(self):
        self._polars = importlib.import_module("polars")
        self._dtypes = {"integer": self._polars.Int64, "number": self._polars.Float64, "text": self._polars.String,
                        "boolean": self._polars.Boolean}

    def part(self, columns, types):
        """A frame, and beside it the columns of lists: these get one type when all of their values are there."""
        packed, others = {}, {}
        for name, values in columns.items():
            kind = types.get(name) or type_of(values)
            if kind in self._dtypes:
                packed[name] = self._polars.Series(name, values, dtype=self._dtypes[kind])
            elif name in types or _has_value(values):
                others[name] = values
        return self._polars.DataFrame(packed), others

    def table(self, parts, types):
        if not parts:
            parts = [self.part({name: [] for name in types}, types)]
        names = [*types, *(name for packed, others in parts for name in (*packed.columns, *others))]
        nested = self._nested_names(parts)
        frame = self._polars.concat([packed.drop(nested, strict=False) for packed, _ in parts], how="diagonal")
        for name in nested:
            values = []
            for packed, others in parts:
                other = packed[name].to_list() if name in packed.columns else [None] * packed.height
                values.extend(others.get(name, other))
            frame = frame.with_columns(self._nested(name, values))
        return frame.select(list(dict.fromkeys(names)))

    @staticmethod
    def _nested_names(parts):
        """Columns that have other types in other parts, or one that only all values tell."""
        dtypes = {}
        for packed, others in parts:
            for name, dtype in (*packed.schema.items(), *dict.fromkeys(others).items()):
                dtypes.setdefault(name, set()).add(dtype)
        return [name for name, found in dtypes.items() if len(found) > 1 or None in found]

    def _nested(self, name, values):
        dtype = self._list_type(values)
        if dtype is None:  # no type of polars holds such values
            values = [None if value is None else json.dumps(value, ensure_ascii=False) for value in values]
            dtype = self._polars.String
        return self._polars.Series(name, values, dtype=dtype)

    def _list_type(self, values):
        """Of lists of objects, or of plain values of one type; None: of others."""
        lists = [value for value in values if value is not None]
        if not all(type(value) is list for value in lists):
            return None
        inside = [item for value in lists for item in value]
        if not inside:
            return self._polars.List(self._polars.Null)
        if not all(type(item) is dict for item in inside):
            kind = self._dtypes.get(type_of(inside))
            return kind and self._polars.List(kind)
        fields = {key: None for item in inside for key in item}
        for key in fields:
            fields[key] = self._dtypes.get(type_of([item.get(key) for item in inside]))
            if fields[key] is None:
                return None
        return self._polars.List(self._polars.Struct(fields))


_FORMS = {form.name: form for form in (Pandas, Polars, Dicts)}


def frames_named(name):
    """The form that was asked for; None: the first of these that is installed."""
    if name is None:
        name = next((found for found in ("pandas", "polars") if importlib.util.find_spec(found)), "dicts")
    form = _FORMS.get(name)
    if form is None:
        raise ValueError(f"frames is {', '.join(map(repr, sorted(_FORMS)))} or None, not {name!r}")
    try:
        return form()
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        raise ModuleNotFoundError(f"frames={name!r} needs {name}: pip install {name}; frames='dicts' needs nothing",
                                  name=name) from None
