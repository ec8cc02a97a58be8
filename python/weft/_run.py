"""The tables of a run, by their names. Made by _load."""

from weft._kinds import KINDS


class Run:
    """The traces of one run: a table for each kind of line, of all ranks that were loaded.

    run.bubbles, run.slices, run.iterations, run.groups ...    the tables; `weft.load` says of what kind they are
    run.headers, run.summaries                                 a row for each header and summary line
    run["bubble"]                                              the same by the kind; also one that a newer Weft has
    run.kinds                                                  the kinds that have lines
    run.ranks                                                  the ranks that were loaded
    run.notes                                                  what a reader should know; each was a TraceWarning
    run.alignment                                              with align: `clocks` of `weft summary --json`, else None
    """

    def __init__(self, tables, wanted, ranks, notes, alignment=None):
        self._tables = tables
        self._wanted = wanted
        self.ranks = ranks
        self.notes = notes
        self.alignment = alignment
        self.kinds = sorted(kind for kind, table in tables.items() if len(table) > 0)

    def __getitem__(self, kind):
        if kind in self._tables:
            return self._tables[kind]
        if self._wanted is not None and kind not in self._wanted:
            raise KeyError(f"{kind!r} was not loaded: kinds={sorted(self._wanted)}")
        raise KeyError(f"{kind!r} is no kind of line in these traces; there are {', '.join(sorted(self._tables))}")

    def __getattr__(self, name):
        kind = next((kind.name for kind in KINDS.values() if kind.table == name), None)
        # Without the tables the object is just being made, by copy or pickle.
        if kind is None or "_tables" not in self.__dict__:
            raise AttributeError(f"a run has no {name!r}")
        try:
            return self[kind]
        except KeyError as error:
            raise AttributeError(error.args[0]) from None

    def __dir__(self):
        return [*super().__dir__(), *(kind.table for kind in KINDS.values() if kind.name in self._tables)]

    def __repr__(self):
        lines = ", ".join(f"{len(self._tables[kind])} {kind}" for kind in self.kinds)
        return f"<weft.Run of {len(self.ranks)} rank{'' if len(self.ranks) == 1 else 's'}: {lines}>"
