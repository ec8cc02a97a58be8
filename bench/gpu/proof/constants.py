"""The constants that the simulated GPU assumes, and what a run measured for them.

The list is sim/constants.def, read by sim/constants.py. A probe that is named there reports a number under the constant's name in
its "values", in the same unit. Called by main.py, results.py and page.py; reads files only.
"""

import importlib.util
import math


def load(root):
    """The constants in the order of the list: name, value, unit, source, probe ("" when nothing measures it)."""
    specification = importlib.util.spec_from_file_location("simulator_constants", root / "sim/constants.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return list(module.read_list(root / "sim/constants.def").values())


def _usable(value, unit):
    """Whether the simulator can take the value: a time may be 0, nothing else."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return False
    return value >= 0 if unit == "ns" else value > 0


def measured(constants, probes):
    """{name: {"value", "unit", "probe"}} of the constants that a probe of this run has measured. Its ranks share one GPU, so what depends
    on the link is marked: "transport"."""
    values = {}
    for constant in constants:
        value = probes.get(constant.probe, {}).get("values", {}).get(constant.name)
        if _usable(value, constant.unit):
            values[constant.name] = {"value": value, "unit": constant.unit, "probe": constant.probe,
                                     **({"transport": "sockets"} if constant.of_a_link else {})}
    return values


def compared(constants, values):
    """One row for each constant that can be measured: assumption, measured value or None, and their ratio or None."""
    rows = []
    for constant in constants:
        if not constant.probe:
            continue
        value = values.get(constant.name, {}).get("value")
        ratio = value / constant.value if value is not None and constant.value else None
        rows.append({"name": constant.name, "unit": constant.unit, "assumed": constant.value, "measured": value,
                     "ratio": ratio, "probe": constant.probe, "source": constant.source,
                     "over_sockets": "transport" in values.get(constant.name, {})})
    return rows
