"""The questions to a GPU that decide most about Weft, first of all in a run: which they are, and what they decide.

Read by steps.py (their order) and page.py (their table); pure. The first ones are about one hardware queue: each is asked
with 1, 2 and 8 queues. Then what recording a program as a fill job stands on.
"""

HARDWARE_QUEUES = (1, 2, 8)


def of_queues(count):
    """The name of probe one_queue with so many hardware queues."""
    return f"one_queue_with_{count}"


# Probes in the order in which they are asked, and the seconds that each may take at most: two minutes for what decides
# most, all other probes come behind.
FIRST = {**{of_queues(count): 25 for count in HARDWARE_QUEUES}, "green_context": 25}
SECOND = ("fixed_address", "fixed_address_in_pytorch", "graph_in_another_process", "module_variables", "memory_calls_next_to_spin")

_MEMORY_CALLS = ("cuMemUnmap", "cuMemRelease")
_LOADING = ("cuModuleLoadData", "cuLibraryLoadData", "first launch of a kernel", "first launch of a kernel with more local memory",
            "cuGraphInstantiate", "cuGraphUpload")


def _value(name):
    return lambda values: values.get(name)


def _both(*names):
    """True where all hold; None where one is not known and none fails."""
    def of(values):
        found = [values.get(name) for name in names]
        return False if False in found else None if None in found else True
    return of


def _confined(key):
    """A grid without a cap stays on the multiprocessors that it was given."""
    def of(values):
        used, given = values.get(key), values.get("multiprocessors_given")
        return None if used is None or given is None else used <= given
    return of


def _without_stall(calls):
    """None of the calls stalls next to a running kernel; None where one has no answer."""
    def of(values):
        stalls, passes = values.get("stalls"), values.get("does_not")
        if stalls is None or passes is None:
            return None
        return False if set(calls) & set(stalls) else True if set(calls) <= set(passes) else None
    return of


# (question, what it decides, its answer); asked of one_queue with each number of hardware queues
_OF_QUEUES = (
    ("fill runs beside a running kernel with a stream-ordered write behind it", "markers may stay with one queue", _value("write_passes")),
    ("fill of higher priority runs beside a blocked stream", "a fill stream above is a full solution", _value("above_passes")),
    ("fill in a green context of the default scope runs beside a blocked stream", "whether workqueues are needed", _value("green_passes")),
    ("fill in a balanced green context runs beside a blocked stream, and holds none up", "a green context is a full solution",
     _value("green_balanced_passes")),
    ("fill runs while the host waits for the device, an event behind the running kernel", "bubbles in which the host waits can be filled",
     _both("event_passes", "host_wait_passes")),
)

# (question, what it decides, probe, its answer)
_OF_PACKAGES = (
    ("addresses are given where asked for, early and late", "packages work at all", "fixed_address", _both("early_honoured", "late_honoured")),
    ("the same in a process of PyTorch with NCCL", "packages work at all", "fixed_address_in_pytorch", _both("early_honoured", "late_honoured")),
    ("a grid without a cap stays inside its green context", "kernels of libraries as fill work", "green_context",
     _confined("used_by_uncapped_grid_in_green_context")),
    ("the same for a node of a graph that names the context", "recorded graphs as fill work", "green_context",
     _confined("used_by_uncapped_graph_node_in_green_context")),
    ("the same for a captured kernel that is moved there by its handle", "kernels of any size as fill work", "green_context",
     _confined("used_by_captured_kernel_moved_into_green_context")),
    ("a graph gives the same results in another process (kernels of the probe only)", "packages work at all", "graph_in_another_process",
     _value("results_equal")),
    ("global, constant and static variables are found by name", "programs that change variables of their modules", "module_variables",
     lambda values: all(text == "found" for text in values.values()) if values else None),
    ("memory is unmapped and released beside a running kernel without a stall", "giving fill memory back at once",
     "memory_calls_next_to_spin", _without_stall(_MEMORY_CALLS)),
    ("code is loaded and graphs are made beside a running kernel without a stall", "loading a package while the training runs",
     "memory_calls_next_to_spin", _without_stall(_LOADING)),
)


def answers(probes):
    """One row for each question: question, what it decides, [(words for where it was asked, True, False or None)]."""
    def values(name):
        return probes.get(name, {}).get("values", {})

    rows = [(question, decides, [(f"{count} queue{'' if count == 1 else 's'}", answer(values(of_queues(count)))) for count in HARDWARE_QUEUES])
            for question, decides, answer in _OF_QUEUES]
    return rows + [(question, decides, [("", answer(values(probe)))]) for question, decides, probe, answer in _OF_PACKAGES]
