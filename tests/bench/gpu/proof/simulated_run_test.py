"""A short scripts/gpu-proof on the simulated GPU, from its command line to its two files: a probe and a measure of the
training, then cases with the programs of a bundle. Run by CTest (label sim). The checks must hold on a machine of any
speed.
"""

import json
import os
import pathlib
import subprocess
import tempfile

SOURCE, BUILD = (pathlib.Path(os.environ[name]) for name in ("WEFT_SOURCE", "WEFT_BUILD"))


def cases_of_a_bundle():
    """They run on the simulator of the build tree, which no bundle has."""
    with tempfile.TemporaryDirectory(prefix="proof bundle ") as folder:
        bundle, out = pathlib.Path(folder) / "bundle", pathlib.Path(folder) / "out"
        subprocess.run([SOURCE / "scripts/gpu-bundle", "--build", BUILD, "--out", bundle], timeout=200, check=True)
        subprocess.run([SOURCE / "scripts/gpu-proof", "--quick", "--simulated", "--simulator", BUILD, "--bundle", bundle, "--out", out,
                        "--only", "case.event", "--only", "measure.recovery", "--seconds", "150"], timeout=200, check=False)
        result = json.loads(next(out.glob("2*.json")).read_text())
        case = result["cases"]["event"]
        assert case["simulated"] and case["values"]["identical"] and case["values"]["bubbles_real"] > 0, case
        assert "recovery" in result["measures"], result["steps"]


def probe_and_measure():
    """In two commands, the second of which adds what the first one found."""
    with tempfile.TemporaryDirectory(prefix="proof run ") as folder:
        out = pathlib.Path(folder)
        command = [SOURCE / "scripts/gpu-proof", "--quick", "--simulated", "--simulator", BUILD, "--out", out, "--seconds", "200"]
        first = subprocess.run([*command, "--only", "probe.pointer_identity"], timeout=280, check=False)
        assert first.returncode == 0, first.returncode
        done = subprocess.run([*command, "--only", "measure.accuracy", "--add", next(out.glob("2*.json"))], timeout=280, check=False)
        files = sorted(path.name for path in out.glob("*"))
        assert len(files) == 3 and [name.partition(".")[2] for name in files] == ["tar.gz", "json", "md"], files
        files = files[1:]
        assert "-simulated-gpu-" in files[0], files
        result = json.loads((out / files[0]).read_text())
        print(json.dumps(result, indent=1))
        assert done.returncode == 0, done.returncode
        assert result["simulated"] and result["simulator_constants"] == {}
        assert {step["name"]: step["status"] for step in result["steps"]} == {"probe.pointer_identity": "passed", "measure.accuracy": "passed"}
        values = result["measures"]["accuracy"]["values"]
        assert values["ranks"] == 4 and values["hazards"] == 0, values
        # A share of real idle time that is of this schedule, and not of a run that never worked.
        assert 0.1 < values["idle_share_true"] < 0.7 and 0.3 < values["coverage"] <= 1, values
        assert values["detection_latency"]["samples"] > 0, values
        page = (out / files[1]).read_text()
        assert "these numbers say nothing about hardware" in page and "| probe.pointer_identity | passed |" in page


if __name__ == "__main__":
    probe_and_measure()
    cases_of_a_bundle()
