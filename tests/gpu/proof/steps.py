"""The list of steps: what is run, for how long at most, in which order, and what it feeds.

Called by main.py. Order is by worth: if the time runs out, what comes first is known. Programs are found by folder in the bundle or
build tree, scripts in the source tree; what is not there is no step.
"""

import dataclasses
import importlib.util
import pathlib
import sys

from . import environment, simulator
from .run import Step

COMPUTE_SANITIZERS = ("memcheck", "racecheck", "synccheck")


@dataclasses.dataclass
class Place:
    """Where the steps run."""

    root: pathlib.Path  # source tree
    programs: pathlib.Path  # bundle or build tree
    python: str  # the Python that has PyTorch
    work: pathlib.Path  # folder for logs, traces and reports of this run
    mode: str  # "quick" or "full"
    simulated: bool
    devices: int
    torch: bool
    training: dict  # environment of steps that train and fill
    simulator: pathlib.Path = None  # folder of its libraries, when simulated

    @property
    def quick(self):
        return self.mode == "quick"


def _programs_in(place, folder):
    return sorted(path for path in (place.programs / folder).glob("*") if path.is_file() and path.suffix != ".so")


# Seconds. Longer than the probes' own watchdogs (kLongestProbe, kLongestProbeWithRanks), which say more than a stop from outside.
PROBE_LIMIT, PROBE_WITH_RANKS_LIMIT = 30, 80
PROBES_WITH_RANKS = ("nccl_kernel_shape", "nccl_links", "ranks_on_one_gpu")


def probe_steps(place):
    short = ["--quick"] if place.quick else []
    settings = simulator.OF_PROBES if place.simulated else {}
    return [Step(f"probe.{program.name}", [program, *short], PROBE_WITH_RANKS_LIMIT if program.name in PROBES_WITH_RANKS else PROBE_LIMIT,
                 "probe", environment=settings.get(program.name, {}))
            for program in _programs_in(place, "bin/probes")]


def case_variants(root, name):
    """The names in VARIANTS of a script of tests/gpu/cases."""
    script = root / "tests/gpu/cases" / f"{name}.py"
    if not script.exists():
        return []
    specification = importlib.util.spec_from_file_location(name, script)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return list(module.VARIANTS)


def case_steps(place):
    steps = []
    if (place.programs / "bin/bubble_case").exists():
        script = place.root / "tests/gpu/cases/run_case.py"
        told = ["--build", place.programs] + (["--simulated"] if place.simulated else [])
        quick = ("event", "in-stream", "host", "shorter")
        steps += [Step(f"case.{variant}", [sys.executable, script, variant, *told, "--output", place.work / "cases" / variant], 90,
                       "case", quick=variant in quick) for variant in case_variants(place.root, "run_case")]
        script = place.root / "tests/gpu/cases/run_ranks.py"
        steps += [Step(f"ranks.{variant}", [sys.executable, script, variant, *told, "--output", place.work / "ranks" / variant], 150,
                       "case", quick=variant == "stage-1", environment=place.training) for variant in case_variants(place.root, "run_ranks")]
    steps += [Step(f"case.{program.name}", [program], 60, "case") for program in _programs_in(place, "bin/gpu_cases")]
    return steps


def sanitizer_steps(place):
    script = place.root / "tests/gpu/cases/compute_sanitizer.sh"
    if not script.exists():
        return []
    return [Step(f"sanitizer.{tool}", [script, place.programs, tool], 60 if place.quick else 120, "case", quick=tool == "memcheck")
            for tool in COMPUTE_SANITIZERS]


def measure_steps(place):
    """The measures that docs/results/README.md defines; see tests/gpu/measures/README.md."""
    folder = place.root / "tests/gpu/measures"
    told = ["--programs", place.programs, "--work", place.work / "measures"] + (["--quick"] if place.quick else [])

    def step(name, limit_quick, limit_full):
        return Step(f"measure.{name}", [sys.executable, folder / f"{name}.py", *told], limit_quick if place.quick else limit_full,
                    "measure", least=20, environment=place.training)

    return [step("accuracy", 70, 150), step("training", 100, 480), step("recovery", 40, 60), step("frontier", 120, 420)]


# (name, script, arguments of the script, arguments of compare.py, part of --quick)
PYTORCH = (("1f1b", "pipeline.py", ("--schedule", "1f1b"), (), True),
           ("megatron", "megatron_style.py", (), (), True),
           ("zero-bubble", "pipeline.py", ("--schedule", "zero-bubble"), (), False),
           ("gpipe", "pipeline.py", ("--schedule", "gpipe"), (), False),
           ("interleaved", "pipeline.py", ("--schedule", "interleaved"), (), False),
           ("dualpipev", "pipeline.py", ("--schedule", "dualpipev"), (), False),
           ("graph-passes", "graph_step.py", ("--capture", "passes"), (), False),
           ("graph-step", "graph_step.py", ("--capture", "step"), (), False),
           ("profiled", "pipeline.py", ("--schedule", "1f1b"), ("--profile",), False))


def pytorch_place(place):
    """What depends on the GPU: (before the command, parameters of the fill job, sizes of the training, why there is no answer)."""
    if place.simulated:
        return (simulator.pytorch_prefix(place.simulator), "", ("--device", "cuda", "--iterations", "8"),
                simulator.missing_for_pytorch(place.simulator))
    # Ranks that share a GPU run on it at the same time where MPS can be started.
    shared = [] if place.devices >= 2 else [sys.executable, place.root / "tests/gpu/measures/mps.py"]
    return shared, environment.FILL_ON_HARDWARE, ("--size", "real"), ""


def pytorch_steps(place):
    """Unmodified PyTorch scripts, each without and with Weft; two ranks also where they share a GPU."""
    compare = place.root / "examples/pytorch/compare.py"
    if not compare.exists() or not place.torch:
        return []
    limit = 200 if place.simulated else 110 if place.quick else 130
    before, parameters, sizes, skip = pytorch_place(place)
    fill = str(place.programs / "lib/weft/fill_matmul.so") + parameters
    told = ["--ranks", "2", "--weft", place.programs / "bin/weft", "--fill", fill, "--time-limit", str(limit // 2 - 5), "--json"]
    return [Step("pytorch." + name, [*before, place.python, compare, "--script", script, *told, *more, "--out",
                                     place.work / "pytorch" / name, "--", *sizes, *arguments], limit, "pytorch", quick=quick, least=30, skip=skip,
                 environment=place.training)
            for name, script, arguments, more, quick in PYTORCH]


def steps_of(place):
    """All steps of the mode, most worth knowing first."""
    probes, cases, sanitizers, measures, pytorch = (make(place) for make in (
        probe_steps, case_steps, sanitizer_steps, measure_steps, pytorch_steps))
    # The frontier takes what time is left.
    steps = probes + cases + measures[:-1] + pytorch + sanitizers + measures[-1:]
    return [step for step in steps if step.quick or not place.quick]
