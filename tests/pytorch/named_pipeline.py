#!/usr/bin/env python3
"""examples/pytorch/pipeline.py, which also writes down what each of its messages is.

named_pipeline.py [ARGUMENTS OF pipeline.py]: started by names_test.py and, for each rank, by torchrun. PyTorch's stages
say which microbatch a send or receive is of when they are asked for its operations; a label goes with these until they
are issued. rank<N>.json in the folder NAMED_REPORTS has the exchanges of the last iteration, in their order.
"""
import json
import os
import pathlib
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "examples/pytorch"))

import loop  # noqa: E402
import pipeline  # noqa: E402
import torch.distributed as dist  # noqa: E402
from torch.distributed.pipelining.stage import PipelineStage  # noqa: E402

OPERATIONS = {"get_fwd_recv_ops": ("activation", "receive"), "get_fwd_send_ops": ("activation", "send"),
              "get_bwd_recv_ops": ("gradient", "receive"), "get_bwd_send_ops": ("gradient", "send")}
exchanges: list[list[dict]] = []


def label(name: str, payload: str, way: str) -> None:
    original = getattr(PipelineStage, name)

    def labelled(self, microbatch: int):
        operations = original(self, microbatch)
        for operation in operations:
            operation.label = {"payload": payload, "way": way, "microbatch": microbatch,
                               "chunk": self.stage_index // self.group_size, "peer": operation.peer}
        return operations

    setattr(PipelineStage, name, labelled)


def write_down() -> None:
    issue, clear = dist.batch_isend_irecv, loop.Trainer.clear_gradients

    def issued(operations):
        exchanges.append([getattr(operation, "label", None) for operation in operations])  # none: neighbours connect
        return issue(operations)

    def cleared(self):
        exchanges.clear()
        clear(self)

    dist.batch_isend_irecv, loop.Trainer.clear_gradients = issued, cleared


def main() -> None:
    for name, (payload, way) in OPERATIONS.items():
        label(name, payload, way)
    write_down()
    pipeline.main()
    report = pathlib.Path(os.environ["NAMED_REPORTS"], f"rank{os.environ['RANK']}.json")
    report.write_text(json.dumps({"exchanges": exchanges}), encoding="utf-8")


if __name__ == "__main__":
    main()
