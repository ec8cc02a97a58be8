#!/usr/bin/env python3
"""The list of kinds and columns against docs/trace.md, the versions against include/weft/version.h, and that
the folder makes a package: kinds_test.py SOURCE"""
import pathlib
import re
import sys
import unittest

SOURCE = pathlib.Path(sys.argv.pop(1) if len(sys.argv) > 1 else __file__).resolve()
sys.path.insert(0, str(SOURCE / "python"))
import weft._kinds as kinds  # noqa: E402

# The words of the page for values that are integers.
INTEGERS = ("integer", "time", "length", "signed length", "bytes", "nanoseconds since 1970")


def documented():
    """By kind of line, (key, type) in the order of the page."""
    sections, keys = {}, None
    for line in (SOURCE / "docs/trace.md").read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            title = re.fullmatch(r"## `([a-z_]+)`", line)
            keys = sections.setdefault(title[1], []) if title else None
        elif line.startswith("| `") and keys is not None:
            names, types = (cell.strip() for cell in line.split("|")[1:3])
            names, types = re.findall(r"`([a-z_]+)`", names), [word.strip() for word in types.split(",")]
            if len(types) == 1:
                types *= len(names)
            keys.extend(zip(names, types, strict=True) if sys.version_info >= (3, 10) else zip(names, types))
    return {kind: keys for kind, keys in sections.items() if keys}


def type_of(words):
    words = words.replace(" or null", "")
    return "integer" if words in INTEGERS else words


def listed(kind):
    """As the page would have it: without what the package adds, an object as one key."""
    keys = {}
    for column, kind_of_value in kind.columns.items():
        name = column.split(".")[0]
        if name.startswith(kind.name + "_") and name[len(kind.name) + 1:] in kinds.ADDED:
            name = name[len(kind.name) + 1:]
        keys[name] = "object" if "." in column else kind_of_value
    return keys


class Kinds(unittest.TestCase):
    def test_are_those_of_the_page(self):
        self.assertEqual(set(kinds.KINDS), set(documented()))

    def test_have_the_columns_of_the_page_in_its_order(self):
        for name, keys in documented().items():
            kind = kinds.KINDS[name]
            common = {} if name in kinds.OF_THE_TRAINING else {"time": "integer", "device": "integer"}
            expected = {**common, **{key: type_of(words) for key, words in keys}}
            found = listed(kind)
            for added in (*kinds.ADDED, "file"):
                if added not in expected:
                    found.pop(added, None)
            self.assertEqual(found, expected, name)
            own = [key for key in found if key not in kinds.ADDED]
            self.assertEqual(own, [key for key in expected if key not in kinds.ADDED], f"order of {name}")

    def test_know_which_integers_are_times(self):
        for name, keys in documented().items():
            times = [key for key, words in keys if words in ("time", "time or null")]
            common = [] if name in kinds.OF_THE_TRAINING else ["time"]
            self.assertEqual(list(kinds.KINDS[name].times), common + times, name)

    def test_have_the_keys_of_objects_that_the_page_names(self):
        page = (SOURCE / "docs/trace.md").read_text(encoding="utf-8")
        for kind in kinds.KINDS.values():
            for column in kind.columns:
                if "." in column:
                    self.assertIn(f"`{column.split('.')[1]}`", page, column)
        for name in ("slowdown", "watching"):
            columns = kinds.KINDS["summary"].columns
            inside = [column.split(".")[1] for column in columns if column.startswith(name + ".")]
            self.assertEqual(inside, [key for key, _ in documented()[name]])

    def test_have_table_names_of_their_own(self):
        tables = [kind.table for kind in kinds.KINDS.values()]
        self.assertEqual(len(set(tables)), len(tables))


class Versions(unittest.TestCase):
    HEADER = (SOURCE / "include/weft/version.h").read_text(encoding="utf-8") if SOURCE.is_dir() else ""

    def test_the_newest_trace_is_that_of_weft(self):
        self.assertEqual(kinds.NEWEST_VERSION, int(re.search(r"WEFT_TRACE_VERSION (\d+)", self.HEADER)[1]))

    def test_the_package_has_the_version_of_weft(self):
        parts = [re.search(rf"WEFT_VERSION_{part} (\d+)", self.HEADER)[1] for part in ("MAJOR", "MINOR", "PATCH")]
        project = (SOURCE / "python/pyproject.toml").read_text(encoding="utf-8")
        self.assertEqual(re.search(r'^version = "(.*)"$', project, re.MULTILINE)[1], ".".join(parts))


class Annotations(unittest.TestCase):
    def test_are_the_module_beside_the_header(self):
        """One file, so that both ways to import it find the same."""
        self.assertEqual((SOURCE / "python/weft/annotate.py").resolve(), SOURCE / "include/weft/annotate.py")


if __name__ == "__main__":
    unittest.main()
