"""The list of steps: what is run, for how long at most, in which order, and what it feeds.

Called by main.py. Order is by worth: if the time runs out, what comes first is known; how long each may take is in budget.py. Programs
are found by folder in the bundle or build tree, scripts in the source tree; what is not there is no step.
"""

import dataclasses
import importlib.util
import pathlib
import sys

from . import budget, decisions, environment, simulator
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

    def limit(self, kind):
        return budget.limit(kind, self.mode)


def _programs_in(place, folder):
    return sorted(path for path in (place.programs / folder).glob("*") if path.is_file() and path.suffix != ".so")


PROBES_WITH_RANKS = ("nccl_kernel_shape", "nccl_links", "ranks_on_one_gpu")


def _probe(place, name, program, more=None, **of_step):
    short = ["--quick"] if place.quick else []
    settings = simulator.OF_PROBES.get(program.name, {}) if place.simulated else {}
    limit = budget.PROBE_WITH_RANKS if program.name in PROBES_WITH_RANKS else place.limit("probe")
    return Step(f"probe.{name}", [program, *short], min(limit, decisions.FIRST.get(name, limit)), "probe",
                environment={**settings, **(more or {})}, **of_step)


def _probe_in_pytorch(place):
    """It asks within PyTorch's process: the same question, where what is in the way is."""
    script = place.root / "bench/gpu/probes/fixed_address_in_pytorch.py"
    if not place.torch or not script.exists():
        return []
    before, _, _, skip = pytorch_place(place)
    return [Step("probe.fixed_address_in_pytorch", [*(before if place.simulated else ()), place.python, script], budget.PYTORCH_WARM_UP, "probe",
                 least=10, skip=skip)]


def probe_steps(place):
    """Those that decide most come first."""
    steps = _probe_in_pytorch(place)
    for program in _programs_in(place, "bin/probes"):
        if program.name == "one_queue":
            steps += [_probe(place, decisions.of_queues(count), program, {environment.HARDWARE_QUEUES: str(count)})
                      for count in decisions.HARDWARE_QUEUES]
        else:
            steps.append(_probe(place, program.name, program))
    order = [f"probe.{name}" for name in (*decisions.FIRST, *decisions.SECOND)]
    return sorted(steps, key=lambda step: order.index(step.name) if step.name in order else len(order))


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
        steps += [Step(f"case.{variant}", [sys.executable, script, variant, *told, "--output", place.work / "cases" / variant],
                       place.limit("case"), "case", quick=variant in quick) for variant in case_variants(place.root, "run_case")]
    steps += [Step(f"case.{program.name}", [program], place.limit("case"), "case") for program in _programs_in(place, "bin/gpu_cases")]
    return steps


def ranks_steps(place):
    """Several processes on one GPU, that of quick first."""
    script = place.root / "tests/gpu/cases/run_ranks.py"
    if not (place.programs / "bin/bubble_case").exists():
        return []
    told = ["--build", place.programs] + (["--simulated"] if place.simulated else [])
    variants = sorted(case_variants(place.root, "run_ranks"), key=lambda variant: variant != "stage-1")
    return [Step(f"ranks.{variant}", [sys.executable, script, variant, *told, "--output", place.work / "ranks" / variant], place.limit("ranks"),
                 "case", quick=variant == "stage-1", environment=place.training, least=20) for variant in variants]


def sanitizer_steps(place):
    script = place.root / "tests/gpu/cases/compute_sanitizer.sh"
    if not script.exists():
        return []
    return [Step(f"sanitizer.{tool}", [script, place.programs, tool], place.limit("sanitizer"), "case", quick=tool == "memcheck",
                 least=20)
            for tool in COMPUTE_SANITIZERS]


def measure_steps(place):
    """The measures that docs/results/README.md defines; see bench/gpu/measures/README.md."""
    folder = place.root / "bench/gpu/measures"
    told = ["--programs", place.programs, "--work", place.work / "measures"] + (["--quick"] if place.quick else [])

    return [Step(f"measure.{name}", [sys.executable, folder / f"{name}.py", *told], place.limit(f"measure.{name}"), "measure",
                 least=10 if name == "recovery" else 20, environment=place.training)
            for name in ("accuracy", "training", "frontier", "recovery")]


