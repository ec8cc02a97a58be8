#!/usr/bin/env python3
"""DeepSpeed's pipeline engine: two stages, two copies of each, and ZeRO-1.

    python3 deepspeed_pipeline.py --launch 4

Started by job_table.py.
"""
import argparse
import pathlib
import sys

import deepspeed
import torch
from deepspeed.pipe import PipelineModule
from deepspeed.runtime.pipe.topology import PipeDataParallelTopology

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "examples/pytorch"))
import layers  # noqa: E402
import ranks  # noqa: E402

STAGES = 2


def settings(options: argparse.Namespace) -> dict:
    return {
        "train_micro_batch_size_per_gpu": layers.SIDE,
        "gradient_accumulation_steps": options.microbatches,
        "zero_optimization": {"stage": 1},
        "zero_allow_untested_optimizer": True,
        "steps_per_print": 1_000_000,
    }


def microbatches(options: argparse.Namespace, copies: int, copy: int):
    """Endless: what the first and the last stage read, (inputs, targets) of one microbatch at a time."""
    iteration = 0
    while True:
        inputs = layers.batch(iteration * copies + copy, options.microbatches, torch.device("cpu"))
        for part in inputs.chunk(options.microbatches):
            yield part, part
        iteration += 1


def never_skip_a_step(optimizer) -> None:
    """DeepSpeed leaves out the step of a rank, and its all-gather, where the norm of the gradients is not finite. Kernels
    without an effect make that norm: the ranks of a pair would decide by chance, and one would wait for the other for
    ever. The norm is computed, reduced and waited for as always; the decision is made by a number that is one."""
    computed = optimizer.scaled_global_norm

    def finite_norm(*arguments, **named) -> torch.Tensor:
        computed(*arguments, **named).item()
        return torch.ones(())

    optimizer.scaled_global_norm = finite_norm


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for add in (layers.add_arguments, ranks.add_arguments):
        add(parser)
    options = parser.parse_args()
    with ranks.start(options) as rank:
        copies = rank.count // STAGES
        deepspeed.init_distributed(dist_backend="nccl", verbose=False)
        topology = PipeDataParallelTopology(num_pp=STAGES, num_dp=copies)
        found: list[torch.Tensor] = []

        def loss(output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
            """Kept here: DeepSpeed's own mean over all copies is made by kernels without an effect."""
            result = layers.loss(output, target)
            found.append(result.detach())
            return result

        model = PipelineModule([layers.Layer(number, options.kernels, rank.device) for number in
                                range(STAGES * options.layers)], topology=topology, loss_fn=loss,
                               partition_method="uniform")
        optimizer = torch.optim.SGD(model.parameters(), lr=layers.LEARNING_RATE, foreach=False)
        engine, *_ = deepspeed.initialize(model=model, optimizer=optimizer, config=settings(options))
        never_skip_a_step(engine.optimizer)
        data = microbatches(options, copies, engine.grid.get_data_parallel_id())
        for _ in range(options.iterations):
            engine.train_batch(data)
        torch.cuda.synchronize()
        layers.write_report(options.report, rank.number, found)
        rank.say(f"done after {options.iterations} iterations")


if __name__ == "__main__":
    main()
