"""Runs one command with a time limit and leaves nothing of it behind, whatever it started.

run() is called by run.py, on the main thread, one command at a time; die_with_parent() by measures too. This process is made the subreaper of its descendants: what a
step started belongs to the step even after it called setsid() and its parent has gone. Nothing here may kill a process that is not a
descendant of this one, and nothing may wait without a limit.
"""

import ctypes
import os
import signal
import subprocess
import time

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
GRACE_SECONDS = 2.0  # from SIGTERM to SIGKILL
KILL_SECONDS = 10.0  # for killed processes to vanish; one in an uninterruptible driver call may take longer

_libc = ctypes.CDLL(None, use_errno=True)


def become_subreaper():
    if _libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER)")


def die_with_parent():
    """For preexec_fn, between fork and exec: only the system call. Whoever kills this program with SIGKILL shall not leave ranks that spin."""
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def _parents():
    """{process: parent} of all processes that can be seen, zombies left out."""
    parents = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
                state, parent = file.read().rpartition(")")[2].split()[:2]
        except (OSError, ValueError):
            continue  # it has ended in between
        if state != "Z":
            parents[int(name)] = int(parent)
    return parents


def descendants(ancestor=None):
    """Living descendants of a process, of this one when none is named."""
    parents = _parents()
    found, frontier = set(), {ancestor or os.getpid()}
    while frontier:
        frontier = {process for process, parent in parents.items() if parent in frontier} - found
        found |= frontier
    return found


def _reap():
    """Takes the exit codes of adopted processes; the step's own process must have been waited for."""
    while True:
        try:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                return
        except ChildProcessError:
            return


def _signal_all(processes, number):
    for process in processes:
        try:
            os.kill(process, number)
        except ProcessLookupError:
            pass


def kill_descendants():
    """Kills every descendant of this process until none is left; returns (how many were there, how many remain)."""
    killed = set()
    give_up = time.monotonic() + KILL_SECONDS
    while True:
        left = descendants()
        killed |= left
        # Again and again: a process may have forked while the list was made.
        _signal_all(left, signal.SIGKILL)
        _reap()
        if not left or time.monotonic() > give_up:
            return len(killed), len(left)
        time.sleep(0.02)


class Outcome:
    """How a command ended: exit_code (None when it had to be stopped), seconds, left_behind, not_killed."""

    def __init__(self):
        self.exit_code = None
        self.seconds = 0.0
        self.left_behind = 0
        self.not_killed = 0
        self.error = ""


def _stop(process):
    try:
        os.killpg(process.pid, signal.SIGTERM)
    except ProcessLookupError:
        pass
    try:
        process.wait(GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        try:
            process.wait(KILL_SECONDS)
        except subprocess.TimeoutExpired:
            pass  # in the kernel; kill_descendants() counts it


def run(command, limit, environment, stdout, stderr, directory=None):
    """Runs `command` for at most `limit` seconds in a session of its own, its output into two files."""
    outcome = Outcome()
    started = time.monotonic()
    process = None
    try:
        with open(stdout, "wb") as out, open(stderr, "wb") as err:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=environment,
                                       cwd=directory, start_new_session=True, preexec_fn=die_with_parent)
        try:
            outcome.exit_code = process.wait(limit)
        except subprocess.TimeoutExpired:
            _stop(process)
    except OSError as error:
        outcome.error = str(error)
    finally:
        # Also when this program was interrupted.
        if process is not None and process.poll() is None:
            process.kill()
            try:
                process.wait(KILL_SECONDS)
            except subprocess.TimeoutExpired:
                pass
        outcome.left_behind, outcome.not_killed = kill_descendants()
        outcome.seconds = time.monotonic() - started
    return outcome