# compare.py holds Weft to these. Receives inside replayed graphs are not seen, so where a graph is the whole step there
# may be nothing to fill; where it is a pass, NCCL is outside.
FILLED, ACTIVE = ("--expect", "filled"), ("--expect", "active")
# (name, script, arguments of the script, arguments of compare.py, part of --quick)
PYTORCH = (("1f1b", "pipeline.py", ("--schedule", "1f1b"), FILLED, True),
           ("megatron", "megatron_style.py", (), FILLED, True),
           ("zero-bubble", "pipeline.py", ("--schedule", "zero-bubble"), FILLED, False),
           ("gpipe", "pipeline.py", ("--schedule", "gpipe"), FILLED, False),
           ("interleaved", "pipeline.py", ("--schedule", "interleaved"), FILLED, False),
           ("dualpipev", "pipeline.py", ("--schedule", "dualpipev"), FILLED, False),
           ("graph-passes", "graph_step.py", ("--capture", "passes"), FILLED, False),
           ("graph-step", "graph_step.py", ("--capture", "step"), ACTIVE, False),
           ("profiled", "pipeline.py", ("--schedule", "1f1b"), (*FILLED, "--profile"), False))


def pytorch_place(place):
    """These depend on the GPU: (before the command, parameters of the fill job, sizes of the training, why there is no
    answer)."""
    if place.simulated:
        return (simulator.pytorch_prefix(place.simulator), "", ("--device", "cuda", "--iterations", "8"),
                simulator.missing_for_pytorch(place.simulator))
    # Ranks that share a GPU run on it at the same time where MPS can be started.
    shared = [] if place.devices >= 2 else [sys.executable, place.root / "bench/gpu/measures/mps.py", place.programs]
    return shared, environment.FILL_ON_HARDWARE, ("--size", "real"), ""


def pytorch_steps(place):
    """Unmodified PyTorch scripts, each without and with Weft; two ranks also where they share a GPU."""
    compare = place.root / "examples/pytorch/compare.py"
    if not compare.exists() or not place.torch:
        return []
    # Two runs, and what is before and after them: compare.py stops a run before it would be stopped itself, and says how far it was.
    limit = budget.PYTORCH_SIMULATED if place.simulated else place.limit("pytorch")
    run_limit = limit // 2 - 5 if place.simulated else budget.PYTORCH_RUN
    before, parameters, sizes, skip = pytorch_place(place)
    fill = str(place.programs / "lib/weft/fill_matmul.so") + parameters
    told = ["--ranks", "2", "--weft", place.programs / "bin/weft", "--fill", fill, "--time-limit", str(run_limit), "--json"]
    warm_up = [] if place.simulated else [Step("pytorch.warm-up", [place.python, pathlib.Path(__file__).with_name("warm_up.py")],
                                                 budget.PYTORCH_WARM_UP)]
    return warm_up + [
        Step("pytorch." + name, [*before, place.python, compare, "--script", script, *told, *more, "--out", place.work / "pytorch" / name, "--",
                                 *sizes, *arguments], limit, "pytorch", quick=quick, least=60, skip=skip, environment=place.training)
        for name, script, arguments, more, quick in PYTORCH]


def _through(steps, last):
    """(the steps up to the one of this name, the others)"""
    number = next((index for index, step in enumerate(steps, 1) if step.name == last), 0)
    return steps[:number], steps[number:]


def steps_of(place):
    """All steps of the mode, most worth knowing first: one of each kind, then the rest."""
    ranks, more_ranks = _through(ranks_steps(place), "ranks.stage-1")
    pytorch, more_pytorch = _through(pytorch_steps(place), "pytorch.1f1b")
    sanitizers, more_sanitizers = _through(sanitizer_steps(place), "sanitizer.memcheck")
    accuracy, training, frontier, recovery = measure_steps(place)
    of_each = [accuracy, training, *pytorch, *sanitizers, recovery, frontier] if place.quick else [
        accuracy, training, frontier, *pytorch, *sanitizers, recovery]
    steps = probe_steps(place) + case_steps(place) + ranks + of_each + more_pytorch + more_ranks + more_sanitizers
    for step in steps:
        step.kind = budget.kind_of(step.name)
    return [step for step in steps if step.quick or not place.quick]
