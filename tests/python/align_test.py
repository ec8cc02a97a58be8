#!/usr/bin/env python3
"""weft.load(align=...): times of two hosts on the clock of the first one, as `weft summary --json` tells it:
align_test.py WEFT"""
import os
import stat
import sys
import unittest
import unittest.mock

import weft
from written_traces import BEGIN, SECOND, TraceTest, bubble, values_of

WEFT = sys.argv.pop(1)

STARTED = 5 * SECOND  # on the clock of rank 0
AHEAD = 40_000 * SECOND  # of rank 1's clock; its wall clock is 5 ms ahead
DRIFT = 20e-6
LATENCY = 30_000


def on_other_host(time):
    """The time of rank 0's clock on that of rank 1."""
    return time + AHEAD + round((time - STARTED) * DRIFT)


def group(number, kind, sequence, begun, ended, peer):
    operation = {"kind": kind, "peer": peer, "bytes": 8, "sequence": sequence}
    return {"type": "group", "time": ended, "device": 0, "id": number, "communicator": 1, "iteration": 0,
            "begun": begun, "begun_within": 2000, "ended": ended, "ended_within": 2000, "operations": [operation],
            "left_out": 0}


def communicator(rank):
    return {"type": "communicator", "time": 1, "device": 0, "event": "opened", "communicator": 1, "rank": rank,
            "ranks": 2, "id": "00000000000000aa", "name": ""}


class Align(TraceTest):
    def write_hosts(self, messages=200, groups=True, **of_other_header):
        """Rank 1 on another host; each has a bubble at the same two moments."""
        here, there = [communicator(0)], [communicator(1)]
        for number in range(1, messages * groups + 1):
            time = STARTED + number * SECOND // 10
            arrival, answer = time + LATENCY, time + SECOND // 20
            here.append(group(2 * number, "send", number, time, arrival, 1))
            there.append(group(2 * number, "receive", number, on_other_host(time), on_other_host(arrival), 0))
            there.append(group(2 * number + 1, "send", number, on_other_host(answer),
                               on_other_host(answer + LATENCY), 0))
            here.append(group(2 * number + 1, "receive", number, answer, answer + LATENCY, 1))
        self.moments = (STARTED + 2 * SECOND, STARTED + 17 * SECOND)
        here.append(bubble(1, *self.moments))
        there.append(bubble(1, *map(on_other_host, self.moments)))
        self.write_rank(0, 2, here, host="a", boot="a", started=STARTED)
        of_other_header.setdefault("wall_clock", BEGIN + 5_000_000)
        self.write_rank(1, 2, there, host="b", boot="b", started=on_other_host(STARTED), **of_other_header)

    def test_times_of_another_host_are_on_the_clock_of_the_first_rank(self):
        self.write_hosts()
        run = self.load(align=WEFT)
        first, second = run.alignment
        self.assertEqual((first["placed_by"], second["placed_by"]), ("reference", "messages"))
        within = second["most_within"]
        self.assertLess(within, 2 * LATENCY)
        for key, moment in zip(("opened", "closed"), self.moments):
            here, there = values_of(run.bubbles, key)
            self.assertEqual(here, moment)
            self.assertLessEqual(abs(there - moment), within)
        self.assertAlmostEqual(second["ahead"], 5_000_000, delta=within + 5000)
        self.assertAlmostEqual(second["drift"], DRIFT, delta=2e-6)
        self.assertLessEqual(abs(run.headers[1]["started"] - STARTED), within + 5000)
        lengths = [row["closed"] - row["opened"] for row in run.bubbles]
        self.assertAlmostEqual(lengths[1], lengths[0], delta=2 * within)
        self.assertEqual(run.notes, [])
        self.assertEqual(run.summaries[0]["idle"], 2000)  # a length

    def test_without_it_times_are_as_in_the_trace(self):
        self.write_hosts(messages=5)
        run = self.load()
        self.assertIsNone(run.alignment)
        self.assertEqual(values_of(run.bubbles, "opened"), [self.moments[0], on_other_host(self.moments[0])])

    def test_without_messages_the_wall_clock_counts_and_a_warning_says_so(self):
        self.write_hosts(groups=False, wall_clock=BEGIN + 7000)
        run = self.load(align=WEFT)
        self.assertEqual(run.alignment[1]["placed_by"], "wall_clock")
        self.assertIsNone(run.alignment[1]["shifts"][0][2])
        self.assert_note(run, "host b", "WEFT_TRACE_GROUPS=off", "wall clocks")
        self.assertEqual(run.headers[1]["started"] - run.headers[0]["started"], 7000)

    def test_offsets_of_time_namespaces_are_taken_off(self):
        self.write_rank(0, 2, [bubble(1, 1000, 3000)], clock_offset=0)
        self.write_rank(1, 2, [bubble(1, 1700, 3700)], clock_offset=700)
        run = self.load(align=WEFT)
        self.assertEqual(values_of(run.bubbles, "opened"), [1000, 1000])

    def test_only_some_ranks_may_be_loaded(self):
        self.write_hosts()
        run = self.load(align=WEFT, ranks=[1], kinds=["bubble"])
        self.assertLess(abs(run.bubbles[0]["opened"] - self.moments[0]), 2 * LATENCY)

    def test_values_that_are_no_times_stay_empty(self):
        self.write_rank(0, 1, [bubble(1, "soon", 3000)])
        run = self.load(align=WEFT)
        self.assertEqual(values_of(run.bubbles, "opened"), [None])
        self.assert_note(run, "`opened` is not an integer")

    def test_without_the_command_the_error_says_so(self):
        self.write_hosts(messages=1)
        with unittest.mock.patch.dict(os.environ, {"PATH": str(self.folder)}):
            with self.assertRaisesRegex(weft.TraceError, "needs the command weft, which is not in PATH"):
                self.load(align=True)
        with self.assertRaisesRegex(weft.TraceError, "/nowhere/weft cannot be run: No such file"):
            self.load(align="/nowhere/weft")

    def test_of_an_older_or_a_failing_command_too(self):
        self.write_hosts(messages=1)
        command = self.folder / "weft"
        for text, expected in (("echo '{\"ranks\": []}'", "does not tell the clocks"),
                               ("echo no such verb >&2; exit 2", "summary failed: no such verb")):
            command.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
            command.chmod(command.stat().st_mode | stat.S_IXUSR)
            with unittest.mock.patch.dict(os.environ, {"PATH": f"{self.folder}:{os.environ['PATH']}"}):
                with self.assertRaisesRegex(weft.TraceError, expected):
                    self.load(align=True)


if __name__ == "__main__":
    unittest.main()
