#!/usr/bin/env python3
"""A model, drafts and prompts for the decoding job, and an independent check of the texts, with NumPy.

  example.py make FOLDER [PROMPTS]           trains a model and two drafts with the trainer of examples/trainer, and writes
                                             weights.safetensors, prompts.jsonl, job.toml for weft run --fill @FOLDER/job.toml
  example.py check FOLDER [EVERY]            exit code 1 where a text in FOLDER/texts.safetensors is not that of greedy decoding
  example.py join MODEL DRAFT... OUT         one file of weights of a model and its drafts
  example.py tokens WEIGHTS < TEXT           each line as a record of tokens, for a model of the trainer
  example.py text WEIGHTS TEXTS [PROMPTS]    the texts that are there

TRAINER in the environment is the command that starts the trainer; without it: scripts/on-simulated-gpu, on simulated GPUs.
The check computes in double precision. A token counts as right where no other one is more than a thousandth likelier: the
job computes in single precision, and its order of two such tokens may be another one.
"""
import json
import os
import shlex
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
sys.path.insert(0, HERE)
import gpt
from gpt import files, numpy

TOKENS = 32  # that are found for a prompt
TEXT = ROOT + "/LICENSE"
TRAINER = f"{ROOT}/scripts/on-simulated-gpu {ROOT}/build/release/bin/trainer"
MODELS = {  # name: ranks, iterations and sizes
    "model": (2, 150, "--layers 2 --hidden 64 --microbatches 4"),
    "draft0": (1, 400, "--layers 1 --hidden 32 --microbatches 2"),
    "draft1": (1, 400, "--layers 1 --hidden 16 --microbatches 2 --seed 2"),
}
JOB = f"""[[job]]
fill = "generate:batch=1,tokens={TOKENS}"
weights = "weights.safetensors"
input = "prompts.jsonl"
results = "texts.safetensors"
"""


def join(paths, out):
    """The tensors of the first as they are, those of the others behind `draft.N.`"""
    tensors = files.read_safetensors(paths[0])
    for number, path in enumerate(paths[1:]):
        for name, array in files.read_safetensors(path).items():
            tensors[f"draft.{number}.{name}"] = array
    files.write_safetensors(out, tensors, gpt.metadata(paths[0]))


def train(folder):
    # Nothing is measured here: a simulated GPU that is as fast as the host.
    environment = {"SIMGPU_FLOPS": "1e13", "SIMGPU_BANDWIDTH": "1e13", **os.environ}
    command = shlex.split(os.environ.get("TRAINER", TRAINER))
    paths = []
    for name, (ranks, iterations, sizes) in MODELS.items():
        paths.append(f"{folder}/{name}.safetensors")
        run = [*command, "--launch", str(ranks), "--iterations", str(iterations), *sizes.split(), "--sequence", "64",
               "--text", TEXT, "--save", paths[-1]]
        subprocess.run(run, env=environment, stdout=subprocess.DEVNULL, check=True)
    return paths


def characters(weights):
    return bytes.fromhex(gpt.metadata(weights)["characters"])


def make(folder, prompts):
    os.makedirs(folder, exist_ok=True)
    join(train(folder), folder + "/weights.safetensors")
    known = characters(folder + "/weights.safetensors")
    with open(TEXT, "rb") as file:
        text = file.read()
    with open(folder + "/prompts.jsonl", "w") as out:
        for number in range(prompts):
            begin, length = number * 7919 % (len(text) - 32), 1 + number * 31 % 24
            out.write(json.dumps([known.index(c) for c in text[begin:begin + length]]) + "\n")
    with open(folder + "/job.toml", "w") as out:
        out.write(JOB)


def read_lines(path):
    with open(path) as lines:
        return [json.loads(line) for line in lines]


def texts_of(path):
    outputs = [("tokens", "<i4", None, True), ("passes", "<i4", (), False)]
    return files.read_results(path, outputs)


def fault_of(model, prompt, found, most):
    """Greedy decoding of the prompt, with the text that was found as a guess of all of it."""
    if len(found) != (min(most, model.positions - len(prompt)) if prompt else 0):
        return f"it has {len(found)} tokens"
    # Of its last token nothing is asked, and the model may have no position for it.
    logits = model.logits(numpy.array([*prompt, *found])[:-1])
    for place, token in enumerate(found, len(prompt) - 1):
        if logits[place][token] < logits[place].max() - 1e-3:
            return f"token {place + 1 - len(prompt)} is {token} and should be {logits[place].argmax()}"
    return None


def check(folder, every):
    weights = folder + "/weights.safetensors"
    model = gpt.Gpt(files.read_safetensors(weights), int(gpt.metadata(weights)["heads"]))
    prompts, results = read_lines(folder + "/prompts.jsonl"), texts_of(folder + "/texts.safetensors")
    texts, passes = results["tokens"], results["passes"]
    if os.path.exists(folder + "/texts.safetensors") and len(texts) != len(prompts):
        return f"{len(texts)} texts for {len(prompts)} prompts"
    if not texts:
        return "there are no texts yet"
    checked = sorted(texts)[::every]
    for number in checked:
        fault = fault_of(model, prompts[number], texts[number], TOKENS)
        if fault is not None:
            return f"the text of prompt {number} is not that of greedy decoding: {fault}"
    per_pass = sum(map(len, texts.values())) / sum(map(int, passes.values()))
    print(f"{len(texts)} of {len(prompts)} prompts have texts, {len(checked)} checked, {per_pass:.2f} tokens per pass")
    return None


def show(weights, path, prompts):
    known = characters(weights)
    begins = read_lines(prompts) if prompts else None
    for number, tokens in sorted(texts_of(path)["tokens"].items()):
        text = bytes(known[token] for token in [*(begins[number] if begins else []), *tokens])
        print(f"{number}: {text.decode(errors='replace')!r}")


def main(arguments):
    verb, rest = (arguments[0], arguments[1:]) if arguments else ("", [])
    if verb == "make" and len(rest) in (1, 2):
        return make(rest[0], int(rest[1]) if len(rest) == 2 else 2000)
    if verb == "check" and len(rest) in (1, 2):
        return check(rest[0], int(rest[1]) if len(rest) == 2 else 1)
    if verb == "join" and len(rest) >= 2:
        return join(rest[:-1], rest[-1])
    if verb == "tokens" and len(rest) == 1:
        known = characters(rest[0])
        for line in sys.stdin.buffer:
            print(json.dumps([known.index(c) for c in line.rstrip(b"\n") if c in known]))
        return None
    if verb == "text" and len(rest) in (2, 3):
        return show(rest[0], rest[1], rest[2] if len(rest) == 3 else None)
    return __doc__


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
