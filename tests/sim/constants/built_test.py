#!/usr/bin/env python3
"""Numbers measured on hardware reach the simulator when it is built, and nothing else does.

Run by CTest: built_test.py GENERATOR COMPILER CUDA_HEADERS. Builds built/ with the real sim/CMakeLists.txt and list of constants,
and with results files of its own under docs/results; asks the simulator's own code what it starts with.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
SIM = HERE.parents[2] / "sim"
GENERATOR, COMPILER, CUDA_HEADERS = sys.argv[1:4]
ASSUMED = {"launch_latency": 3000, "dependency_gap": 1000, "flops": 1.5e9}


class Built(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.source = pathlib.Path(cls.folder.name) / "source"
        shutil.copytree(HERE / "built", cls.source)
        (cls.source / "sim").mkdir()
        for name in ("CMakeLists.txt", "constants.def", "constants.py"):
            shutil.copy(SIM / name, cls.source / "sim")
        cls.results = cls.source / "docs/results"
        cls.results.mkdir(parents=True)
        done = cls.cmake("-S", cls.source, "-B", cls.source / "build", "-G", GENERATOR, f"-DCMAKE_CXX_COMPILER={COMPILER}", f"-DSIM={SIM}",
                         f"-DCUDA_HEADERS={CUDA_HEADERS}")
        if done.returncode != 0:
            raise AssertionError(done.stdout)

    def setUp(self):
        for path in self.results.iterdir():
            path.unlink()

    @staticmethod
    def cmake(*arguments):
        return subprocess.run(["cmake", *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=200, check=False)

    def write_results(self, name, simulated, **constants):
        text = json.dumps({"format": "weft-gpu-proof", "version": 1, "simulated": simulated, "simulator_constants": constants})
        (self.results / name).write_text(text, encoding="utf-8")

    def build(self):
        """As after new results were committed: the build notices by itself."""
        return self.cmake("--build", self.source / "build")

    def settings(self):
        """The simulator's settings at its start, and their origin as the head of its log says it."""
        built = self.build()
        self.assertEqual(built.returncode, 0, built.stdout)
        with tempfile.TemporaryDirectory() as log:
            environment = {name: value for name, value in os.environ.items() if not name.startswith("SIMGPU_")}
            done = subprocess.run([self.source / "build/print_settings", log], stdout=subprocess.PIPE, timeout=60, check=True, env=environment)
            head, = pathlib.Path(log).iterdir()
            return json.loads(done.stdout), json.loads(head.read_text(encoding="utf-8"))["constants"]

    def test_what_was_measured_reaches_the_simulator(self):
        self.write_results("2026-01-01-h200-a.json", False, launch_latency={"value": 2100.4, "unit": "ns"})
        self.assertEqual(self.settings(), (dict(ASSUMED, launch_latency=2100), "2026-01-01-h200-a.json"))

    def test_a_simulated_run_does_not_also_when_it_is_newer(self):
        self.write_results("2026-02-01-simulated-gpu-b.json", True, launch_latency={"value": 7, "unit": "ns"})
        self.assertEqual(self.settings(), (ASSUMED, "assumptions"))
        self.write_results("2026-01-01-h200-a.json", False, dependency_gap={"value": 800, "unit": "ns"})
        self.assertEqual(self.settings(), (dict(ASSUMED, dependency_gap=800), "2026-01-01-h200-a.json"))

    def test_what_nobody_measures_stays(self):
        self.write_results("2026-01-01-h200-a.json", False, flops={"value": 9e14, "unit": "FLOP/s"})
        self.assertEqual(self.settings()[0], ASSUMED)

    def test_a_bad_file_stops_the_build_until_it_is_gone(self):
        for bad in ({"value": 2100, "unit": "us"}, {"value": -1, "unit": "ns"}, {"value": None, "unit": "ns"}):
            self.write_results("2026-03-01-h200-c.json", False, launch_latency=bad)
            done = self.build()
            self.assertNotEqual(done.returncode, 0, bad)
            self.assertIn("launch_latency", done.stdout)
        self.setUp()
        self.assertEqual(self.settings(), (ASSUMED, "assumptions"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
