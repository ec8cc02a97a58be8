"""The results file: one JSON object per run. Its schema is documented in docs/results/README.md.

Called by main.py after the last step; pure: entries in, an object out.
"""

import json
import re

from . import constants as constants_of
from .run import STATUSES

FORMAT, VERSION = "weft-gpu-proof", 1


def counts(entries):
    return {status: sum(entry["status"] == status for entry in entries) for status in STATUSES}


def outputs(entries, feeds):
    """{name without its prefix: JSON line} of the steps of one kind that printed one."""
    return {entry["name"].split(".", 1)[-1]: entry["output"] for entry in entries if entry["feeds"] == feeds and "output" in entry}


def assemble(mode, started, seconds, simulated, environment, entries, constants):
    probes = {name: output for name, output in outputs(entries, "probe").items() if "skipped" not in output}
    # A simulated GPU says of itself what it assumes: nothing has been measured.
    measured = {} if simulated else constants_of.measured(constants, probes)
    return {"format": FORMAT, "version": VERSION, "simulated": simulated, "mode": mode,
            "started": started.strftime("%Y-%m-%dT%H:%M:%SZ"), "seconds": round(seconds, 1),
            "environment": environment, "counts": counts(entries), "steps": entries,
            "probes": probes, "cases": outputs(entries, "case"), "pytorch": outputs(entries, "pytorch"),
            "measures": {name: output for name, output in outputs(entries, "measure").items() if "skipped" not in output},
            "simulator_constants": measured}


def shown(value, places):
    """A part of an entry as others may read it: folders of this machine by their names (`places`: {folder: name}), and no host name."""
    if isinstance(value, dict):
        return {key: shown(part, places) for key, part in value.items() if key != "host"}
    if isinstance(value, list):
        return [shown(part, places) for part in value]
    if isinstance(value, str):
        for folder in sorted(places, key=len, reverse=True):
            value = value.replace(folder, places[folder])
    return value


def _commit_of(environment):
    return environment["bundle_commit"] or environment["commit"]


def earlier_entries(path, environment):
    """The entries of an earlier run on the same kind of GPU, each with its commit where that was another one. Raises ValueError when the
    two do not belong together."""
    earlier = json.loads(path.read_text())
    if earlier.get("format") != FORMAT or earlier.get("version") != VERSION:
        raise ValueError(f"{path} is no results file of this version")
    for what in ("devices", "driver_cuda", "nccl", "torch"):
        if earlier["environment"].get(what) != environment.get(what):
            raise ValueError(f"{path} is of other {what}: {earlier['environment'].get(what)}")
    commit = _commit_of(earlier["environment"])
    of_another = {} if commit == _commit_of(environment) else {"commit": commit}
    return [{**of_another, **entry} for entry in earlier["steps"]]


def joined(earlier, entries):
    """The entries of two runs. A step that was made again counts as it ended now, unless it was not run now."""
    now = {entry["name"]: entry for entry in entries}

    def counts_still(entry):
        again = now.get(entry["name"])
        return again is None or (again["status"] == "not run" and entry["status"] != "not run")

    kept = [entry for entry in earlier if counts_still(entry)]
    names = {entry["name"] for entry in kept}
    return kept + [entry for entry in entries if entry["name"] not in names]


def stem(result):
    """<date>-<gpu>-<commit>, fit for a file name."""
    device = result["environment"]["devices"][0]["name"]
    gpu = re.sub(r"[^a-z0-9]+", "-", re.sub(r"nvidia|\(.*\)", "", device.lower())).strip("-") or "gpu"
    changed = "-changed" if result["environment"]["commit"].endswith("+changes") else ""
    return f"{result['started'][:10]}-{gpu}-{result['environment']['commit'][:12].rstrip('+')}{changed}"
