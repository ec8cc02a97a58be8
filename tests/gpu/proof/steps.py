"""The list of steps: what is run, for how long at most, in which order, and what it feeds.

Called by main.py. Order is by worth: if the time runs out, what comes first is known. Programs are found by folder in the bundle or
build tree, scripts in the source tree; what is not there is no step.
"""

import dataclasses
import importlib.util
import pathlib

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

    @property
    def quick(self):
        return self.mode == "quick"


def _programs_in(place, folder):
    return sorted(path for path in (place.programs / folder).glob("*") if path.is_file() and path.suffix != ".so")


def probe_steps(place):
    short = ["--quick"] if place.quick else []
    return [Step(f"probe.{program.name}", [program, *short], 30, "probe") for program in _programs_in(place, "bin/probes")]


def case_variants(root):
    """The names in VARIANTS of tests/gpu/cases/run_case.py."""
    script = root / "tests/gpu/cases/run_case.py"
    if not script.exists():
        return []
    specification = importlib.util.spec_from_file_location("run_case", script)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return list(module.VARIANTS)


def case_steps(place):
    steps = []
    # On the simulated GPU the cases want it in the same tree as their programs.
    if (place.programs / "bin/bubble_case").exists() and (not place.simulated or (place.programs / "lib/simgpu").exists()):
        script = place.root / "tests/gpu/cases/run_case.py"
        told = ["--build", place.programs] + (["--simulated"] if place.simulated else [])
        quick = ("event", "in-stream", "host", "shorter")
        steps += [Step(f"case.{variant}", ["python3", script, variant, *told, "--output", place.work / "cases" / variant], 90,
                       "case", quick=variant in quick) for variant in case_variants(place.root)]
    steps += [Step(f"case.{program.name}", [program], 60, "case") for program in _programs_in(place, "bin/gpu_cases")]
    sanitizer = place.root / "tests/gpu/cases/compute_sanitizer.sh"
    if sanitizer.exists():
        steps += [Step(f"sanitizer.{tool}", [sanitizer, place.programs, tool], 120, "case", quick=tool == "memcheck")
                  for tool in COMPUTE_SANITIZERS]
    return steps


def measure_steps(place):
    """The measures of section 5 of the design; see tests/gpu/measures/README.md."""
    folder = place.root / "tests/gpu/measures"
    told = ["--programs", place.programs, "--work", place.work / "measures"] + (["--quick"] if place.quick else [])

    def step(name, limit_quick, limit_full, **more):
        return Step(f"measure.{name}", ["python3", folder / f"{name}.py", *told], limit_quick if place.quick else limit_full,
                    "measure", least=20, **more)

    return [step("accuracy", 90, 240), step("training", 120, 420), step("recovery", 60, 90), step("frontier", 120, 400)]


def pytorch_steps(place):
    script = place.root / "examples/pytorch/compare.py"
    if not script.exists() or not place.torch or place.simulated:
        return []
    scripts = [("pipeline.py", schedule) for schedule in ("1f1b", "gpipe", "interleaved", "zero-bubble", "dualpipev")]
    scripts += [("megatron_style.py", ""), ("graph_step.py", "")]
    steps = []
    for name, schedule in scripts:
        path = place.root / "examples/pytorch" / name
        told = ["--script", path, "--json", "--weft", place.programs / "bin/weft"]
        if schedule:
            told += ["--", "--schedule", schedule]
        if path.exists():
            steps.append(Step("pytorch." + path.stem + ("." + schedule if schedule else ""), [place.python, script, *told],
                              90 if place.quick else 150, "pytorch", quick=(name, schedule) in scripts[:1] + scripts[5:6], least=30))
    return steps


def steps_of(place):
    """All steps of the mode, most worth knowing first."""
    steps = probe_steps(place) + case_steps(place) + measure_steps(place) + pytorch_steps(place)
    return [step for step in steps if step.quick or not place.quick]
