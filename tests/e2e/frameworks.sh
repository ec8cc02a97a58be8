#!/usr/bin/env bash
# Programs with the calls of frameworks, on the simulated GPU: what Weft reports is held against what really ran.
#   frameworks.sh SOURCE BUILD CASE PROGRAM [ARGUMENT...]
# Time runs slowly, so that how late Weft's thread looks matters little.
set -uo pipefail
source_dir=$1 build=$2 case=$3
shift 3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Slower still where scripts/sanitize asks for it.
slowed=${SIMGPU_TIME_SCALE:-1}
export SIMGPU_TIME_SCALE=$((12 * ${SIMGPU_TIME_SCALE:-1})) SIMGPU_DEVICES=3 XDG_RUNTIME_DIR=$work
simulated=("$source_dir/scripts/on-simulated-gpu" --build "$build")
fail() { echo "frameworks: $1"; tail -n 40 "$work/err"; exit 1; }

timeout 100 "${simulated[@]}" "$@" 2>"$work/err" || fail "it fails without Weft"
mkdir "$work/truth"
SIMGPU_LOG=$work/truth timeout 150 "${simulated[@]}" "$build/bin/weft" run --observe --output "$work/trace" -- "$@" \
  2>"$work/err" || fail "it fails with Weft"
"$build/bin/weft" summary "$work/trace" >"$work/summary" 2>&1 || fail "weft summary fails"
PYTHONPATH="$source_dir/bench/jobs:$source_dir/tests/e2e" python3 -B - "$build/bin/simgpu-truth" "$work" "$case" "$slowed" <<'CHECKS' || fail "the trace is not right"
import sys

import truth

tool, work, case, slowed = sys.argv[1:]
said, summed_up = open(work + "/err").read(), open(work + "/summary").read()
ranks = truth.compare_all(tool, work)
assert len(ranks) == (3 if case.startswith(("jax", "torchft")) else 2), ranks
captured, outside = "captured step: ", "host wait outside CUDA: "

# A time that is uncertain for this cause is named in the trace, the end line and the summary.
def names(rank, cause):
    assert any(why.startswith(cause) for why in rank.causes), rank
    assert f"uncertain for " in said and cause in said, said
    assert cause in summed_up, summed_up

for rank in ranks:
    if case in ("group_streams", "collective_streams", "memory_word", "copies") and "rank0" in rank.name:
        continue  # it hardly waits at all
    anomalies = rank.of("anomaly")
    assert all(summary["dropped_records"] == 0 for summary in rank.summaries), rank
    # Nothing computed in time that is reported idle. Time in which NCCL ran and nothing computed is idle or uncertain.
    assert rank.precision > (0.7 if case == "vllm" else 0.93) or rank.idle < 0.002, rank
    if case == "captured_step":
        # Nothing tells where in the graph it waits: the whole of it is uncertain, and nothing of it is lost.
        assert rank.covered > 0.95 and rank.uncertain > 0.5, rank
        assert len(anomalies) == 1 and anomalies[0]["text"].startswith(captured), anomalies
        assert not anomalies[0]["stops_filling"], anomalies
        assert "warning: rank 0: captured step: " in said, said
        names(rank, captured)
        continue
    assert not anomalies, anomalies
    if case == "vllm":
        # NCCL runs for a millisecond now and then, of which a look is a large part; else one stage waits in the socket
        # while the other one computes.
        assert rank.nothing > 0.3 and rank.nothing_covered > 0.8, rank
        assert rank.computed_uncertain < 0.05, rank
        names(rank, outside)
        continue
    if case == "copies":
        # The host waits in CUDA, for a copy. An instrumented one is slow enough between its calls to be seen there.
        outside_cuda = any(why.startswith(outside) for why in rank.causes)
        assert not outside_cuda or (slowed != "1" and rank.uncertain < 0.001), rank
    if case == "context_waits":
        # Nobody can tell whether the stream that was made behind the wait runs.
        names(rank, "a context waits for an event: ")
    assert rank.true > 0.1 and rank.covered > 0.85, rank
    assert rank.computed_uncertain < 0.2 or rank.uncertain < 0.01, rank
    if case == "torchft":
        # Three communicators, one after the other; the ranks go on.
        events = [record["event"] for record in rank.of("communicator")]
        assert events == 3 * ["opened", "closed"] and len(rank.summaries) == 3, events
        assert rank.summaries[-1]["iterations"] >= 8, rank.summaries[-1]
        assert not any(summary["filling_stopped"] for summary in rank.summaries), rank
CHECKS
