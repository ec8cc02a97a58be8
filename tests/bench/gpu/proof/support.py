"""Shared by the tests of the harness behind scripts/gpu-proof: where it is, a folder for each test, results of a run.

The tests are run by CTest with the source and build folder in WEFT_SOURCE and WEFT_BUILD. None needs a GPU.
"""

import datetime
import json
import os
import pathlib
import shutil
import sys
import tempfile
import textwrap
import unittest

SOURCE = pathlib.Path(os.environ["WEFT_SOURCE"])
BUILD = pathlib.Path(os.environ["WEFT_BUILD"])
sys.path.insert(0, str(SOURCE / "bench/gpu"))
sys.path.insert(0, str(SOURCE / "bench/gpu/measures"))

from proof import constants, results  # noqa: E402


def alive(process):
    """Whether a process exists and is no zombie."""
    try:
        return pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


class TemporaryFolder(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="proof test "))
        self.addCleanup(shutil.rmtree, self.folder, True)

    def script(self, text, name="script.py"):
        path = self.folder / name
        path.write_text(textwrap.dedent(text))
        return [sys.executable, str(path)]


def results_of(simulated=False):
    fixture = json.loads((SOURCE / "tests/bench/gpu/proof/fixture.json").read_text())
    started = datetime.datetime(2026, 11, 21, 12, 0, tzinfo=datetime.timezone.utc)
    return results.assemble(mode="full", started=started, seconds=100.0, simulated=simulated, environment=fixture["environment"],
                            entries=fixture["steps"], constants=constants.load(SOURCE))
