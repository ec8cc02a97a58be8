#!/usr/bin/env python3
"""The wheel of the package: package_test.py FOLDER, with the folder that holds pyproject.toml. Nothing is downloaded; exit
code 77 where pip, venv or the build backend is missing."""
import importlib.util
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import venv
import zipfile

FOLDER = pathlib.Path(sys.argv.pop(1))


def missing():
    backend = re.search(r'build-backend = "(\w+)', (FOLDER / "pyproject.toml").read_text(encoding="utf-8"))[1]
    return [name for name in ("pip", "ensurepip", backend) if importlib.util.find_spec(name) is None]


class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        before = sorted(FOLDER.rglob("*"))
        subprocess.run([sys.executable, "-m", "pip", "wheel", "--quiet", "--no-index", "--no-deps", "--no-build-isolation",
                        "--wheel-dir", cls.folder.name, str(FOLDER)], check=True)
        cls.left = sorted(set(FOLDER.rglob("*")) - set(before))
        cls.wheel, = pathlib.Path(cls.folder.name).glob("*.whl")

    def test_holds_every_module_and_nothing_else(self):
        with zipfile.ZipFile(self.wheel) as wheel:
            found = {name: wheel.read(name) for name in wheel.namelist() if ".dist-info/" not in name}
        self.assertEqual(found, {f"weft/{path.name}": path.read_bytes() for path in (FOLDER / "weft").glob("*.py")})

    def test_is_for_every_platform(self):
        self.assertRegex(self.wheel.name, r"^weft-[0-9.]+-py3-none-any\.whl$")

    def test_leaves_nothing_in_the_sources(self):
        self.assertEqual(self.left, [])

    def test_can_be_installed_and_uninstalled(self):
        environment = pathlib.Path(self.folder.name) / "environment"
        venv.create(environment, with_pip=True)
        python = environment / "bin/python"

        def pip(*arguments):
            subprocess.run([python, "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments], check=True)

        pip("install", "--no-index", str(self.wheel))
        code = "import weft; from weft import annotate; print(weft.load.__module__, annotate.is_preloaded())"
        found = subprocess.run([python, "-I", "-c", code], check=True, capture_output=True, text=True).stdout
        self.assertEqual(found.split(), ["weft._load", "False"])
        pip("uninstall", "--yes", "weft")
        self.assertEqual(list(environment.rglob("weft*")), [])


if __name__ == "__main__":
    if missing():
        print("skipped: this Python has no", ", ".join(missing()))
        sys.exit(77)
    unittest.main()
