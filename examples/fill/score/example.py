#!/usr/bin/env python3
"""Weights and records for the scoring job, and an independent check of its results. Nothing but Python's own library.

  example.py make FOLDER [RECORDS]                       weights.safetensors and tokens.jsonl
  example.py check WEIGHTS TOKENS SCORES [--every N]     exit code 1 where a score is not that of the record

The check computes in double precision, from the definition of the layers. Where SCORES is not complete yet it checks the
results that are there.
"""
import array
import json
import math
import os
import random
import struct
import sys

VOCABULARY, POSITIONS, HIDDEN, HEADS, INNER, LAYERS, CLASSES = 97, 24, 32, 4, 64, 2, 5


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
    numbers = random.Random(1)
    header, data = {}, array.array("f")
    for name, shape in shapes():
        begin = 4 * len(data)
        middle = 1.0 if name.endswith(("norm1.weight", "norm2.weight")) else 0.0
        data.extend(numbers.gauss(middle, 0.2) for _ in range(math.prod(shape)))
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [begin, 4 * len(data)]}
    text = json.dumps(header)
    text += " " * (-len(text) % 8)
    with open(folder + "/weights.safetensors", "wb") as out:
        out.write(struct.pack("<Q", len(text)) + text.encode())
        data.tofile(out)
    with open(folder + "/tokens.jsonl", "w") as out:
        for _ in range(records):
            length = numbers.randint(1, POSITIONS)
            out.write(json.dumps([numbers.randrange(VOCABULARY) for _ in range(length)]) + "\n")


def read_safetensors(path):
    with open(path, "rb") as file:
        content = file.read()
    size = struct.unpack("<Q", content[:8])[0]
    tensors = {}
    for name, entry in json.loads(content[8:8 + size]).items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        flat = array.array("f", content[8 + size + begin:8 + size + end]).tolist()
        width = entry["shape"][-1] if len(entry["shape"]) == 2 else len(flat)
        rows = [flat[i:i + width] for i in range(0, len(flat), width)]
        tensors[name] = rows if len(entry["shape"]) == 2 else flat
    return tensors


def read_npy(path):
    with open(path, "rb") as file:
        content = file.read()
    size = struct.unpack("<H", content[8:10])[0]
    header = eval(content[10:10 + size].decode(), {})  # a literal that Weft wrote
    assert header["descr"] == "<f4" and not header["fortran_order"], header
    flat = array.array("f", content[10 + size:]).tolist()
    width = header["shape"][1]
    return [flat[i:i + width] for i in range(0, len(flat), width)]


def read_shards(folder, width):
    """The results so far: a byte for each record, 1 when it has a result, and then the results."""
    plan, scores = json.load(open(folder + "/plan.json")), {}
    for place in ("todo", "running", "done"):
        for name in os.listdir(f"{folder}/{place}"):
            content, number = open(f"{folder}/{place}/{name}", "rb").read(), int(name.split(".")[0])
            count = min(plan["shard"], plan["records"] - number * plan["shard"])
            begin = (count + 7) // 8 * 8
            values = array.array("f", content[begin:begin + 4 * width * count]).tolist()
            for record in range(count):
                if content and content[record] == 1:
                    scores[number * plan["shard"] + record] = values[record * width:(record + 1) * width]
    return scores


def linear(x, weight, bias):
    return [b + math.fsum(a * w for a, w in zip(x, row)) for row, b in zip(weight, bias)]


def normalised(x, gain, bias):
    mean = math.fsum(x) / len(x)
    scale = 1 / math.sqrt(math.fsum((v - mean) ** 2 for v in x) / len(x) + 1e-5)
    return [(v - mean) * scale * g + b for v, g, b in zip(x, gain, bias)]


def attention(tokens, weights, name):
    projected = [linear(x, weights[name + "in_proj_weight"], weights[name + "in_proj_bias"]) for x in tokens]
    hidden, width, out = len(tokens[0]), len(tokens[0]) // HEADS, []
    for query in projected:
        mixed = []
        for head in range(0, hidden, width):
            q = query[head:head + width]
            scores = [math.fsum(a * b for a, b in zip(q, key[hidden + head:])) / math.sqrt(width) for key in projected]
            powers = [math.exp(score - max(scores)) for score in scores]
            total = math.fsum(powers)
            for column in range(2 * hidden + head, 2 * hidden + head + width):
                mixed.append(math.fsum(p / total * value[column] for p, value in zip(powers, projected)))
        out.append(linear(mixed, weights[name + "out_proj.weight"], weights[name + "out_proj.bias"]))
    return out


def score(record, w):
    x = [[a + b for a, b in zip(w["embedding.weight"][token], w["position.weight"][place])]
         for place, token in enumerate(record)]
    for layer in range(sum(name.endswith("linear1.weight") for name in w)):
        name = f"encoder.layers.{layer}."
        added = attention(x, w, name + "self_attn.")
        x = [normalised([a + b for a, b in zip(*pair)], w[name + "norm1.weight"], w[name + "norm1.bias"])
             for pair in zip(x, added)]
        inner = [[max(v, 0) for v in linear(row, w[name + "linear1.weight"], w[name + "linear1.bias"])] for row in x]
        added = [linear(row, w[name + "linear2.weight"], w[name + "linear2.bias"]) for row in inner]
        x = [normalised([a + b for a, b in zip(*pair)], w[name + "norm2.weight"], w[name + "norm2.bias"])
             for pair in zip(x, added)]
    pooled = [math.fsum(column) / len(x) for column in zip(*x)]
    return linear(pooled, w["head.weight"], w["head.bias"])


def check(weights_path, tokens_path, scores_path, every):
    weights, records = read_safetensors(weights_path), [json.loads(line) for line in open(tokens_path)]
    if os.path.exists(scores_path):
        scores = dict(enumerate(read_npy(scores_path)))
    else:
        scores = read_shards(scores_path + ".weft", len(weights["head.bias"]))
    if os.path.exists(scores_path) and len(records) != len(scores):
        return f"{len(scores)} results for {len(records)} records"
    farthest = 0.0
    checked = sorted(scores)[::every]
    for number in checked:
        wanted = score(records[number], weights)
        apart = max(abs(a - b) for a, b in zip(wanted, scores[number]))
        if not apart < 1e-4:
            return f"record {number} has {scores[number]} and should have {wanted}"
        farthest = max(farthest, apart)
    print(f"{len(scores)} of {len(records)} records have results, {len(checked)} checked, at most {farthest:.1e} apart")
    return None


def main(arguments):
    if len(arguments) in (2, 3) and arguments[0] == "make":
        return make(arguments[1], int(arguments[2]) if len(arguments) == 3 else 1000)
    if len(arguments) == 4 or (len(arguments) == 6 and arguments[4] == "--every"):
        return check(*arguments[1:4], int(arguments[5]) if len(arguments) == 6 else 1)
    return __doc__


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
