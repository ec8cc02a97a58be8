#!/usr/bin/env python3
"""The tables as data frames of pandas and polars, against the lists of dicts. A module that is not installed is
skipped; exit code 77 where neither is."""
import importlib.util
import sys
import unittest
import unittest.mock

import weft
from written_traces import TraceTest, bubble, header, summary

FRAMES = [name for name in ("pandas", "polars") if importlib.util.find_spec(name)]


def rows_of(table):
    """Of a data frame as dicts, with None for all that is not known."""
    if hasattr(table, "to_dicts"):
        return table.to_dicts()
    rows = table.astype(object).to_dict("records")
    return [{name: None if is_missing(value) else value for name, value in row.items()} for row in rows]


def is_missing(value):
    import pandas
    return value is pandas.NA or isinstance(value, float) and value != value


def group(number, operations):
    return {"type": "group", "time": 5, "device": 0, "id": number, "communicator": 1, "iteration": 0, "begun": None,
            "begun_within": 0, "ended": 7, "ended_within": 0, "operations": operations, "left_out": 0}


SEND = {"kind": "send", "peer": 1, "bytes": 1 << 40, "sequence": 3}


class Frames(TraceTest):
    def each(self):
        for name in FRAMES:
            yield name, self.load(frames=name)

    def test_hold_the_same_values_as_dicts(self):
        forecast = {"low": 1, "median": 2, "high": 3, "samples": 4}
        lines = [bubble(1, forecast=forecast, rhythm="fedcba9876543210"), bubble(2, left_out=True), group(1, [SEND] * 2),
                 group(2, []), {"type": "sparkle", "time": 7, "device": 0, "share": 0.25, "list": [1, 2]}]
        self.write_rank(0, 2, lines)
        self.write_rank(1, 2, [bubble(2**62, opened=2**62 + 1, colour="red"), group(3, [{**SEND, "weight": 0.5}])])
        dicts = self.load()
        for name, run in self.each():
            self.assertEqual(run.kinds, dicts.kinds)
            for kind in dicts.kinds:
                found, expected = rows_of(run[kind]), dicts[kind]
                if kind == "group" and name == "polars":  # all operations have all keys there
                    for row in expected:
                        row["operations"] = [{"weight": None, **operation} for operation in row["operations"]]
                self.assertEqual(found, expected, kind)
                self.assertEqual(list(run[kind].columns), list(expected[0]))

    def test_have_the_documented_types_also_without_values(self):
        self.write_rank(0, 2, [bubble()])
        for name, run in self.each():
            for table in (run.bubbles, run.slices):
                types = {column: str(table[column].dtype) for column in table.columns}
                self.assertEqual({types[column].lower() for column in ("rank", "time", "device")}, {"int64"})
            self.assertIn(str(run.bubbles["left_out"].dtype).lower(), ("boolean", "bool"))
            self.assertEqual(str(run.bubbles["rhythm"].dtype).lower(), "string")
            self.assertEqual(len(run.slices), 0)
            self.assertEqual(run.slices["alone"].sum(), 0)

    def test_keep_64_bits_beside_values_that_are_not_known(self):
        self.write_rank(lines=[bubble(1, opened=2**63 - 1), bubble(2, opened=None)])
        for _, run in self.each():
            self.assertEqual([row["opened"] for row in rows_of(run.bubbles)], [2**63 - 1, None])

    def test_take_a_column_of_which_no_two_values_agree(self):
        values = [1, "a", 2**70, [1, "b"], True, None, 0.5]
        self.write_rank(lines=[bubble(number, odd=value) for number, value in enumerate(values)])
        for name, run in self.each():
            found = [row["odd"] for row in rows_of(run.bubbles)]
            expected = ["1", '"a"', str(2**70), '[1, "b"]', "true", None, "0.5"] if name == "polars" else values
            self.assertEqual(found, expected)

    def test_take_a_column_whose_type_changes_between_files(self):
        for rank, value in enumerate((1, "a")):
            self.write_rank(rank, 2, [bubble(odd=value) for _ in range(8192)])
        for name, run in self.each():
            expected = ["1", '"a"'] if name == "polars" else [1, "a"]
            self.assertEqual(run.bubbles["odd"].to_list()[8191:8193], expected)

    def test_of_many_rows_are_packed_part_by_part(self):
        lines = [bubble(number, odd="text" if number == 19_999 else number) for number in range(20_000)]
        self.write_rank(lines=[*lines, *(group(number, [SEND] if number > 9000 else []) for number in range(10_000))])
        for name, run in self.each():
            self.assertEqual(run.bubbles["id"].to_list(), list(range(20_000)))
            expected = ['19998', '"text"'] if name == "polars" else [19_998, "text"]
            self.assertEqual(run.bubbles["odd"].to_list()[-2:], expected)
            self.assertEqual(run.groups["operations"].to_list()[8999:9002:2], [[], [SEND]])

    def test_lose_wrong_values_with_a_note(self):
        self.write_rank(lines=[bubble("x"), bubble(2)])
        for _, run in self.each():
            self.assertEqual([row["id"] for row in rows_of(run.bubbles)], [None, 2])
            self.assert_note(run, ":2: `id` is not an integer of 64 bits")


class Choice(TraceTest):
    """Without either module the package works, and says so where one is asked for."""

    def setUp(self):
        super().setUp()
        self.write("rank0.100.jsonl", header(), bubble(), summary())

    def found(self, *installed):
        return unittest.mock.patch("importlib.util.find_spec", lambda name: name in installed or None)

    def test_goes_to_pandas_then_polars_then_dicts(self):
        with self.found():
            self.assertIsInstance(self.load(frames=None).bubbles, list)
        for name in FRAMES:
            with self.found(name):
                self.assertEqual(type(self.load(frames=None).bubbles).__module__.split(".")[0], name)

    def test_of_a_module_that_is_not_installed_says_how_to_get_it(self):
        for name in ("pandas", "polars"):
            with unittest.mock.patch.dict(sys.modules, {name: None}):
                with self.assertRaisesRegex(ModuleNotFoundError, f"frames='{name}' needs {name}: pip install {name}"):
                    weft.load(self.folder, frames=name)


if __name__ == "__main__":
    for name in ("pandas", "polars"):
        if name not in FRAMES:
            print(f"skipped: {name} is not installed")
    if not FRAMES:
        done = unittest.main(argv=[sys.argv[0], "Choice"], exit=False)
        sys.exit(77 if done.result.wasSuccessful() else 1)
    unittest.main()
