#!/usr/bin/env python3
"""A PyTorch example on the CPU (gloo): its schedule trains what the plain model trains, and Weft leaves it alone.

Called by CTest: gloo_test.py EXAMPLES WEFT RANKS SCRIPT [SCRIPT ARGUMENTS]. Runs the model without a pipeline, then the
script without and with Weft preloaded.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

LIMIT = 180  # seconds, of each run
TOLERANCE = 1e-5  # a schedule may add in another order
ITERATIONS = 4


def run(arguments: list, expected_code: int = 0) -> str:
    done = subprocess.run([sys.executable, "-B", *map(str, arguments)], stdout=subprocess.PIPE, text=True, timeout=3 * LIMIT, check=False)
    if done.returncode != expected_code:
        raise SystemExit(f"{arguments} ended with code {done.returncode}\n{done.stdout}")
    return done.stdout


def losses_in(log: pathlib.Path, compare) -> list[float]:
    return [float.fromhex(loss) for loss in compare.read_log(log)["losses"]]


def check_losses(plain: list[float], pipelined: list[float]) -> None:
    assert len(plain) == len(pipelined) == ITERATIONS, (plain, pipelined)
    assert plain[-1] < plain[0], f"nothing is learned: {plain}"
    for one, other in zip(plain, pipelined):
        assert abs(one - other) <= TOLERANCE * abs(one), f"without a pipeline {plain}, with it {pipelined}"


def check_silence(log: pathlib.Path) -> None:
    """A program without NCCL hears one line of `weft run` and nothing from inside its processes."""
    said = [line for line in log.read_text(encoding="utf-8").splitlines() if line.startswith("weft")]
    assert len(said) == 1 and said[0].startswith("weft: traces will be in"), said


def main() -> int:
    examples, weft, ranks, script = pathlib.Path(sys.argv[1]), *sys.argv[2:5]
    sys.path.insert(0, str(examples))
    import compare

    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        sizes = ["--iterations", ITERATIONS, "--device", "cpu"]
        (folder / "alone.log").write_text(
            run([examples / "pipeline.py", "--schedule", "none", "--time-limit", LIMIT, *sizes]), encoding="utf-8")
        result = json.loads(run([examples / "compare.py", "--json", "--weft", weft, "--out", folder, "--time-limit", LIMIT,
                                 "--script", script, "--ranks", ranks, "--", *sizes, *sys.argv[5:]]))
        print(json.dumps(result))
        assert result["losses_identical"] and result["parameters_identical"] and result["iterations"] == ITERATIONS
        assert not result["weft_active"] and not (folder / "trace").exists()
        check_losses(losses_in(folder / "alone.log", compare), losses_in(folder / "plain.log", compare))
        check_silence(folder / "weft.log")
    return 0


if __name__ == "__main__":
    sys.exit(main())
