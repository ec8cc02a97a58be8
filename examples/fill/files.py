"""Files of the example fill jobs, for their example.py: weights, arrays, and results as far as they are there."""
import json
import os
import re
import struct
import sys

DEBIAN = "/usr/bin/python3"
try:
    import numpy
except ImportError:
    # Debian's NumPy is for Debian's Python, which need not be the first one on PATH.
    if sys.executable != DEBIAN and os.path.exists(DEBIAN):
        os.execv(DEBIAN, [DEBIAN, *sys.argv])
    sys.exit(f"{sys.argv[0]}: NumPy is missing; on Debian: apt-get install python3-numpy")

TYPES = {"F32": "<f4", "I32": "<i4", "I64": "<i8", "U8": "|u1"}


def write_safetensors(path, tensors, metadata=None):
    """`tensors`: arrays by name. `metadata`: texts by name."""
    header, offset = {"__metadata__": metadata} if metadata else {}, 0
    for name, array in tensors.items():
        kind = next(kind for kind, dtype in TYPES.items() if numpy.dtype(dtype) == array.dtype)
        header[name] = {"dtype": kind, "shape": array.shape, "data_offsets": [offset, offset + array.nbytes]}
        offset += array.nbytes
    text = json.dumps(header)
    text += " " * (-len(text) % 8)
    with open(path, "wb") as out:
        out.write(struct.pack("<Q", len(text)) + text.encode())
        for array in tensors.values():
            out.write(numpy.ascontiguousarray(array).tobytes())


def parse_safetensors(content):
    size = struct.unpack("<Q", content[:8])[0]
    tensors = {}
    for name, entry in json.loads(content[8:8 + size]).items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            tensors[name] = numpy.frombuffer(content[8 + size + begin:8 + size + end],
                                             TYPES[entry["dtype"]]).reshape(entry["shape"])
    return tensors


def read_safetensors(path):
    with open(path, "rb") as file:
        return parse_safetensors(file.read())


def read_results(path, outputs):
    """The results that are there by now: for each output a dictionary from the number of a record to its array.

    `outputs`: (name, dtype, shape of a record, whether it is of variable length), as the job declares them; where the
    shape is None it is that of the results. `path` ends in .npy or .safetensors."""
    found = {name: {} for name, *_ in outputs}
    if os.path.exists(path):
        arrays = {outputs[0][0]: numpy.load(path)} if path.endswith(".npy") else read_safetensors(path)
        for name, *_ in outputs:
            lengths = arrays.get(name + ".lengths")
            found[name] = {k: row if lengths is None else row[:lengths[k]] for k, row in enumerate(arrays[name])}
        return found
    if not os.path.exists(path + ".weft/plan.json"):
        return found  # no feeder has begun
    with open(path + ".weft/plan.json") as file:
        plan = json.load(file)
    # As in "tokens int32 [up to 32]".
    shapes = [re.findall(r"\d+", text[text.index("["):]) for text in plan["outputs"]]
    outputs = [(name, dtype, tuple(map(int, planned)) if shape is None else shape, variable)
               for (name, dtype, shape, variable), planned in zip(outputs, shapes)]
    for place in ("todo", "running", "done"):
        for name in os.listdir(f"{path}.weft/{place}"):
            number = name.split(".")[0]
            if not number.isdigit():
                continue
            try:
                with open(f"{path}.weft/{place}/{name}", "rb") as file:
                    read_shard(file.read(), plan, int(number), outputs, found)
            except FileNotFoundError:
                pass  # a feeder has moved it meanwhile: it counts next time
    return found


def read_shard(content, plan, number, outputs, found):
    """A byte for each record, 1 when it has results; then for each output its lengths, if it has any, and its values."""
    count = min(plan["shard"], plan["records"] - number * plan["shard"])
    offset = -(-count // 8) * 8

    def take(dtype, shape):
        nonlocal offset
        array = numpy.frombuffer(content, dtype, count * int(numpy.prod(shape)), offset).reshape((count, *shape))
        offset += -(-array.nbytes // 8) * 8
        return array

    for name, dtype, shape, variable in outputs if content else ():
        lengths = take("<u4", ()) if variable else None
        values = take(dtype, shape)
        for record in range(count):
            if content[record] == 1:
                row = values[record]
                found[name][number * plan["shard"] + record] = row if lengths is None else row[:lengths[record]]
