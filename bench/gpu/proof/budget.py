"""The time of a run, in one table: what each kind of step is sure of, and how long one step of it may take.

Read by steps.py, run.py and main.py; pure. A step may use all the time that is left, up to its own limit, less what kinds that still
wait are sure of: so each kind of evidence is had also when every step before it needs all the time it may. A kind is the word before
the dot in a step's name; each measure is a kind of its own.
"""

SECONDS = {"quick": 8 * 60 - 30, "full": 25 * 60 - 60}  # for all steps; the rest is for what is before and after them

# A probe's limit is longer than its own watchdog (longest_probe, longest_probe_with_ranks), which says more than a stop
# from outside.
# kind: (sure in quick, sure in full, one step at most in quick, in full), seconds
TABLE = {
    "probe": (95, 150, 30, 30),
    "case": (35, 100, 90, 90),
    "ranks": (35, 180, 100, 100),
    "measure.accuracy": (40, 80, 70, 150),
    "measure.training": (50, 200, 150, 200),
    "measure.frontier": (30, 200, 120, 240),
    "pytorch": (115, 390, 180, 180),
    "sanitizer": (35, 110, 60, 100),
    "measure.recovery": (15, 20, 40, 60),
}
PROBE_WITH_RANKS = 80
PYTORCH_RUN = 85  # of the two runs of a PyTorch step; the first ones read libraries from the disk
PYTORCH_WARM_UP = 40  # the step before them
PYTORCH_SIMULATED = 200  # one step, where processors do the GPU's work


def kind_of(name):
    kind = name if name.startswith("measure.") else name.split(".")[0]
    if kind not in TABLE:
        raise KeyError(f"{name} is of no kind that has time")
    return kind


def limit(kind, mode):
    """Seconds that one step of a kind may take."""
    return TABLE[kind][2 if mode == "quick" else 3]


def sure(mode, kinds, seconds):
    """{kind: seconds} that the kinds of a run are sure of; less of each where the run has less time than all need."""
    wanted = {kind: TABLE[kind][0 if mode == "quick" else 1] for kind in kinds}
    share = min(1.0, seconds / max(1, sum(wanted.values())))
    return {kind: share * needed for kind, needed in wanted.items()}
