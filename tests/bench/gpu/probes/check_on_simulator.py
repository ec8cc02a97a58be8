#!/usr/bin/env python3
"""Runs one probe on the simulated GPU and checks the shape of its line and the answers that sim/README.md promises.

Called by CTest: check_on_simulator.py <scripts/on-simulated-gpu> <build folder> <probe>. No time of the host: the machine
is noisy; those of the model are exact.
"""
import json
import numbers
import os
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[4] / "bench/gpu"))
from proof import behaviours, simulator  # noqa: E402

ON_SIMULATED_GPU, BUILD, PROGRAM = sys.argv[1:]
# The constants of this build's simulator (sim/constants.def).
CONSTANTS = {name: float(value) for name, value in re.findall(
    r" (\w+) = ([0-9.e+]+);", pathlib.Path(BUILD, "sim", "include", "simgpu", "constants.h").read_text(encoding="utf-8"))}
GAP = CONSTANTS["dependency_gap"] * float(os.environ.get("SIMGPU_TIME_SCALE", 1))

EXPECTED = {
    # "An event wait ... and a kernel none of whose blocks has found room hold the head" of the only queue.
    "fill_next_to_blocked_stream": {
        f"queues_{queues}_main_{priority}_blocked_on_{block}_ran": queues != 1
        for queues in (1, 8, 32) for priority in ("equal", "above") for block in ("event", "receive")},
    # "A command behind an unfinished one of its stream holds the head; an event does not."
    "marker_holds_queue": {
        f"queues_{queues}_behind_{marker}_other_stream_ran": queues != 1 or marker in ("nothing", "event", "timed_event")
        for queues in (1, 8, 32)
        for marker in ("nothing", "write", "event", "timed_event", "kernel")},
    # With the 8 queues of the default nobody is held up.
    "one_queue": {f"{case}_passes": True for case in (
        "nothing", "event", "write", "kernel", "wait", "wait_and_kernel", "above", "green", "host_wait", "host_and_stream_wait")} | {
            # "Below 13010 there are no workqueues."
            "green_balanced_passes": False,
            "green_balanced_why": "cuDeviceGetDevResource (workqueues): CUDA_ERROR_INVALID_RESOURCE_TYPE"},
    # "Legacy, per-thread and non-blocking streams order each other as documented", and a query of the legacy stream asks
    # for all blocking streams too.
    "default_stream_order": {
        f"{order}_{marker}_waits": documented
        for order, documented in (
            ("blocking_behind_legacy", True), ("legacy_behind_blocking", True),
            ("blocking_behind_event_on_legacy_behind_blocking", True), ("blocking_behind_blocking", False),
            ("non_blocking_behind_legacy", False), ("legacy_behind_non_blocking", False))
        for marker in ("kernel", "event", "write")} | {
            "query_of_legacy_while_blocking_runs": "CUDA_ERROR_NOT_READY",
            "query_of_blocking_while_legacy_runs": "CUDA_SUCCESS"},
    # "Kernels of higher priority first, without pre-emption"; whatever gave them the priority.
    "default_stream_priority": {
        "start_stream_equal": lambda share: share > 0.9,
        "start_default": lambda share: share > 0.9,
        "start_stream_above": lambda share: share < 0.5,
        "start_launch_above": lambda share: share < 0.5,
        "start_stream_set_above": lambda share: share < 0.5,
        "start_default_launch_above": lambda share: share < 0.5,
        "start_default_set_above": lambda share: share < 0.5,
        "set_on_default": "CUDA_SUCCESS"},
    # "A cluster may spread over the whole device": as many free multiprocessors as blocks are enough.
    "start_delay_against_fill": {
        "registers_of_kernel": 96, "cluster": 4,
        "blocks_4_free": [0, 2, 4, 6, 8, 12, 16, 20, 24, 32],
        "blocks_4_delayed_share": [1, 1] + [0] * 8, "blocks_4_enough_free": 4,
        "blocks_16_delayed_share": [1] * 6 + [0] * 4, "blocks_16_enough_free": 16},
    "synchronise_semantics": {
        f"{call}_waits_for_later": False for call in ("context", "stream", "default_stream", "event")},
    # "The strict adversary".
    "memory_calls_next_to_spin": {
        "stalls": lambda calls: {"cuMemAlloc", "cuMemFree", "cuMemHostAlloc", "cuStreamCreate", "cuMemCreate", "cuMemRelease",
                                 "cuMemUnmap", "cuMemSetAccess", "cuMemAllocAsync (pool grows)",
                                 "first launch of a kernel", "first launch of a kernel with more local memory"} <= set(calls),
        "does_not": lambda calls: {"cuMemAllocAsync (from the pool)", "cuMemMap", "launch of a warm kernel", "cuEventRecord",
                                   "cuEventQuery", "cuStreamWriteValue32", "cuGraphLaunch"} <= set(calls),
        "stalls_other_threads": lambda calls: {"cuMemFree", "cuMemFreeHost", "cuMemHostUnregister", "cuModuleLoadData", "first launch of a kernel"} <= set(calls), "refused": []},
    "pointer_identity": {
        "same": lambda count: count > 40, "not_exported": [], "exported_but_never_given": [], "given_but_not_exported": []},
    "writes_in_graphs": {
        f"{kind}_works": True for kind in ("write", "batch", "external_event")},
    "calls_during_synchronise": {
        f"{company}_held_until_the_kernel_ended": False
        for company in ("alone", "in_context_synchronise", "in_stream_synchronise", "launching")},
    # Markers cost nothing on a simulated stream: what remains is the gap between dependent kernels.
    "stream_write_cost": {"dependency_gap": GAP} | {
        f"gap_{marker}_us": lambda gap: gap > 0
        for marker in ("none", "write", "write_to_device", "two_writes", "event", "timed_event")},
    # Constants of the model, in logical time: exact.
    "command_times": {"gap_ns": GAP, "shortest_block": CONSTANTS["shortest_block"]},
    # "Streams are mapped round robin onto hardware queues, in the order of their creation", whatever their priority.
    "queue_sharing": {
        "queues_8_streams_7_pairs_that_share": 0, "queues_8_streams_7_streams_that_share_with_the_extra": 0,
        "queues_8_streams_12_pairs_that_share": 4, "queues_8_streams_12_pairs_that_share_because_of_the_extra": 5,
        "queues_8_streams_12_streams_that_share_with_the_extra": 1,
        "left_out_for_time": [], "queues_8_streams_12_streams_above_that_share_with_the_extra": 1,
        "queues_8_streams_12_dead_locks_without_the_extra": False, "queues_8_streams_12_dead_locks_with_the_extra": True},
    "nccl_kernel_shape": {
        name: CONSTANTS[name] for name in ("nccl_threads_per_block", "nccl_registers_per_thread", "nccl_shared_per_block",
                                           "nccl_cluster_size", "nccl_blocks_per_peer")},
    "nccl_links": {"nccl_fifo": CONSTANTS["nccl_fifo"]},
    # "Processes share nothing: each has its own device."
    "ranks_on_one_gpu": {"ranks_2_works": True, "ranks_3_works": True},
    "fixed_address": {"early_honoured": True, "late_honoured": True, "mapped_piece_works": True},
    "graph_in_another_process": {"nodes": 3, "results_equal": True},
    # "Which variables an image has cannot be known."
    "module_variables": {f"{kind}_of_{place}": "CUDA_ERROR_NOT_FOUND" for kind in ("global", "constant", "static")
                         for place in ("library", "module")},
    # A block's neighbours stretch it: a collision costs something, whatever the two are made of.
    "collision_slowdown": {
        f"main_{main}_fill_{fill}_delay_us": lambda delays: all(delay > 0 for delay in delays)
        for main in ("compute", "memory") for fill in ("compute", "memory")},
}
# Questions that the simulated GPU cannot answer, and what the probe must say about it.
SKIPPED = {"green_context": "which multiprocessors they run on"}


