#!/usr/bin/env python3
"""Megatron-core's pipeline schedules, with its own communication, between layers of plain kernels.

    python3 megatron_pipeline.py --launch 4 --chunks 2          # interleaved, with overlapped sends and receives

Started by job_table.py. Without --chunks the schedule is 1F1B with one batch of operations at a time and a synchronise
after it, Megatron's default. A sum over all ranks stands for the norm of the gradients at the end of an iteration.
"""
import argparse
import pathlib
import sys

import torch
import torch.distributed as dist
from megatron.core import parallel_state, tensor_parallel
from megatron.core.enums import ModelType
from megatron.core.pipeline_parallel import get_forward_backward_func
from megatron.core.transformer import TransformerConfig

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "examples/pytorch"))
import layers  # noqa: E402
import ranks  # noqa: E402

LENGTHS = (layers.SIDE // 2, layers.SIDE, 3 * layers.SIDE // 4)  # of sequences, in turn


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--tensor-parallel", type=int, default=1, metavar="N")
    parser.add_argument("--chunks", type=int, metavar="N", help="of the model, on each rank: the interleaved schedule")
    parser.add_argument("--variable-lengths", action="store_true", help="another sequence length for each microbatch")


def configuration(rank: ranks.Rank, options: argparse.Namespace) -> TransformerConfig:
    stages, chunks = rank.count // options.tensor_parallel, options.chunks
    parallel_state.initialize_model_parallel(options.tensor_parallel, stages, chunks, create_gloo_process_groups=False)
    return TransformerConfig(
        num_layers=stages * (chunks or 1), hidden_size=layers.SIDE, num_attention_heads=options.tensor_parallel,
        pipeline_dtype=torch.float32, moe_token_dispatcher_type="alltoall",  # the only one with variable lengths
        tensor_model_parallel_size=options.tensor_parallel, pipeline_model_parallel_size=stages,
        virtual_pipeline_model_parallel_size=chunks, variable_seq_lengths=options.variable_lengths,
        overlap_p2p_comm=chunks is not None, batch_p2p_comm=chunks is None)


class Part(torch.nn.Module):
    """A stage, or one of its chunks, as Megatron's schedules want a model. Messages are (sequence, 1, hidden)."""

    def __init__(self, config: TransformerConfig, number: int, chunk: int | None, options, device: torch.device):
        super().__init__()
        self.config, self.model_type, self.vp_stage = config, ModelType.encoder_or_decoder, chunk
        self._is_first = number == 0
        self._parallel = options.tensor_parallel
        self.layers = layers.stage(number, options, device)
        self._received = None

    def set_input_tensor(self, tensors: list) -> None:
        self._received = tensors[0]

    def forward(self, x: torch.Tensor | None) -> torch.Tensor:
        x = x if self._is_first else self._received.squeeze(1)
        for layer in self.layers:
            if self._parallel > 1:
                x = tensor_parallel.copy_to_tensor_model_parallel_region(x)
            x = layer(x)
            if self._parallel > 1:  # the ranks hold the same layer, so that the sum is their number times too large
                x = tensor_parallel.reduce_from_tensor_model_parallel_region(x) * (1 / self._parallel)
        return x.unsqueeze(1)


def parts_of(config: TransformerConfig, options, device: torch.device) -> list[Part]:
    stage, stages = parallel_state.get_pipeline_model_parallel_rank(), config.pipeline_model_parallel_size
    if options.chunks is None:
        return [Part(config, stage, None, options, device)]
    return [Part(config, chunk * stages + stage, chunk, options, device) for chunk in range(options.chunks)]


def microbatches(iteration: int, options, device: torch.device):
    for number, part in enumerate(layers.batch(iteration, options.microbatches, device).chunk(options.microbatches)):
        yield part[:LENGTHS[number % len(LENGTHS)]] if options.variable_lengths else part


def forward_step(data, model: Part):
    """As Megatron's schedules want it: the output, and a function that makes it a loss and something to keep."""
    def loss(output: torch.Tensor):
        result = layers.loss(output)
        return result, result.detach().clone()
    return model(next(data) if model._is_first else None), loss


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for add in (add_arguments, layers.add_arguments, ranks.add_arguments):
        add(parser)
    options = parser.parse_args()
    with ranks.start(options) as rank:
        config = configuration(rank, options)
        parts = parts_of(config, options, rank.device)
        weights = [weight for part in parts for weight in part.parameters()]
        optimizer = torch.optim.SGD(weights, lr=layers.LEARNING_RATE, foreach=False)
        run_schedule = get_forward_backward_func()
        end = torch.ones(1, device=rank.device)
        found: list[torch.Tensor] = []
        for iteration in range(options.iterations):
            optimizer.zero_grad()
            data = [microbatches(iteration, options, rank.device) for _ in parts]
            found += run_schedule(forward_step_func=forward_step, data_iterator=data, model=parts, seq_length=layers.SIDE,
                                  num_microbatches=options.microbatches, micro_batch_size=1)
            dist.all_reduce(end)
            optimizer.step()
        torch.cuda.synchronize()
        layers.write_report(options.report, rank.number, found)
        rank.say(f"done after {options.iterations} iterations")


if __name__ == "__main__":
    main()
