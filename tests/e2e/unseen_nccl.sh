#!/usr/bin/env bash
# An NCCL that is linked statically: its communication is never reported as compute or as idle without a word. Where
# another NCCL is seen its time is uncertain, and the cause is named; where none is, one line of each process says so.
#   unseen_nccl.sh SOURCE BUILD PROGRAM QUEUES CASE
. "$(dirname "$0")/observed_case.sh"

lines=$(grep -c "^weft: warning: NCCL's kernels are launched by .*libstatic_nccl.so, and its functions do not come to Weft" \
  "$work/err")
[ "$lines" -eq "$([ "$case" = alone ] && echo 2 || echo 0)" ] || fail "$lines lines say that NCCL is not seen"
if [ "$case" = alone ]; then
  [ "$(wc -l <"$work/err")" -le 3 ] || fail "it says more"
  [ ! -e "$work/trace" ] || fail "there is a trace"
  exit 0
fi
caution='observing bubbles; unseen NCCL: the time in which its kernels run is uncertain, which were loaded by .*libstatic_nccl.so'
[ "$(grep -c "$caution" "$work/err")" -eq "$([ "$case" = behind ] && echo 0 || echo 1)" ] || fail "the start line"
grep -q "^weft: warning: rank 0: unseen NCCL: kernels of an NCCL " "$work/err" || fail "rank 0 does not say so"
grep -q "uncertain for .* unseen NCCL: " "$work/err" || fail "the end line does not name the cause"
"$build/bin/weft" summary "$work/trace" >"$work/summary" 2>&1 || fail "weft summary fails"
grep -q "unseen NCCL: " "$work/summary" || fail "weft summary does not name the cause"
[ "$(grep -c "all ranks: unseen NCCL: the time in which its kernels" "$work/summary")" -eq "$([ "$case" = behind ] && echo 0 || echo 1)" ] ||
  fail "the caution in the summary"

PYTHONPATH="$source_dir/bench/jobs:$source_dir/tests/e2e" python3 -B - "$build/bin/simgpu-truth" "$work" <<'CHECKS' || fail "the trace is not right"
import sys

import truth

ranks, receiver = truth.compare_two(*sys.argv[1:])
for rank in ranks:
    anomalies = rank.of("anomaly")
    assert len(anomalies) == 1 and anomalies[0]["text"].startswith("unseen NCCL: "), anomalies
    assert any(cause.startswith("unseen NCCL: ") for cause in rank.causes), rank
assert receiver.true > 0.5 and receiver.covered > 0.93, receiver
assert receiver.precision > 0.9 or receiver.idle < 0.002, receiver
# No more than the time in which such a kernel runs.
assert receiver.computed_uncertain < 0.1, receiver
CHECKS