def problems_of_shape(line, probe):
    if set(line) != {"probe", "device", "simulated", "fact", "values"} or line["probe"] != probe:
        return [f"not the line of {probe}: {sorted(line)}"]
    problems = []
    if line["simulated"] is not True or "imulated" not in line["device"]:
        problems.append("it does not say that the device is simulated")
    if not line["fact"] or "stalls in" in line["fact"] or "\n" in line["fact"]:
        problems.append(f"not a fact: {line['fact']}")
    for key, value in line["values"].items():
        flat = value if isinstance(value, list) else [value]
        if not all(each is None or isinstance(each, (str, bool, numbers.Number)) for each in flat):
            problems.append(f"{key} is not flat: {value}")
    return problems


def problems_of_answers(values, expected):
    problems = []
    for key, wanted in expected.items():
        if key not in values:
            problems.append(f"{key} is missing")
        elif not (wanted(values[key]) if callable(wanted) else values[key] == wanted):
            problems.append(f"{key} is {values[key]}" + ("" if callable(wanted) else f", expected {wanted}"))
    return problems


def problems_of_behaviours(line, probe):
    """The page of scripts/gpu-proof names what the simulator does: it must be so."""
    return [f"{row['behaviour']}: {row['found']}, the page says {row['expected']}" for row in behaviours.compared({probe: line})
            if row["probe"] == probe and not row["as_assumed"]]


def main():
    probe = os.path.basename(PROGRAM)
    run = subprocess.run([ON_SIMULATED_GPU, "--build", BUILD, PROGRAM, "--quick"], capture_output=True, text=True, timeout=40,
                         check=False, env=dict(os.environ, **simulator.OF_PROBES.get(probe, {})))
    lines = run.stdout.splitlines()
    if len(lines) != 1:
        sys.exit(f"one line is expected: {run}")
    line = json.loads(lines[0])
    if run.returncode == 77:
        print(lines[0])
        sys.exit(0 if SKIPPED.get(probe, "\n") in line["skipped"] else "it must be answered here")
    if run.returncode != 0 or probe in SKIPPED:
        sys.exit(f"code {run.returncode}: {run}")
    problems = problems_of_shape(line, probe) or problems_of_answers(line["values"], EXPECTED[probe]) or problems_of_behaviours(line, probe)
    print(line["fact"])
    sys.exit("\n".join(problems) if problems else 0)


if __name__ == "__main__":
    main()
