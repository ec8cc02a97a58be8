#!/usr/bin/env python3
"""An MPS daemon of our own, in folders of our own: processes that share a GPU run on it at the same time instead of in turns.

Used by training_runs.py as test bed and by baselines.py as baseline; mps.py COMMAND... runs a command under it, plainly where it cannot be
started. No setting of the GPU is touched; stop() ends the daemon, and
scripts/gpu-proof would kill it with the rest of the step.
"""

import os
import shutil
import signal
import subprocess
import sys
import tempfile

BELOW_NORMAL = {"CUDA_MPS_CLIENT_PRIORITY": "1"}


class Unavailable(Exception):
    """Why there is no MPS here."""


class Mps:
    """A running daemon; `environment` makes a process its client."""

    def __init__(self):
        self._control = shutil.which("nvidia-cuda-mps-control")
        if self._control is None:
            raise Unavailable("nvidia-cuda-mps-control is not here")
        # A short path: it holds sockets.
        self._folder = tempfile.mkdtemp(prefix="weft-mps-")
        self.environment = {"CUDA_MPS_PIPE_DIRECTORY": self._folder, "CUDA_MPS_LOG_DIRECTORY": self._folder}
        try:
            started = self._run(["-d"], None)
        except (OSError, subprocess.TimeoutExpired) as error:
            self._remove()
            raise Unavailable(f"MPS cannot be started: {error}") from error
        if started.returncode != 0:
            self._remove()
            raise Unavailable(f"MPS cannot be started: {started.stdout.strip()[-200:]}")

    def _run(self, arguments, text):
        # To a file, not a pipe: the daemon keeps what it was given open.
        with tempfile.TemporaryFile("w+") as output:
            done = subprocess.run([self._control, *arguments], input=text, stdin=None if text else subprocess.DEVNULL, stdout=output,
                                  stderr=subprocess.STDOUT, universal_newlines=True, timeout=30, check=False,
                                  env=dict(os.environ, **self.environment))
            output.seek(0)
            done.stdout = output.read()
        return done

    def _remove(self):
        shutil.rmtree(self._folder, ignore_errors=True)

    def stop(self):
        try:
            self._run([], "quit\n")
        except (OSError, subprocess.TimeoutExpired):
            print("mps: the daemon does not answer", file=sys.stderr)
        self._remove()


def main():
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(143))
    try:
        daemon = Mps()
    except Unavailable as reason:
        print(f"mps: without MPS: {reason}", file=sys.stderr)
        os.execvp(sys.argv[1], sys.argv[1:])
    try:
        return subprocess.run(sys.argv[1:], env=dict(os.environ, **daemon.environment), check=False).returncode
    finally:
        daemon.stop()


if __name__ == "__main__":
    sys.exit(main())
