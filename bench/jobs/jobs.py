"""The jobs of the table: name, command line and ranks of each row. Used by cell.py, which runs them, and by job_table.py."""
from __future__ import annotations

import dataclasses
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
PYTORCH = ROOT / "examples/pytorch"
FRAMEWORKS = ROOT / "bench/jobs/frameworks"
SITUATIONS = ("plain", "loss_copy", "weight_grads", "alternating", "random", "unbatched", "second_stream", "item", "offload")


@dataclasses.dataclass(frozen=True)
class Row:
    """`program` is a file of the tree, or the trainer of a build where it is None."""
    name: str
    ranks: int
    arguments: tuple[str, ...]
    program: pathlib.Path | None = None
    iterations: int = 14

    @property
    def uses_pytorch(self) -> bool:
        return self.program is not None

    @property
    def prints_losses(self) -> bool:
        """On simulated GPUs few kernels compute something: the trainer's, and those that bench/jobs/frameworks launches."""
        return self.program is None or self.program.parent == FRAMEWORKS

    def command(self, build: pathlib.Path, python: str, report: pathlib.Path, limit: int, iterations: int | None) -> list[str]:
        count = ["--launch", str(self.ranks), "--iterations", str(iterations or self.iterations)]
        if self.program is None:
            text = ["--text", str(ROOT / "LICENSE"), "--report", str(report)]
            return [str(build / "bin/trainer"), *count, *text, *self.arguments]
        device = ["--device", "cuda", "--time-limit", str(limit)]
        losses = ["--report", str(report)] if self.prints_losses else []
        return [python, "-B", str(self.program), *count, *device, *losses, *self.arguments]


def trainer(schedule: str, wait: str) -> Row:
    # Where many streams share few queues, what is found out in the first iteration weighs the more the fewer follow.
    iterations = 24 if schedule == "interleaved" else 8
    return Row(f"trainer-{schedule}-{wait}", 4, ("--schedule", schedule, "--wait", wait), iterations=iterations)


def framework(name: str, ranks: int, program: str, *arguments: str, iterations: int = 14) -> Row:
    return Row(name, ranks, arguments, FRAMEWORKS / program, iterations)


# The interleaved schedule posts its receives ahead, so it cannot wait for them in the stream.
ROWS = [
    *(trainer(schedule, wait) for schedule in ("gpipe", "1f1b", "interleaved") for wait in ("event", "in-stream", "host")
      if (schedule, wait) != ("interleaved", "in-stream")),
    *(Row(f"pipeline-{schedule}", 2, ("--schedule", schedule), PYTORCH / "pipeline.py")
      for schedule in ("gpipe", "1f1b", "interleaved", "zero-bubble", "zbv", "dualpipev")),
    Row("megatron-style", 2, (), PYTORCH / "megatron_style.py"),
    *(Row(situation.replace("_", "-"), 2, ("--situation", situation), ROOT / "bench/jobs/situations.py")
      for situation in SITUATIONS),
    framework("fsdp2-1f1b", 4, "torch_pipeline.py", "--data-parallel", "fsdp"),
    framework("fsdp2-interleaved", 4, "torch_pipeline.py", "--data-parallel", "fsdp", "--schedule", "interleaved",
              "--layers", "2"),
    framework("ddp-1f1b", 4, "torch_pipeline.py", "--data-parallel", "ddp"),
    framework("offload-layers", 4, "torch_pipeline.py", "--data-parallel", "ddp", "--offload"),
    framework("changing-counts", 4, "torch_pipeline.py", "--data-parallel", "ddp", "--counts", "6,8"),
    framework("branches", 4, "branches.py"),
    framework("deepspeed-zero1", 4, "deepspeed_pipeline.py"),
    framework("megatron-pp2", 2, "megatron_pipeline.py"),
    framework("megatron-pp4-vp2", 4, "megatron_pipeline.py", "--chunks", "2", "--layers", "2", "--microbatches", "8"),
    framework("megatron-tp2-pp2", 4, "megatron_pipeline.py", "--tensor-parallel", "2"),
    framework("megatron-lengths", 2, "megatron_pipeline.py", "--variable-lengths"),
    framework("torchtitan-1f1b", 4, "torchtitan_pipeline.py", "--schedule", "1F1B"),
    *(framework(f"torchtitan-{name}", 4, "torchtitan_pipeline.py", "--schedule", schedule, "--layers", "2", iterations=28)
      for name, schedule in (("interleaved", "Interleaved1F1B"), ("zbv", "ZBVZeroBubble"), ("dualpipev", "DualPipeV"))),
]


def rows_named(names: str | None) -> list[Row]:
    """All rows, or those of a list of names with commas between them; a name that ends in * stands for all it begins."""
    if names is None:
        return ROWS
    chosen = []
    for name in names.split(","):
        matching = [row for row in ROWS if row.name == name or (name.endswith("*") and row.name.startswith(name[:-1]))]
        if not matching:
            raise SystemExit(f"job_table.py: no row {name} (see --list)")
        chosen += [row for row in matching if row not in chosen]
    return chosen
