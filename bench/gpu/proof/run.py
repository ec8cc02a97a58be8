"""Runs the steps of a proof one after the other, each within its own limit and all within one deadline.

Called by main.py. A step that fails, hangs or cannot be started never stops the others; each ends as one entry of the
results file (see docs/results/README.md). Nothing here knows what a step is about.
"""

import dataclasses
import json
import time

from . import processes

SKIPPED = 77  # exit code of a program that cannot answer here
STATUSES = ("passed", "failed", "skipped", "timed out", "not run")


@dataclasses.dataclass
class Step:
    """One command. `feeds` names what its JSON line is for: probe, measure, case, or "" when only its success counts."""

    name: str
    command: list
    limit: float
    feeds: str = ""
    quick: bool = True  # whether it is part of --quick
    environment: dict = dataclasses.field(default_factory=dict)  # on top of the proof's own
    least: float = 5.0  # seconds; with less left before the deadline it is not begun
    skip: str = ""  # why it cannot be answered here; nothing is started then
    kind: str = ""  # steps of a kind share the time that the kind is sure of


def last_object(text):
    """The last line that is a JSON object, or the whole text when that is one (pretty-printed); else None. NaN and
    Infinity, which are no numbers in JSON, become null."""
    for candidate in [text] + list(reversed(text.splitlines())):
        if candidate.lstrip().startswith("{"):
            try:
                value = json.loads(candidate, parse_constant=lambda name: None)  # NaN is no number
            except ValueError:
                continue
            if isinstance(value, dict):
                return value
    return None


def _read(path, most=4_000_000):
    with open(path, "rb") as file:
        return file.read(most).decode("utf-8", "replace")


def _last_line(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:500] if lines else ""


def _not_begun(step, reason, status="not run"):
    return {"name": step.name, "feeds": step.feeds, "status": status, "reason": reason, "seconds": 0.0}


def _judge(outcome, step, limit, output, messages):
    """Status and reason of a step that has ended."""
    if outcome.error:
        return "failed", outcome.error
    if outcome.exit_code is None:
        # Only at its own limit a step has had its time; else the run was over.
        how = f"stopped after {limit:.0f} s" if limit >= step.limit else f"out of time after {limit:.0f} s of {step.limit:.0f} s"
        return "timed out", f"{how}. {_last_line(messages)}".strip()
    if outcome.exit_code == SKIPPED:
        return "skipped", str((output or {}).get("skipped", "")) or _last_line(messages) or "no reason given"
    if outcome.exit_code != 0:
        return "failed", _last_line(messages) or f"exit code {outcome.exit_code}"
    if step.feeds in ("probe", "measure") and output is None:
        return "failed", "it printed no JSON object"
    return "passed", ""


def run_step(step, limit, environment, logs):
    """Runs one step and describes how it ended."""
    stdout, stderr = logs / (step.name + ".out"), logs / (step.name + ".err")
    outcome = processes.run([str(word) for word in step.command], limit, {**environment, "GPU_PROOF_LIMIT": str(limit), **step.environment},
                            stdout, stderr)
    output = last_object(_read(stdout)) if stdout.exists() else None
    messages = _read(stderr) if stderr.exists() else ""
    status, reason = _judge(outcome, step, limit, output, messages)
    result = {"name": step.name, "feeds": step.feeds, "status": status, "reason": reason,
              "seconds": round(outcome.seconds, 3), "limit": round(limit, 1), "exit_code": outcome.exit_code,
              "command": [str(word) for word in step.command]}
    if step.environment:
        result["environment"] = step.environment
    if output is not None:
        result["output"] = output
    if outcome.left_behind and status != "timed out":
        result["left_behind"] = outcome.left_behind
    if outcome.not_killed:
        result["not_killed"] = outcome.not_killed
    return result


class Interrupted(Exception):
    """SIGINT or SIGTERM arrived: the step in progress is stopped, the rest is not run, the results are written."""


class _Run:
    """The steps of a run, those that still wait, and the time there is."""

    def __init__(self, steps, seconds, sure, clock):
        self._clock, self._sure = clock, dict(sure)
        self._deadline = clock() + seconds
        self.waiting = list(steps)
        self.entries = {}
        self.stopped = ""

    def time_for(self, step, all_that_is_left):
        """The time left, less what other kinds that wait are sure of."""
        left = self._deadline - self._clock()
        others = {other.kind for other in self.waiting if not other.skip} - {step.kind}
        return left if all_that_is_left else left - sum(self._sure.get(kind, 0.0) for kind in others)

    def not_to_begin(self, step, left):
        """The entry of a step that is not to be begun, else None."""
        if self.stopped:
            return _not_begun(step, self.stopped)
        if step.skip:
            return _not_begun(step, step.skip, "skipped")
        if left < step.least:
            return _not_begun(step, f"out of time: {max(left, 0):.0f} s were left, it needs {step.least:.0f} s")
        return None

    def finish(self, step, entry):
        self.waiting.remove(step)
        self.entries[step.name] = entry
        if step.kind in self._sure:
            self._sure[step.kind] = max(0.0, self._sure[step.kind] - entry["seconds"])


def run_all(steps, seconds, environment, logs, say=lambda line: None, clock=time.monotonic, sure=None, after_each=lambda entries: None):
    """Runs the steps until the deadline, `seconds` from now; returns one entry per step, in order. `sure`:
    {kind: seconds} that others leave to it. A step that finds no time beside that is tried again at the end.
    `after_each` is given the entries so far."""
    the_run = _Run(steps, seconds, sure or {}, clock)
    for last_chance in (False, True):
        for step in list(the_run.waiting):
            left = the_run.time_for(step, last_chance)
            entry = the_run.not_to_begin(step, left)
            if entry is None:
                try:
                    # The grace of a step that does not want to end counts as well.
                    entry = run_step(step, max(1.0, min(step.limit, left - processes.GRACE_SECONDS)), environment, logs)
                except (Interrupted, KeyboardInterrupt):
                    the_run.stopped = "interrupted"
                    entry = _not_begun(step, the_run.stopped)
            elif entry["reason"].startswith("out of time") and not last_chance:
                continue
            the_run.finish(step, entry)
            in_order = [the_run.entries[one.name] for one in steps if one.name in the_run.entries]
            say(f"{len(in_order):3}/{len(steps)} {entry['status']:9} {entry['seconds']:6.1f} s  {step.name}"
                + (f": {entry['reason']}" if entry["reason"] else ""))
            after_each(in_order)
    return [the_run.entries[step.name] for step in steps]
