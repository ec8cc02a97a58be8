"""Annotations of a training in Python: annotate.h beside it says what they mean. Without Weft each does nothing.

    from weft import annotate                  # with <prefix>/include in PYTHONPATH; or copy this file, it needs nothing

    annotate.set_stage(2)
    for i, batch in enumerate(batches):
        with annotate.iteration(i):
            for m, microbatch in enumerate(batch):
                with annotate.microbatch(m):
                    ...
            with annotate.bubble():            # the schedule has nothing to compute here
                ...

Numbers are integers from 0. `device` is a CUDA ordinal; left out, it is that of the thread's current CUDA context, and
all devices of the process where it has none. From any thread; a call keeps the interpreter lock, waits for nothing and
takes a few microseconds at most.
"""

import contextlib
import ctypes
import operator

CURRENT_DEVICE = -1

# As enum weft_saying.
_BEGIN_ITERATION, _END_ITERATION, _SET_STAGE, _BEGIN_MICROBATCH, _END_MICROBATCH, _BEGIN_BUBBLE, _END_BUBBLE = range(1, 8)


def _find():
    """The function of the preloaded library; None: there is none."""
    try:
        say = ctypes.PyDLL(None).weft_say_v1
    except (AttributeError, OSError, TypeError):
        return None
    say.argtypes = (ctypes.c_uint32, ctypes.c_int32, ctypes.c_int64, ctypes.c_int64)
    say.restype = None
    return say


_weft = _find()


def _say(what, device, number=0, part=0):
    number, part, device = operator.index(number), operator.index(part), operator.index(device)
    # ctypes would take the lowest bits of what does not fit.
    if not (-(2**63) <= number < 2**63 and -(2**63) <= part < 2**63 and -(2**31) <= device < 2**31):
        raise OverflowError("an annotation has 64 bits for a number and 32 for a device")
    if _weft is not None:
        _weft(what, device, number, part)


def is_preloaded():
    """Whether Weft is preloaded into this process. WEFT=off may have switched it off."""
    return _weft is not None


def set_stage(stage, chunk=-1, device=CURRENT_DEVICE):
    """The pipeline stage that this process or device runs from here on, and which chunk of the model (-1: the only one)."""
    _say(_SET_STAGE, device, stage, chunk)


def begin_iteration(number, device=CURRENT_DEVICE):
    _say(_BEGIN_ITERATION, device, number)


def end_iteration(number, device=CURRENT_DEVICE):
    _say(_END_ITERATION, device, number)


def begin_microbatch(number, device=CURRENT_DEVICE):
    _say(_BEGIN_MICROBATCH, device, number)


def end_microbatch(number, device=CURRENT_DEVICE):
    _say(_END_MICROBATCH, device, number)


def begin_bubble(device=CURRENT_DEVICE):
    _say(_BEGIN_BUBBLE, device)


def end_bubble(device=CURRENT_DEVICE):
    _say(_END_BUBBLE, device)


@contextlib.contextmanager
def iteration(number, device=CURRENT_DEVICE):
    """Everything between two optimizer steps; ends also when it is left by an exception."""
    begin_iteration(number, device)
    try:
        yield
    finally:
        end_iteration(number, device)


@contextlib.contextmanager
def microbatch(number, device=CURRENT_DEVICE):
    """Launches and communication in it are for this microbatch."""
    begin_microbatch(number, device)
    try:
        yield
    finally:
        end_microbatch(number, device)


@contextlib.contextmanager
def bubble(device=CURRENT_DEVICE):
    """The schedule has nothing to compute on the device in it."""
    begin_bubble(device)
    try:
        yield
    finally:
        end_bubble(device)
