#!/usr/bin/env python3
"""torchtitan's pipeline and its FSDP2, which it builds from a model and a configuration, around layers of plain kernels.

    python3 torchtitan_pipeline.py --launch 4 --schedule Interleaved1F1B

Started by job_table.py. Two pipeline ranks, and two copies of each. Unlike torch_pipeline.py, the stages tell each other
the shapes of their messages before the first iteration.
"""
import argparse
import pathlib
import sys

import torch
from torch import nn
from torch.distributed.pipelining.schedules import get_schedule_class, PipelineScheduleSingle
from torchtitan.config import JobConfig
from torchtitan.distributed import ParallelDims
from torchtitan.distributed.pipeline_parallel import pipeline_llm
from torchtitan.models.llama3.infra.parallelize import parallelize_llama
from torchtitan.models.llama3.model.args import TransformerModelArgs

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "examples/pytorch"))
import layers  # noqa: E402
import ranks  # noqa: E402

STAGES = 2


class Model(nn.Module):
    """Has the names that torchtitan goes by, and only layers behind them."""

    def __init__(self, count: int, options: argparse.Namespace, device: torch.device):
        super().__init__()
        self.model_args = TransformerModelArgs(n_layers=count)
        self.tok_embeddings = self.norm = self.output = None
        self.layers = nn.ModuleDict({str(number): layers.Layer(number, options.kernels, device) for number in range(count)})

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers.values():
            x = layer(x)
        return x


def configuration(options: argparse.Namespace, stages: int) -> JobConfig:
    config = JobConfig()
    config.training.mixed_precision_param = config.training.mixed_precision_reduce = "float32"
    config.training.local_batch_size = options.microbatches * layers.SIDE
    config.training.seq_len = layers.SIDE
    config.activation_checkpoint.mode = "none"
    config.parallelism.pipeline_parallel_degree = STAGES
    config.parallelism.pipeline_parallel_schedule = options.schedule
    config.parallelism.pipeline_parallel_microbatch_size = layers.SIDE
    config.parallelism.module_fqns_per_model_part = [
        [f"layers.{number}" for number in range(stage * options.layers, (stage + 1) * options.layers)]
        for stage in range(stages)]
    return config


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--schedule", default="1F1B", help="as torch.distributed.pipelining calls it")
    for add in (layers.add_arguments, ranks.add_arguments):
        add(parser)
    options = parser.parse_args()
    with ranks.start(options) as rank:
        copies = rank.count // STAGES
        stages = STAGES * (1 if issubclass(get_schedule_class(options.schedule), PipelineScheduleSingle) else 2)
        places = ParallelDims(dp_replicate=1, dp_shard=copies, cp=1, tp=1, pp=STAGES, ep=1, etp=1, world_size=rank.count)
        places.build_mesh()
        model = Model(stages * options.layers, options, rank.device)
        schedule, parts, has_first, has_last = pipeline_llm(
            model, places, configuration(options, stages), rank.device, model.model_args, parallelize_llama, layers.loss)
        layers.train(rank, options, layers.Pipeline([(options.microbatches, schedule)], parts, has_first, has_last), copies)


if __name__ == "__main__":
    main()
