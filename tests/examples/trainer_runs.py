#!/usr/bin/env python3
"""Runs of the trainer on simulated GPUs: --precision bf16 learns as float32 does, --save saves what was trained, and peers
that sleep keep the schedule.

    trainer_runs.py ROOT BUILD arguments|precision|size|save|sleep [SCHEDULE WAIT STAGE]

Called by CTest. Exit code 0 when everything holds; a failed expectation ends it with a traceback. No bound on times: other
tests share the machine. Each run has a time limit; the trainer ends its ranks with itself.
"""
import json
import os
import subprocess
import sys
import tempfile

RANKS = 4
# Few blocks do the small model's products on tensor cores, and a simulated GPU is slow: a faster one, for both precisions.
FAST = {"SIMGPU_FLOPS": "2e11", "SIMGPU_BANDWIDTH": "1e12"}


def train(root, build, arguments, environment=None):
    """The reports of all ranks."""
    with tempfile.TemporaryDirectory() as directory:
        command = [os.path.join(root, "scripts", "on-simulated-gpu"), "--build", build, os.path.join(build, "bin", "trainer"),
                   "--launch", str(RANKS), "--text", os.path.join(root, "LICENSE"), "--report", directory, *arguments]
        subprocess.run(command, env={**os.environ, **(environment or {})}, check=True, timeout=150, stdout=subprocess.DEVNULL)
        reports = []
        for rank in range(RANKS):
            with open(os.path.join(directory, f"rank{rank}.json")) as file:
                reports.append(json.load(file))
        return reports


def check_arguments(root, build):
    """Each mistake is one readable line, and exit code 2."""
    trainer = [os.path.join(root, "scripts", "on-simulated-gpu"), "--build", build, os.path.join(build, "bin", "trainer"), "--launch", "2"]
    for arguments, expected in [
            (["--iterations", "x"], "trainer: --iterations: 'x' is not a whole number above 0 (see trainer --help)"),
            (["--iterations", "1.5"], "trainer: --iterations: '1.5' is not a whole number above 0 (see trainer --help)"),
            (["--iterations", "0"], "trainer: --iterations: '0' is not a whole number above 0 (see trainer --help)"),
            (["--learning-rate", "nan"], "trainer: --learning-rate: 'nan' is not a number above 0 (see trainer --help)"),
            (["--schedule", "foo"], "trainer: --schedule: 'foo' is none of 1f1b, gpipe, interleaved (see trainer --help)"),
            (["--size", "huge"], "trainer: --size: 'huge' is none of real, small (see trainer --help)"),
            (["--hidden", "30", "--heads", "4"], "trainer: --hidden must be a multiple of --heads (see trainer --help)")]:
        result = subprocess.run([*trainer, *arguments], capture_output=True, text=True, timeout=60)
        assert result.returncode == 2 and result.stdout == "", result
        assert result.stderr == expected + "\n", result.stderr
    help_text = subprocess.run([*trainer, "--help"], capture_output=True, text=True, timeout=60)
    assert help_text.returncode == 0 and "--schedule" in help_text.stdout and len(max(help_text.stdout.split())) < 80, help_text


def check_precision(root, build):
    arguments = ["--iterations", "8", "--microbatches", "4"]
    exact = train(root, build, arguments, FAST)[0]["losses"]
    rounded = [train(root, build, [*arguments, "--precision", "bf16"], FAST)[0]["losses"] for _ in range(2)]
    print("float32", exact, "bf16", rounded[0])
    assert rounded[0] == rounded[1], "two runs with bf16 differ"
    assert rounded[0] != exact, "bf16 rounds nothing"
    assert rounded[0][-1] < 0.8 * rounded[0][0], "bf16 does not learn"
    assert all(abs(a - b) < 0.02 * b for a, b in zip(rounded[0], exact)), "bf16 is far from float32"


def check_size(root, build):
    """--size real sets only what is not said otherwise; here everything that would be too large is said."""
    small = ["--iterations", "3", "--microbatches", "4", "--hidden", "32", "--heads", "2", "--sequence", "16", "--batch", "2", "--layers", "1"]
    preset = train(root, build, ["--size", "real", *small], FAST)[0]["losses"]
    explicit = train(root, build, ["--precision", "bf16", "--learning-rate", "1e-4", *small], FAST)[0]["losses"]
    default = train(root, build, small, FAST)[0]["losses"]
    print("preset", preset, "explicit", explicit, "default", default)
    assert preset == explicit, "--size real is not bf16 with a small learning rate"
    assert preset != default


