#!/usr/bin/env python3
"""Weights and records for the scoring job, and an independent check of its results, with NumPy.

  example.py make FOLDER [RECORDS]     weights.safetensors, tokens.jsonl, and job.toml for weft run --fill @FOLDER/job.toml
  example.py check FOLDER [EVERY]      exit code 1 where a score in FOLDER/scores.npy is not that of the record

The check computes in double precision, from the definition of the layers. Where the scores are not complete yet it checks
those that are there. EVERY: each so manieth one, 10.
"""
import json
import math
import os
import random
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import files
from files import numpy

VOCABULARY, POSITIONS, HIDDEN, HEADS, INNER, LAYERS, CLASSES = 97, 24, 32, 4, 64, 2, 5
JOB = """[[job]]
fill = "score:batch=2"  # short kernels for small bubbles
weights = "weights.safetensors"
input = "tokens.jsonl"
results = "scores.npy"
"""


def shapes():
    yield "embedding.weight", (VOCABULARY, HIDDEN)
    yield "position.weight", (POSITIONS, HIDDEN)
    for layer in range(LAYERS):
        name = f"encoder.layers.{layer}."
        yield name + "self_attn.in_proj_weight", (3 * HIDDEN, HIDDEN)
        yield name + "self_attn.in_proj_bias", (3 * HIDDEN,)
        yield name + "self_attn.out_proj.weight", (HIDDEN, HIDDEN)
        yield name + "self_attn.out_proj.bias", (HIDDEN,)
        yield name + "linear1.weight", (INNER, HIDDEN)
        yield name + "linear1.bias", (INNER,)
        yield name + "linear2.weight", (HIDDEN, INNER)
        yield name + "linear2.bias", (HIDDEN,)
        for norm in ("norm1", "norm2"):
            yield name + norm + ".weight", (HIDDEN,)
            yield name + norm + ".bias", (HIDDEN,)
    yield "head.weight", (CLASSES, HIDDEN)
    yield "head.bias", (CLASSES,)


def make(folder, records):
    os.makedirs(folder, exist_ok=True)
    numbers = random.Random(1)
    weights = {}
    for name, shape in shapes():
        middle = 1.0 if name.endswith(("norm1.weight", "norm2.weight")) else 0.0
        values = [numbers.gauss(middle, 0.2) for _ in range(math.prod(shape))]
        weights[name] = numpy.array(values, "<f4").reshape(shape)
    files.write_safetensors(folder + "/weights.safetensors", weights)
    with open(folder + "/tokens.jsonl", "w") as out:
        for _ in range(records):
            length = numbers.randint(1, POSITIONS)
            out.write(json.dumps([numbers.randrange(VOCABULARY) for _ in range(length)]) + "\n")
    with open(folder + "/job.toml", "w") as out:
        out.write(JOB)


def normalised(x, w, name):
    spread = numpy.sqrt(x.var(axis=1, keepdims=True) + 1e-5)
    return (x - x.mean(axis=1, keepdims=True)) / spread * w[name + ".weight"] + w[name + ".bias"]


def attention(x, w, name):
    projected = x @ w[name + "in_proj_weight"].T + w[name + "in_proj_bias"]
    # A head has its columns in each of query, key and value.
    query, key, value = (part.reshape(len(x), HEADS, -1).swapaxes(0, 1) for part in numpy.split(projected, 3, axis=1))
    scores = query @ key.swapaxes(1, 2) / math.sqrt(query.shape[2])
    powers = numpy.exp(scores - scores.max(axis=2, keepdims=True))
    mixed = powers / powers.sum(axis=2, keepdims=True) @ value
    return mixed.swapaxes(0, 1).reshape(len(x), -1) @ w[name + "out_proj.weight"].T + w[name + "out_proj.bias"]


def score(record, w):
    x = w["embedding.weight"][record] + w["position.weight"][:len(record)]
    for layer in range(LAYERS):
        name = f"encoder.layers.{layer}."
        x = normalised(x + attention(x, w, name + "self_attn."), w, name + "norm1")
        inner = numpy.maximum(x @ w[name + "linear1.weight"].T + w[name + "linear1.bias"], 0)
        x = normalised(x + inner @ w[name + "linear2.weight"].T + w[name + "linear2.bias"], w, name + "norm2")
    return x.mean(axis=0) @ w["head.weight"].T + w["head.bias"]


def check(folder, every):
    weights = {name: array.astype("f8") for name, array in files.read_safetensors(folder + "/weights.safetensors").items()}
    with open(folder + "/tokens.jsonl") as lines:
        records = [json.loads(line) for line in lines]
    scores = files.read_results(folder + "/scores.npy", [("scores", "<f4", (CLASSES,), False)])["scores"]
    if os.path.exists(folder + "/scores.npy") and len(records) != len(scores):
        return f"{len(scores)} results for {len(records)} records"
    if not scores:
        return "there are no results yet"
    farthest, checked = 0.0, sorted(scores)[::every]
    for number in checked:
        wanted = score(records[number], weights)
        apart = abs(wanted - scores[number]).max()
        if not apart < 1e-4:
            return f"record {number} has {scores[number]} and should have {wanted}"
        farthest = max(farthest, apart)
    print(f"{len(scores)} of {len(records)} records have results, {len(checked)} checked, at most {farthest:.1e} apart")
    return None


def main(arguments):
    if len(arguments) in (2, 3) and arguments[0] in ("make", "check"):
        if arguments[0] == "make":
            return make(arguments[1], int(arguments[2]) if len(arguments) == 3 else 20000)
        return check(arguments[1], int(arguments[2]) if len(arguments) == 3 else 10)
    return __doc__


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
