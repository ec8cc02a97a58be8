#!/usr/bin/env bash
# Random legal programs under the preload on the simulated GPU: the trace is held against what really ran. Time runs
# slowly, so that how late Weft's thread looks matters little.
#   random_programs.sh SOURCE BUILD PROGRAM PROGRAMS QUEUES
set -uo pipefail
source_dir=$1 build=$2 program=$3 programs=$4 queues=$5
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Slower still where scripts/sanitize asks for it.
export SIMGPU_TIME_SCALE=$((6 * ${SIMGPU_TIME_SCALE:-1})) SIMGPU_DEVICES=2 XDG_RUNTIME_DIR=$work CUDA_DEVICE_MAX_CONNECTIONS=$queues
simulated=("$source_dir/scripts/on-simulated-gpu" --build "$build")
fail() { echo "random_programs: $1"; tail -n 40 "$work/err"; exit 1; }

mkdir "$work/truth"
SIMGPU_LOG=$work/truth timeout 500 "${simulated[@]}" "$build/bin/weft" run -q --observe --output "$work/trace" -- \
  "$program" "$programs" 1 2>"$work/err" || fail "the programs fail"
PYTHONPATH="$source_dir/bench/jobs" python3 -B - "$build/bin/simgpu-truth" "$work" "$queues" <<'CHECKS' || fail "the trace is not right"
import glob, json, subprocess, sys

from intervals import intersection, length

tool, work, queues = sys.argv[1:]
overlap = lambda left, right: length(intersection(left, right))
traces = glob.glob(work + "/trace/*.jsonl")
assert len(traces) == 2, traces
for path in traces:
    records = [json.loads(line) for line in open(path)]
    summary = records[-1]
    assert summary["type"] == "summary" and summary["dropped_records"] == 0, summary
    assert not [record for record in records if record["type"] == "anomaly"], path
    log, = glob.glob(f"{work}/truth/gpu{summary['device']}.{path.split('.')[-2]}.jsonl")
    begin, end = summary["window_begin"], summary["window_end"]
    told = subprocess.run([tool, "--from", str(begin), "--to", str(end), "--intervals", "--as-told", log], capture_output=True, check=True)
    true = json.loads(told.stdout)["logs"][0]["intervals"]
    idle = sorted((r["opened"], r["closed"]) for r in records if r["type"] == "bubble")
    uncertain = sorted((r["began"], r["ended"]) for r in records if r["type"] == "uncertain")
    precision = overlap(idle, true) / length(idle)
    found = overlap(idle, true) / length(true)
    found_or_uncertain = found + overlap(uncertain, true) / length(true)
    share = lambda part: 100 * part / (end - begin)
    line = (f"{path[len(work) + 7:]}: idle {share(length(idle)):.1f} % true {share(length(true)):.1f} % precision "
            f"{precision:.4f} found {found:.4f} or uncertain {found_or_uncertain:.4f}; uncertain {share(length(uncertain)):.2f} %")
    print(line)
    assert length(true) > 0.01 * (end - begin), "hardly any idle time to find"
    # Each bubble is wrong by a look or so at either end. Most of the uncertain time is the host's sleep, so that may not
    # stand in for bubbles where no streams share a hardware queue: they alone have to hold the true idle time. Where
    # streams share one, a kernel that waits for a group holds up that of another stream, which is uncertain.
    assert precision > 0.95, line
    assert found > (0.95 if int(queues) >= 8 else 0.5), line
    assert found_or_uncertain > 0.95, line
CHECKS
