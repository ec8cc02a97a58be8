"""Reads PyTorch's libraries from the disk and makes its first kernels ready, so that the first script's limit is spent on training.

Started by steps.py with the Python that has PyTorch. Prints one JSON object.
"""
import json
import time

started = time.monotonic()
import torch  # noqa: E402
import torch.distributed.pipelining  # noqa: E402, F401

imported = time.monotonic()
queries = torch.randn(2, 4, 256, 64, device="cuda", dtype=torch.bfloat16, requires_grad=True)
product = queries @ queries.transpose(-1, -2)
attended = torch.nn.functional.scaled_dot_product_attention(queries, queries, queries, is_causal=True)
(attended.float().sum() + product.float().sum()).backward()
torch.cuda.nccl.version()
torch.cuda.synchronize()
print(json.dumps({"import_seconds": round(imported - started, 1), "first_kernels_seconds": round(time.monotonic() - imported, 1)}))
