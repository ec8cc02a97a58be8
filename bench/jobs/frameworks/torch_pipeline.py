#!/usr/bin/env python3
"""torch.distributed.pipelining next to data parallelism: fully sharded (FSDP2), or reductions that overlap (DDP).

    python3 torch_pipeline.py --launch 4 --data-parallel fsdp --schedule interleaved

Started by job_table.py. Two pipeline stages, and the other ranks are copies of them: rank = copies * stage + copy, as
torchtitan lays them out.
"""
import argparse
import pathlib
import sys

import torch
from torch import nn
from torch.distributed import pipelining
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "examples/pytorch"))
import layers  # noqa: E402
import pipeline  # noqa: E402
import ranks  # noqa: E402

STAGES = 2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--schedule", choices=pipeline.SCHEDULES, default="1f1b")
    parser.add_argument("--offload", action="store_true", help="the input of each layer waits on the host for the backward pass")
    parser.add_argument("--counts", type=lambda text: [int(part) for part in text.split(",")], metavar="N,...",
                        help="of microbatches, in turn, in place of --microbatches")
    parser.add_argument("--data-parallel", choices=("fsdp", "ddp"), default="fsdp")


def parallel(module: nn.Sequential, kind: str, mesh: DeviceMesh) -> nn.Module:
    if kind == "ddp":
        return DistributedDataParallel(module, process_group=mesh.get_group(), bucket_cap_mb=0.5, init_sync=False,
                                       broadcast_buffers=False, gradient_as_bucket_view=True)
    for layer in module:
        fully_shard(layer, mesh=mesh, reshard_after_forward=False)
    return fully_shard(module, mesh=mesh, reshard_after_forward=False)


def build(rank: ranks.Rank, options: argparse.Namespace):
    """The modules of this rank, their schedules in turn, and whether the first and the last stage are among them."""
    schedule_class, per_rank, v_shaped = pipeline.SCHEDULES[options.schedule]
    mesh = init_device_mesh("cuda", (STAGES, rank.count // STAGES), mesh_dim_names=("pp", "dp"))
    place = ranks.Rank(mesh["pp"].get_local_rank(), STAGES, rank.device)
    numbers, count = pipeline.stage_numbers(place, per_rank, v_shaped), per_rank * STAGES
    offload = layers.Offload(rank.device) if options.offload else None
    modules = [parallel(layers.stage(number, options, rank.device, offload), options.data_parallel, mesh["dp"])
               for number in numbers]
    example = torch.empty(layers.SIDE, layers.SIDE, device="meta")

    def scheduled(microbatches: int):
        """A schedule has one number of microbatches, and stages of its own around the modules."""
        stages = [pipelining.PipelineStage(module, number, count, rank.device, input_args=example, output_args=example,
                                           group=mesh["pp"].get_group()) for module, number in zip(modules, numbers)]
        return schedule_class(stages if per_rank > 1 else stages[0], microbatches, loss_fn=layers.loss)
    turns = [(microbatches, scheduled(microbatches)) for microbatches in options.counts or [options.microbatches]]
    return modules, turns, 0 in numbers, count - 1 in numbers


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for add in (add_arguments, layers.add_arguments, ranks.add_arguments):
        add(parser)
    options = parser.parse_args()
    with ranks.start(options) as rank:
        modules, turns, has_first, has_last = build(rank, options)
        layers.train(rank, options, layers.Pipeline(turns, modules, has_first, has_last), rank.count // STAGES)


if __name__ == "__main__":
    main()
