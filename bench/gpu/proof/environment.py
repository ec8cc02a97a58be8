"""Where the proof runs: which programs, libraries and devices there are. Reads only, and only what a results page may show:
no host name, user, path or serial number gets into the facts.

Called by main.py before the first step. Each question is put by a process of its own with a limit.
"""

import json
import os
import pathlib
import platform
import subprocess
import sys

HARDWARE_QUEUES, MOST_HARDWARE_QUEUES = "CUDA_DEVICE_MAX_CONNECTIONS", "32"
MPS_VERDICT = "GPU_PROOF_MPS_VERDICT"  # names the file in which bench/gpu/measures/mps.py says whether its clients work
# Parameters of the matrix-product fill job on hardware: a product takes some 10 to 30 us, well below any slice, and a unit several
# milliseconds, so that what lies between two units is little of it.
FILL_ON_HARDWARE = ":size=192,products=256"
SIMULATED_NAME = "simulated"  # in the name of a simulated device, in any case

_SMI_FIELDS = ("name", "driver_version", "compute_cap", "memory.total", "clocks.sm", "clocks.mem", "clocks.max.sm",
               "power.draw", "power.limit", "temperature.gpu", "pstate", "persistence_mode", "compute_mode",
               "mig.mode.current")
# Run by the Python that has PyTorch.
_TORCH_QUESTION = """
import json, glob, os, sys
facts = {"nccl_library": "", "cupti_library": ""}
for folder in sys.path:
    for key, pattern in (("nccl_library", "nvidia/nccl/lib/libnccl.so.2"), ("cupti_library", "nvidia/*/lib/libcupti.so.1[3-9]")):
        found = sorted(glob.glob(os.path.join(glob.escape(folder), pattern)))
        if found and not facts[key]:
            facts[key] = found[0]
try:
    import torch
    facts["torch"] = torch.__version__
    facts["torch_cuda"] = torch.version.cuda or ""
except Exception as error:
    facts["torch_missing"] = str(error).splitlines()[0] if str(error) else type(error).__name__
print(json.dumps(facts))
"""


def _ask(command, limit, environment=None):
    """The output of a command, "" when it fails."""
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL,
                              universal_newlines=True, timeout=limit, env=environment, check=False)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout if done.returncode == 0 else ""


def _ask_object(command, limit, environment=None):
    try:
        return json.loads(_ask(command, limit, environment).strip().splitlines()[-1])
    except (ValueError, IndexError):
        return {}


def find_programs(root, named, simulated):
    """The bundle or build tree whose programs are run; None when there is none. A bundle has no simulated GPU."""
    candidates = [named] if named else ([] if simulated else [root / "build/gpu-bundle"]) + [root / "build/release"]
    for folder in candidates:
        if (folder / "bin/weft").exists() and (folder / "lib/weft/libweft.so").exists():
            return folder.absolute()
    return None


def torch_facts(python):
    return _ask_object([python, "-c", _TORCH_QUESTION], 120)


def of_steps(environment, torch):
    """The environment of all steps: NCCL of PyTorch's wheel where there is one, so that both use the same; and nothing is left in
    the source tree."""
    changed = dict(environment, PYTHONDONTWRITEBYTECODE="1")
    nccl = torch.get("nccl_library", "")
    # On the simulated GPU its folder comes first and must stay there.
    if nccl:
        before = changed.get("LD_LIBRARY_PATH", "")
        changed["LD_LIBRARY_PATH"] = (before + ":" if before else "") + str(pathlib.Path(nccl).parent)
    if torch.get("cupti_library"):
        changed["CUPTI_TRUTH_LIBRARY"] = torch["cupti_library"]
    return changed


def of_training(environment):
    """Added for steps that train and fill: with several communicators the default of 8 hardware queues is too few for
    all streams, and Weft would not fill. A value that the caller has set stays."""
    return {HARDWARE_QUEUES: environment.get(HARDWARE_QUEUES, MOST_HARDWARE_QUEUES)}


def mps_verdict(path):
    """{"usable", "reason"}; None when no step has asked."""
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError):
        return None


def device_facts(programs, environment):
    runtime = programs / "lib/cuda/libcudart.so.13"
    question = pathlib.Path(__file__).with_name("ask.py")
    # A bundle's own runtime is what its programs use on hardware; a simulated one comes first on the library path.
    simulated = "SIMGPU_DEVICES" in environment
    return _ask_object([sys.executable, question, str(runtime) if runtime.exists() and not simulated else ""], 60, environment)


def _smi_facts():
    lines = _ask(["nvidia-smi", "--query-gpu=" + ",".join(_SMI_FIELDS), "--format=csv,noheader"], 30).splitlines()
    return [dict(zip(_SMI_FIELDS, (field.strip() for field in line.split(",")))) for line in lines if line.strip()]


def _commit(root, programs):
    commit = _ask(["git", "-C", str(root), "rev-parse", "HEAD"], 20).strip()
    changed = _ask(["git", "-C", str(root), "status", "--porcelain", "--untracked-files=no"], 20).strip()
    facts = {"commit": commit + ("+changes" if changed else "")}
    try:
        facts["bundle_commit"] = json.loads((programs / "manifest.json").read_text())["commit"]
    except (OSError, ValueError, KeyError):
        facts["bundle_commit"] = ""
    facts["commit"] = facts["commit"] or facts["bundle_commit"] or "unknown"
    return facts


def is_simulated(devices):
    return any(SIMULATED_NAME in device["name"].lower() for device in devices)


def facts(root, programs, environment, torch):
    """The "environment" of the results file; "devices" is empty when there is no GPU."""
    driver = device_facts(programs, environment)
    devices = driver.get("devices", [])
    return {"devices": devices,
            "driver_cuda": driver.get("driver"), "cuda_runtime": driver.get("cuda_runtime"), "nccl": driver.get("nccl"),
            "nvidia_smi": [] if is_simulated(devices) else _smi_facts(),
            "torch": torch.get("torch", ""), "torch_cuda": torch.get("torch_cuda", ""),
            "torch_missing": torch.get("torch_missing", ""),
            "python": platform.python_version(), "kernel": platform.release(), "machine": platform.machine(),
            "glibc": os.confstr("CS_GNU_LIBC_VERSION"), "cpus": len(os.sched_getaffinity(0)),
            **_commit(root, programs)}
