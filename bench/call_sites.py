#!/usr/bin/env python3
"""The price of a Python call site (WEFT_CALL_SITES): the interpreter writes its frames into a file in memory.

call_sites.py [DEPTH]: as Weft does it, without the GIL, at so many frames (16). Microseconds of CPU time, the median
of 200, beside that of an empty call of the same kind.
"""
import ctypes
import os
import statistics
import sys
import time

dump = ctypes.CDLL(None)._Py_DumpTraceback
dump.argtypes = [ctypes.c_int, ctypes.c_void_p]
dump.restype = None
state = ctypes.pythonapi.PyGILState_GetThisThreadState
state.restype = ctypes.c_void_p
state_of_this_thread = state()


def write_frames():
    file = os.memfd_create("frames")
    dump(file, state_of_this_thread)
    text = os.pread(file, 8192, 0)
    os.close(file)
    return text


def microseconds(function):
    times = []
    for _ in range(200):
        begin = time.thread_time_ns()
        function()
        times.append((time.thread_time_ns() - begin) / 1000)
    return statistics.median(times)


def at_depth(frames, function):
    return function() if frames == 0 else at_depth(frames - 1, function)


def main():
    depth = max(int(sys.argv[1]) if len(sys.argv) > 1 else 16, 6)
    frames = at_depth(depth - 4, write_frames).count(b"File ")
    with_frames = at_depth(depth - 5, lambda: microseconds(write_frames))
    empty = at_depth(depth - 5, lambda: microseconds(state))
    print(f"{frames} frames: {with_frames:.0f} us of CPU time; an empty call: {empty:.1f} us")


if __name__ == "__main__":
    main()
