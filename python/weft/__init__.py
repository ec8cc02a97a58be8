"""Traces of Weft in Python: docs/python.md has examples, docs/trace.md the keys.

    import weft

    run = weft.load("weft-12345")                # one table for each kind of record, of all ranks
    for record in weft.follow("weft-12345"):     # while the run writes
        ...

For analyses, outside the training. A training that says where it is imports weft.annotate only, so nothing here may
import more than the standard library, or do anything at import.
"""

from weft._errors import TraceError, TraceWarning
from weft._follow import follow
from weft._load import load
from weft._run import Run

__all__ = ["Run", "TraceError", "TraceWarning", "follow", "load"]
