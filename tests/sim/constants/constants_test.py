#!/usr/bin/env python3
"""sim/constants.def and sim/constants.py: the list itself, and how results from hardware replace what it assumes.

Run by CTest; needs no build.
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

SIM = pathlib.Path(__file__).resolve().parents[3] / "sim"

LIST = """// Two constants.
CONSTANT(latency, 3000, "ns", "assumption: short", "some_probe")
CONSTANT(rate, 1.5e9, "FLOP/s", "chosen: slow", "")
CONSTANT(threads, 640, "count", "a header", "some_probe")
"""


def run(*arguments):
    return subprocess.run([sys.executable, str(SIM / "constants.py"), *map(str, arguments)], capture_output=True, text=True,
                          timeout=30, check=False)


class RealList(unittest.TestCase):
    def test_readme_lists_it(self):
        result = run("--check")
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_every_constant_is_used_by_the_simulator(self):
        names = re.findall(r"^(?:CONSTANT|OF_A_LINK)\((\w+),", (SIM / "constants.def").read_text(encoding="utf-8"), re.MULTILINE)
        self.assertGreater(len(names), 30)
        code = "".join(path.read_text(encoding="utf-8") for suffix in ("*.cpp", "*.h") for path in SIM.rglob(suffix))
        used = set(re.findall(r"constants::(\w+)", code))
        self.assertEqual([name for name in names if name not in used], [])

    def test_every_probe_that_is_named_reports_the_constant(self):
        probes = SIM.parent / "bench/gpu/probes"
        pattern = r'^(?:CONSTANT|OF_A_LINK)\((\w+),.*"(\w+)"\)$'
        measured = re.findall(pattern, (SIM / "constants.def").read_text(encoding="utf-8"), re.MULTILINE)
        self.assertGreater(len(measured), 5)
        for name, probe in measured:
            self.assertIn(f'"{name}"', (probes / f"{probe}.cpp").read_text(encoding="utf-8"), f"{probe} does not report {name}")

    def test_each_says_where_it_is_from(self):
        for line in run("--markdown").stdout.splitlines()[2:]:
            self.assertNotEqual(line.split("|")[3].strip(), "", line)


class Overriding(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = pathlib.Path(self.folder.name)
        self.results = self.path / "results"
        self.results.mkdir()
        self.write_list(LIST)

    def write_list(self, text):
        (self.path / "constants.def").write_text(text, encoding="utf-8")

    def write_results(self, name, constants, simulated=False):
        contents = {"simulated": simulated, "simulator_constants": constants}
        (self.results / name).write_text(json.dumps(contents), encoding="utf-8")

    def generate(self):
        header = self.path / "constants.h"
        result = run("--list", self.path / "constants.def", "--results", self.results, "--header", header)
        found = dict(re.findall(r"constexpr \S+ (\w+) = (\S+);", header.read_text())) if header.exists() else {}
        origin = re.findall(r'origin\[\] = "(.*)"', header.read_text())[0] if header.exists() else None
        return result, found, origin

    def test_assumptions_stand_without_results(self):
        self.results.rmdir()
        result, found, origin = self.generate()
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(found, {"latency": "3000", "rate": "1500000000.0", "threads": "640"})
        self.assertEqual(origin, "assumptions")

    def test_the_newest_results_from_hardware_replace_them(self):
        self.write_results("2026-01-01-H200-a.json", {"latency": {"value": 1, "unit": "ns"}})
        self.write_results("2026-02-01-H200-b.json", {"latency": {"value": 1834.6, "unit": "ns"}})
        self.write_results("2026-03-01-simulated-c.json", {"latency": {"value": 7, "unit": "ns"}}, simulated=True)
        result, found, origin = self.generate()
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(found, {"latency": "1835", "rate": "1500000000.0", "threads": "640"})
        self.assertEqual(origin, "2026-02-01-H200-b.json")
        self.assertIn("1 constants from 2026-02-01-H200-b.json", result.stderr)

    def test_what_is_chosen_or_unknown_stays_and_is_reported(self):
        self.write_results("r.json", {"rate": {"value": 9e14, "unit": "FLOP/s"}, "gone": {"value": 1, "unit": "ns"}})
        result, found, _ = self.generate()
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(found["rate"], "1500000000.0")
        self.assertIn("rate is ignored", result.stderr)
        self.assertIn("gone is ignored", result.stderr)

    def test_values_that_cannot_be_used_stop_the_build(self):
        for bad in ({"value": 3, "unit": "us"}, {"value": -1, "unit": "ns"}, {"value": "3", "unit": "ns"}, {"unit": "ns"}):
            self.write_results("r.json", {"latency": bad})
            result, _, _ = self.generate()
            self.assertNotEqual(result.returncode, 0, bad)
            self.assertIn("latency", result.stderr)
        self.write_results("r.json", {"threads": {"value": 0, "unit": "count"}})
        self.assertIn("0 count cannot be simulated", self.generate()[0].stderr)

    def test_results_that_do_not_say_whether_they_are_simulated_are_refused(self):
        (self.results / "r.json").write_text("{}", encoding="utf-8")
        self.assertIn('"simulated" is missing', self.generate()[0].stderr)

    def test_a_line_that_is_no_constant_is_refused(self):
        for line in ('CONSTANT(a, 1 << 20, "bytes", "source", "")', 'CONSTANT(a, 1, "us", "source", "")', "int a = 1;",
                     'CONSTANT(latency, 1, "ns", "the second", "")'):
            self.write_list(LIST + line + "\n")
            self.assertNotEqual(self.generate()[0].returncode, 0, line)

    def test_of_a_link_what_was_measured_over_sockets_is_not_taken(self):
        self.write_list('OF_A_LINK(ahead, 1048576, "bytes", "assumption: of a real link", "some_probe")\n')
        for transport, expected in (({"transport": "sockets"}, "1048576"), ({}, "65536")):
            self.write_results("2026-11-21-h200-0.json", {"ahead": {"value": 65536, "unit": "bytes", **transport}})
            self.assertEqual(self.generate()[1]["ahead"], expected)


if __name__ == "__main__":
    unittest.main()