def check_save(root, build):
    """The saved weights are those that were trained, by the names of GPT-2, however the model was spread over ranks; and
    the decoding job takes them."""
    sys.path.insert(0, os.path.join(root, "examples", "fill", "generate"))
    import gpt
    with tempfile.TemporaryDirectory() as folder, open(os.path.join(root, "LICENSE"), "rb") as text:
        characters, models = text.read(), []
        for number, arguments in enumerate([["--schedule", "interleaved"], ["--schedule", "gpipe", "--seed", "2"]]):
            models.append(os.path.join(folder, f"model{number}.safetensors"))
            size = ["--iterations", "12", "--microbatches", "4", "--hidden", "32"]
            losses = train(root, build, [*size, *arguments, "--save", models[-1]], FAST)[0]["losses"]
            told = gpt.metadata(models[-1])
            model, known = gpt.Gpt(gpt.files.read_safetensors(models[-1]), int(told["heads"])), bytes.fromhex(told["characters"])
            assert model.layers == (8 if number == 0 else 4) and model.positions == 32, model.layers
            windows = [[known.index(c) for c in characters[begin:begin + 33]] for begin in range(0, 8000, 100)]
            loss = sum(model.loss(gpt.numpy.array(window)) for window in windows) / len(windows)
            print("losses", losses[0], losses[-1], "by the saved weights", loss)
            assert losses[-1] < 0.8 * losses[0] and abs(loss - losses[-1]) < 0.1 * losses[-1], (loss, losses)
        assert sorted(os.listdir(folder)) == ["model0.safetensors", "model1.safetensors"], os.listdir(folder)
        try:
            train(root, build, ["--iterations", "1000000", "--save", os.path.join(folder, "none", "model.safetensors")], FAST)
            raise AssertionError("a file that cannot be written is noticed before the training")
        except subprocess.CalledProcessError:
            pass
        example = [os.path.join(root, "examples", "fill", "generate", "example.py")]
        weights, prompts = os.path.join(folder, "weights.safetensors"), os.path.join(folder, "prompts.jsonl")
        subprocess.run([*example, "join", *models, weights], check=True, timeout=60)
        with open(prompts, "w") as out:
            subprocess.run([*example, "tokens", weights], input=b"Licensed under\nLicense\n", stdout=out, check=True, timeout=60)
        tried = subprocess.run([os.path.join(root, "scripts", "on-simulated-gpu"), "--build", build, os.path.join(build, "bin", "weft"),
                                "try", "generate:tokens=8,batch=1", "--json", "--units", "2", "--weights", weights, "--input", prompts],
                               env={**os.environ, **FAST}, stdout=subprocess.PIPE, text=True, timeout=100)
        report = json.loads(tried.stdout)
        assert report["sound"] and report["units_right"] == 2 and report["passes"] >= 2 * 8 / 4, report


def check_sleep(root, build, schedule, wait, stage):
    arguments = ["--iterations", "3", "--microbatches", "4", "--schedule", schedule, "--wait", wait, "--peers", "sleep", "--stage", stage]
    first = train(root, build, arguments)
    measured = first[int(stage)]["stage_milliseconds"]
    assert min(measured) > 0, measured
    told = [20.0, 30.0]  # much longer than computing takes
    second = train(root, build, [*arguments, "--stage-time", ",".join(map(str, told))])
    assert second[int(stage)]["stage_milliseconds"] == told
    norms = [report["gradient_norms"] for report in first]
    print("measured", measured, "squared gradient norms", norms[0], "seconds", first[0]["iteration_seconds"], second[0]["iteration_seconds"])
    assert all(other == norms[0] for other in norms), "ranks do not agree on the norm"
    assert all(norm > 0 for norm in norms[0]) and len(set(norms[0])) == len(norms[0]), "the stage does not learn"
    assert norms == [report["gradient_norms"] for report in second], "the numbers depend on the time that peers sleep"
    # The peers' sleep bounds an iteration from below: one of them computes all microbatches.
    assert min(second[0]["iteration_seconds"]) >= 4 * sum(told) / 1e3


def main():
    root, build, what = sys.argv[1:4]
    if what == "arguments":
        check_arguments(root, build)
    elif what == "precision":
        check_precision(root, build)
    elif what == "size":
        check_size(root, build)
    elif what == "save":
        check_save(root, build)
    else:
        check_sleep(root, build, *sys.argv[4:7])


if __name__ == "__main__":
    main()
