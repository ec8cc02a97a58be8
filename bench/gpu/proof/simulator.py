"""The simulated GPU of a build tree: how a program gets there, and how real PyTorch runs on it.

Used by main.py and steps.py, by tests/gpu/cases and tests/bench/gpu/probes. Which simulator it is, is known from the
environment that scripts/on-simulated-gpu makes, and from nothing else.
"""

import os
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[3]
STAND_INS = ("libsimulated_cublas.so", "libcudnn.so.9")  # for cuBLAS and cuDNN, see sim/cublas and sim/cudnn
# Settings without which a probe's question cannot be asked: the simulator's arithmetic is too slow for short kernels.
OF_PROBES = {"collision_slowdown": {"SIMGPU_FLOPS": "1e13", "SIMGPU_BANDWIDTH": "1e12"},
             "default_stream_priority": {"SIMGPU_FLOPS": "1e13"}}


def enter(build, command):
    """Puts `command` in the place of this program, on the simulated GPU of a build tree; every process below inherits that.
    Returns where this program is there already."""
    if "SIMGPU_DEVICES" not in os.environ:
        os.execv(ROOT / "scripts/on-simulated-gpu", ["on-simulated-gpu", "--build", str(build.absolute()), *map(str, command)])


def libraries(environment):
    """The folder of the simulator's libraries, which comes first on the library path; None where there is no simulator."""
    if "SIMGPU_DEVICES" not in environment:
        return None
    return pathlib.Path(environment.get("LD_LIBRARY_PATH", "").split(":")[0])


def missing_for_pytorch(folder):
    """Why PyTorch does not run on the simulator whose libraries are in the folder; "": it does."""
    missing = [name for name in STAND_INS if not (folder / name).exists()]
    return f"the build of the simulated GPU lacks {missing[0]}" if missing else ""


def pytorch_prefix(folder):
    """The words before a command with PyTorch, on the simulator whose libraries are in the folder (<build>/lib/simgpu)."""
    return [ROOT / "scripts/on-simulated-gpu", "--build", folder.parents[1], "--pytorch"]
