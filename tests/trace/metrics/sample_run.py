"""A run that is written while it is looked at: four ranks of this host, each with something of its own. Rank 0 fills
within its budget, rank 1 stops filling, rank 2 ends early and so has a summary, rank 3 measures no bubbles.
"""

import json
import os
import socket
import time

_ITERATION = 200_000_000  # nanoseconds


def _boot():
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return ""


class SampleRun:
    """Each step() appends the lines of one iteration to the trace of each rank."""

    def __init__(self, folder):
        os.makedirs(folder, exist_ok=True)
        self._started = time.monotonic_ns()
        self._wall_clock = time.time_ns()
        self._iteration = 0
        self._bubble = 0
        self._files = [open(os.path.join(folder, f"rank{rank}.{100 + rank}.jsonl"), "w", buffering=1, encoding="utf-8")
                       for rank in range(4)]
        for rank in range(4):
            self._write(rank, type="header", format="weft-trace", version=2, weft="0.1.0", rank=rank, ranks=4, device=0,
                        mode="fill", fill_job="matmul", idle_unknown="CUDA_LAUNCH_BLOCKING=1" if rank == 3 else "",
                        host=socket.gethostname(), process=100 + rank, start_id=7, boot=_boot(), clock_offset=0,
                        started=self._started, wall_clock=self._wall_clock)

    def _write(self, trace, **values):
        self._files[trace].write(json.dumps(values) + "\n")

    def close(self):
        for file in self._files:
            file.close()

    def step(self):
        begin = self._started + self._iteration * _ITERATION
        self._iteration += 1
        for rank in range(4):
            if rank == 2 and self._iteration > 20:
                continue
            self._write_iteration(rank, begin)
        if self._iteration == 20:
            self._write_summary(2, begin + _ITERATION)

    def _write_iteration(self, rank, begin):
        end = begin + _ITERATION
        common = {"time": end, "device": 0}
        idle = (rank + 1) * 10_000_000
        if rank != 3:
            for cause, opened in (("receive", begin), ("collective", begin + _ITERATION // 2)):
                self._bubble += rank == 0
                number = 2 * self._iteration - (cause == "receive")
                self._write(rank, type="bubble", **common, id=number, opened=opened, closed=opened + idle,
                            cause=cause, pattern="event_wait", stage=rank, iteration=self._iteration)
                self._write(rank, type="slice", **common, job=0, unit=number, slice=0, bubble=number, launched=opened,
                            finished=opened + idle // 2, alone=idle // 2, unit_done=True, correct=cause == "receive")
        dark = self._iteration % 8 == 7
        if dark:
            self._write(rank, type="dark", **common, began=end - 10_000_000, ended=end)
        self._write(rank, type="uncertain", **common, began=end - 1_000_000, ended=end, why="a reason")
        self._write(rank, type="iteration", **common, number=self._iteration, started=begin, ended=end, groups=4,
                    idle=None if rank == 3 else 2 * idle, dark=dark)
        price = {"budget": 0.01, "iteration": self._iteration, "estimate": 0.002 * (rank + 1), "low": -0.001,
                 "high": 0.006}
        self._write(rank, type="slowdown", **common, share=0.5, control=6, filled=16, **price)
        self._write(rank, type="watching", **common, looks="all", dark=6, watched=16, **price)
        self._write(rank, type="memory", **common, event="reserved", cap=1 << 30, reserved=1 << 29, used=1 << 28,
                    device_free=1 << 33, device_total=1 << 36)
        if rank == 1 and self._iteration == 10:
            self._write(rank, type="anomaly", **common, text='a slice took "20 ms" instead of 0.3 ms',
                        stops_filling=True)

    def _write_summary(self, rank, end):
        bubbles = 2 * self._iteration
        idle = bubbles * (rank + 1) * 10_000_000
        self._write(rank, type="summary", rank=rank, device=0, window_begin=self._started, window_end=end,
                    iterations=self._iteration, iteration_median=_ITERATION, bubbles=bubbles + 3,
                    idle=idle + 5_000_000, uncertain=self._iteration * 1_000_000, dark=20_000_000, filled=idle // 2,
                    slices=bubbles, fill_units=bubbles, fill_units_wrong=bubbles // 2,
                    unfilled={"no_forecast": 2, "no_room": 1}, dropped_records=3, records_left_out=0)
