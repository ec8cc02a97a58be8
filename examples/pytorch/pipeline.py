#!/usr/bin/env python3
"""Trains the example model with torch.distributed.pipelining, in any of its schedules.

    python3 pipeline.py --launch 4 --schedule 1f1b          or          torchrun --nproc-per-node 4 pipeline.py

A usual PyTorch program: one process per rank, NCCL on GPUs, gloo on the CPU. `--schedule none` is the same training
without a pipeline, in one process; its losses are what every schedule must come to, but for rounding.
"""
import torch
from torch import nn
from torch.distributed import pipelining
from torch.distributed.pipelining import schedules

import loop
import model
import ranks

# Name: class, stages per rank, and whether they lie in a V (rank 0 has the first and the last stage) or in a loop.
SCHEDULES = {
    "gpipe": (schedules.ScheduleGPipe, 1, False),
    "1f1b": (schedules.Schedule1F1B, 1, False),
    "interleaved": (schedules.ScheduleInterleaved1F1B, 2, False),
    "looped": (schedules.ScheduleLoopedBFS, 2, False),
    "zero-bubble": (schedules.ScheduleInterleavedZeroBubble, 2, False),
    "zbv": (schedules.ScheduleZBVZeroBubble, 2, True),
    "dualpipev": (schedules.ScheduleDualPipeV, 2, True),
}


def add_arguments(parser) -> None:
    parser.add_argument("--schedule", choices=[*SCHEDULES, "none"], default="1f1b")


class Plain:
    """All stages in one process, one microbatch after the other; called like a schedule."""

    def __init__(self, module: nn.Module, microbatches: int):
        self._module, self._microbatches = module, microbatches

    def step(self, tokens, target, losses, return_outputs=False) -> None:
        losses.clear()
        for part, part_target in zip(tokens.chunk(self._microbatches), target.chunk(self._microbatches)):
            losses.append(model.loss(self._module(part), part_target))
            (losses[-1] / self._microbatches).backward()


class StageOnCpu(pipelining.PipelineStage):
    """Without the exchange that connects neighbours. In a V a rank is its own neighbour, and gloo, unlike NCCL, does not
    send to the sender; nor does it need to be connected before the first batch of operations."""

    def _get_init_p2p_neighbors_ops(self) -> list:
        return []


def stage_numbers(rank: ranks.Rank, per_rank: int, v_shaped: bool) -> list[int]:
    if v_shaped:
        return [rank.number, 2 * rank.count - 1 - rank.number]
    return [rank.number + turn * rank.count for turn in range(per_rank)]


def shapes(number: int, count: int, sizes: model.Sizes, alphabet: int) -> tuple[torch.Tensor, torch.Tensor]:
    """A stage's input and output for one microbatch. Told, so that the stages need not tell each other at run time."""
    activation = torch.empty(sizes.batch, sizes.sequence, sizes.hidden, dtype=model.DTYPES[sizes.dtype], device="meta")
    tokens = torch.empty(sizes.batch, sizes.sequence, dtype=torch.int64, device="meta")
    scores = activation.new_empty(sizes.batch, sizes.sequence, alphabet)
    return tokens if number == 0 else activation, scores if number == count - 1 else activation


def build(rank: ranks.Rank, options, sizes: model.Sizes, alphabet: int):
    """The modules of this rank, their schedule, and whether the first and the last stage are among them."""
    schedule_class, per_rank, v_shaped = SCHEDULES.get(options.schedule, (None, 1, False))
    count = per_rank * rank.count
    numbers = stage_numbers(rank, per_rank, v_shaped)
    modules = [model.build_stage(number, count, sizes, alphabet, options.seed, rank.device) for number in numbers]
    has_first, has_last = 0 in numbers, count - 1 in numbers
    if schedule_class is None:
        return modules, Plain(modules[0], sizes.microbatches), has_first, has_last
    stage_class = StageOnCpu if rank.device.type == "cpu" else pipelining.PipelineStage
    stages = []
    for module, number in zip(modules, numbers):
        inputs, outputs = shapes(number, count, sizes, alphabet)
        stages.append(stage_class(module, number, count, rank.device, input_args=inputs, output_args=outputs))
    schedule = schedule_class(stages if per_rank > 1 else stages[0], sizes.microbatches, loss_fn=model.loss)
    return modules, schedule, has_first, has_last


def main() -> None:
    options = loop.parse_arguments(__doc__, add_arguments)
    with ranks.start(options) as rank:
        if (options.schedule == "none") != (rank.count == 1):
            raise SystemExit("--schedule none is for one rank, the others are for two and more (--launch N)")
        sizes = model.sizes_of(options)
        text = model.Text(options.text, sizes, options.seed)
        modules, schedule, has_first, has_last = build(rank, options, sizes, len(text.alphabet))
        trainer = loop.Trainer(rank, modules, options)

        def iterate(number: int) -> None:
            trainer.clear_gradients()
            tokens, targets = text.batch(number, rank.device)
            losses: list[torch.Tensor] = []
            inputs = (tokens,) if has_first else ()
            schedule.step(*inputs, target=targets if has_last else None, losses=losses if has_last else None,
                          return_outputs=False)
            trainer.finish(torch.stack([loss.detach().double() for loss in losses]).mean() if has_last else None)

        loop.train(rank, trainer, options, f"pipeline.py {options.schedule}", iterate)


if __name__ == "__main__":
    main()
