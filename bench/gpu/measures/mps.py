#!/usr/bin/env python3
"""An MPS daemon of our own, in folders of our own: processes that share a GPU run on it at the same time instead of in turns.

Used by training_runs.py as test bed and by baselines.py as baseline; mps.py PROGRAMS COMMAND... runs a command under it, plainly where it
cannot be used. That a daemon starts proves nothing: as many clients at once as any measurement has must work first (tried()), and
what came of that is kept in a file for the other steps of the run. No setting of the GPU is touched; stop() ends the daemon, and
scripts/gpu-proof would kill it with the rest of the step.
"""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from proof.environment import HARDWARE_QUEUES as QUEUES, MPS_VERDICT  # noqa: E402

BELOW_NORMAL = {"CUDA_MPS_CLIENT_PRIORITY": "1"}
# All clients share one pool of hardware queues, so each gets few: enough for the streams of a rank that computes and is filled, and
# fewer for one that only sends and receives.
CONNECTIONS, CONNECTIONS_ASLEEP = "16", "4"
# Four ranks of which one computes, the process that tries the fill job, and a baseline.
CLIENTS = (CONNECTIONS, CONNECTIONS, CONNECTIONS, CONNECTIONS_ASLEEP, CONNECTIONS_ASLEEP, CONNECTIONS_ASLEEP)
TRIAL_SECONDS, TRIAL_LIMIT = 1, 30


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
        self.environment = {"CUDA_MPS_PIPE_DIRECTORY": self._folder, "CUDA_MPS_LOG_DIRECTORY": self._folder, QUEUES: CONNECTIONS, "WEFT_MPS": "on"}
        try:
            started = self._run(["-d"], None)
            if started.returncode == 0:
                # Not at the first client's call, which would wait for it.
                self._run([], f"start_server -uid {os.getuid()}\n")
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


def write_verdict(reason):
    """For the other steps: "" when clients work, else why not."""
    path = os.environ.get(MPS_VERDICT)
    if path:
        pathlib.Path(path).write_text(json.dumps({"usable": not reason, "reason": reason}))


def verdict():
    """{"usable", "reason"} that an earlier step has written, else None."""
    try:
        return json.loads(pathlib.Path(os.environ[MPS_VERDICT]).read_text())
    except (KeyError, OSError, ValueError):
        return None


def _trial(programs, environment):
    """Fills the GPU from as many processes at once as any measurement has; returns "" or what went wrong."""
    command = [programs / "bin/measures/fill_loop", programs / "lib/weft/fill_matmul.so"]
    with tempfile.TemporaryDirectory(prefix="mps-trial-") as folder:
        clients = [subprocess.Popen([*map(str, command), f"{folder}/{number}", str(TRIAL_SECONDS)], stdout=subprocess.DEVNULL,
                                    stderr=subprocess.PIPE, env=dict(os.environ, **{**environment, QUEUES: connections}))
                   for number, connections in enumerate(CLIENTS)]
        problems = []
        for number, client in enumerate(clients):
            try:
                message = client.communicate(timeout=TRIAL_LIMIT)[1].decode(errors="replace").strip()
                worked = client.returncode == 0 and os.path.getsize(f"{folder}/{number}") > 0
                problems += [] if worked else [message[-200:] or f"exit code {client.returncode}"]
            except subprocess.TimeoutExpired:
                client.kill()
                client.communicate()
                problems.append(f"not done after {TRIAL_LIMIT} s")
    return f"{len(problems)} of {len(CLIENTS)} clients at once failed: {problems[0]}" if problems else ""


def tried(programs):
    """A daemon whose clients are known to work. Raises Unavailable, also when an earlier step has found that they do not."""
    known = verdict()
    if known and not known["usable"]:
        raise Unavailable(known["reason"])
    try:
        daemon = Mps()
    except Unavailable as reason:
        write_verdict(str(reason))
        raise
    if known is None:
        problem = _trial(programs, daemon.environment)
        write_verdict(problem)
        if problem:
            daemon.stop()
            raise Unavailable(problem)
    return daemon


def main():
    programs, command = pathlib.Path(sys.argv[1]), sys.argv[2:]
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(143))
    try:
        daemon = tried(programs)
    except Unavailable as reason:
        print(f"mps: without MPS: {reason}", file=sys.stderr)
        os.execvp(command[0], command)
    try:
        return subprocess.run(command, env=dict(os.environ, **daemon.environment), check=False).returncode
    finally:
        daemon.stop()


if __name__ == "__main__":
    sys.exit(main())
