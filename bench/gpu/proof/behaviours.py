"""The simulated GPU's behaviour, as assumed and as the probes found it: the part of its model that is no number.

Called by page.py; pure. Each row reads the `values` of one probe; tests/bench/gpu/probes/check_on_simulator.py holds the simulator to the
same answers. A list stands for itself, "none" for an empty one; what a probe did not answer is None.
"""

# Calls that the simulator, which is the strict adversary, lets stall next to a spinning kernel.
_STALLS = ("cuMemAlloc", "cuMemFree", "cuMemAllocAsync (pool grows)", "cuMemHostAlloc", "cuMemFreeHost", "cuMemHostRegister",
           "cuMemHostUnregister", "cuMemCreate", "cuMemSetAccess", "cuMemUnmap", "cuMemRelease", "cuStreamCreate", "cuModuleLoadData",
           "cuModuleUnload", "first launch of a kernel", "first launch of a kernel with more local memory")

# Those of them that hold up launches of other threads meanwhile.
_HOLDS = ("cuMemFree", "cuMemFreeHost", "cuMemHostUnregister", "cuModuleLoadData", "first launch of a kernel",
          "first launch of a kernel with more local memory")


def _words(items):
    return None if items is None else ", ".join(sorted(items)) or "none"


def _yes(value):
    return None if value is None else "yes" if value else "no"


def _that_wait(values):
    """The synchronising calls that wait for later work."""
    asked = {key[:-len("_waits_for_later")]: value for key, value in values.items() if key.endswith("_waits_for_later")}
    return _words(call for call, waits in asked.items() if waits) if asked else None


def _held(values):
    answers = {key[:-len("_held_until_the_kernel_ended")]: value for key, value in values.items() if key.endswith("_held_until_the_kernel_ended")}
    return _words(company for company, held in answers.items() if held) if answers else None


def _preferred(name):
    """Whether a kernel of higher priority starts in the middle of waiting ones of lower priority."""
    def of(values):
        share = values.get(name)
        return None if share is None else _yes(share < 0.5)
    return of


def _value(name):
    return lambda values: _yes(values.get(name))


def _list(name):
    return lambda values: _words(values.get(name))


def _count(name):
    return lambda values: None if values.get(name) is None else f"{values[name]:g}"


def _shares_across_priorities(values):
    count = values.get("queues_8_streams_12_streams_above_that_share_with_the_extra")
    return None if count is None else _yes(count > 0)


# (behaviour, what the simulator does, probe, its answer)
_ROWS = (
    ("fill runs beside a stream that waits for an event, 8 queues", "yes", "fill_next_to_blocked_stream",
     _value("queues_8_main_equal_blocked_on_event_ran")),
    ("fill runs beside a stream that waits for an event, 1 queue", "no", "fill_next_to_blocked_stream",
     _value("queues_1_main_equal_blocked_on_event_ran")),
    ("a kernel of another stream starts beside a running one, 1 queue", "yes", "marker_holds_queue",
     _value("queues_1_behind_nothing_other_stream_ran")),
    ("the same with a stream write behind the running one", "no", "marker_holds_queue", _value("queues_1_behind_write_other_stream_ran")),
    ("the same with an event behind it", "yes", "marker_holds_queue", _value("queues_1_behind_event_other_stream_ran")),
    ("the same with a kernel behind it", "no", "marker_holds_queue", _value("queues_1_behind_kernel_other_stream_ran")),
    ("streams of different priority share hardware queues", "yes", "queue_sharing", _shares_across_priorities),
    ("12 streams on 8 queues, round robin: pairs that share", "4", "queue_sharing", _count("queues_8_streams_12_pairs_that_share")),
    ("a stream made later moves others to other queues: pairs", "5", "queue_sharing",
     _count("queues_8_streams_12_pairs_that_share_because_of_the_extra")),
    ("an event on a blocking stream waits for the legacy one", "yes", "default_stream_order", _value("blocking_behind_legacy_event_waits")),
    ("the same with a stream write", "yes", "default_stream_order", _value("blocking_behind_legacy_write_waits")),
    ("an event on the legacy stream waits for a blocking one", "yes", "default_stream_order", _value("legacy_behind_blocking_event_waits")),
    ("an event on the legacy stream stands between blocking ones", "yes", "default_stream_order",
     _value("blocking_behind_event_on_legacy_behind_blocking_kernel_waits")),
    ("a stream of higher priority goes first", "yes", "default_stream_priority", _preferred("start_stream_above")),
    ("a launch of higher priority goes first", "yes", "default_stream_priority", _preferred("start_launch_above")),
    ("the default stream with a priority set later goes first", "yes", "default_stream_priority", _preferred("start_default_set_above")),
    ("memory calls that stall next to a spinning kernel", _words(_STALLS), "memory_calls_next_to_spin", _list("stalls")),
    ("calls that hold other threads' launches up while they stall", _words(_HOLDS), "memory_calls_next_to_spin", _list("stalls_other_threads")),
    ("a synchronise waits for work submitted after it", "none", "synchronise_semantics", _that_wait),
    ("a synchronise of the legacy stream waits for blocking streams", "yes", "synchronise_semantics",
     _value("default_stream_for_blocking_waits_for_earlier")),
    ("calls held up while another thread synchronises or launches", "none", "calls_during_synchronise", _held),
    ("stream writes work in graphs", "yes", "writes_in_graphs", _value("write_works")),
)


def compared(probes):
    """One row for each behaviour: behaviour, expected, found (None: not answered), as_assumed (or None), probe."""
    rows = []
    for behaviour, expected, probe, answer in _ROWS:
        found = answer(probes.get(probe, {}).get("values", {}))
        rows.append({"behaviour": behaviour, "expected": expected, "found": found, "as_assumed": None if found is None else found == expected,
                     "probe": probe})
    return rows
