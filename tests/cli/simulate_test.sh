#!/bin/bash
# weft simulate and weft estimate.
#
# Run by ctest, a case at a time: see cases.sh.
. "$(dirname "$0")/cases.sh"

# Of the JSON on stdout.
value_of() { python3 -c 'import functools, json, sys; print(functools.reduce(lambda at, key: at[key], sys.argv[2].split("."), json.loads(sys.argv[1])))' "$out" "$1"; }

simulate() {
  run "$weft" simulate --stages 4 --iterations 20 --output traces
  expect_code 0
  expect_err ""
  [[ $out == "1f1b, 4 stages, 8 microbatches, 4 GPUs, 20 iterations (12 count) of "*"next: weft summary traces" ]] || fail "the table"
  run "$weft" summary --json traces
  expect_code 0
  [[ $(value_of total.bubbles) -gt 500 && $(value_of total.fill_units) -gt 100 ]] || fail "the traces of all ranks"
  # 20 iterations of 3 pairs of stages with 16 messages each, sent and received, and of 4 ranks with 2 sums each.
  [[ $(value_of groups.recorded) -eq 2080 && $(value_of groups.joined) -eq 2080 ]] || fail "the groups of all ranks"
  run "$weft" export traces --perfetto traces.pftrace
  expect_err *"960 sends, 960 receives and 960 arrows; open it"*
  run "$weft" export traces --perfetto traces.pftrace --ranks 1
  expect_err *": 1 rank, "*"320 sends, 320 receives and 0 arrows; open it"*
  run "$weft" export traces --perfetto traces.pftrace --iterations 100-110
  expect_code 1
  expect_err "*weft: error: no rank has any of the iterations 100-110: there are 1 to 18"
  printf '%s\n' 'schedule = "zb-h1"' 'stages = 2' 'ranks = 4' 'microbatches = 6' 'iterations = 20' 'forward = "4ms"' \
    'slowdown-budget = "0%"' >pipeline.toml
  run "$weft" simulate --config pipeline.toml --baselines --json
  expect_code 0
  [[ "$(value_of schedule) $(value_of stages) $(value_of ranks) $(value_of microbatches) $(value_of iterations)" == "zb-h1 2 4 6 20" ]] ||
    fail "the flags of the file"
  [[ $(value_of conversion) == 0.0 && $(value_of slowdown) == 0.0 ]] || fail "a budget of nothing"
  [[ $(value_of reported_slowdown) == None ]] || fail "a slowdown is reported where nothing is filled"
  for name in first-planner pipefill freeride gating mps low-priority; do value_of "baselines.$name.conversion" >/dev/null || fail "$name"; done
  local before=$out
  run "$weft" simulate --config pipeline.toml --baselines --json
  [[ $out == "$before" ]] || fail "the same flags, other numbers"
  run "$weft" simulate --config <(printf 'stages = 2\njson = true\njitter = 0.07') --stages 3 --iterations 20
  [[ $(value_of stages) == 3 ]] || fail "a pipe, a flag without a value, and the command line first"
  run "$weft" simulate --config <(printf 'json = true\njitter = 0.0123456789\ninterference = 0.0001\niterations = 20')
  before=$out
  run "$weft" simulate --jitter 0.0123456789 --interference 0.0001 --iterations 20 --json
  [[ $out == "$before" ]] || fail "a number of the file is not what the flag makes of it"
  for words in "--schedule 2f2b" "--stages 0" "--ranks 6" "--jitter x" "--forward 3" "--forward 0" "--iterations 4" "--config none.toml" "--bandwidth 1" "--schedule dag --stages 3" "--seed -1" \
    "--schedule interleaved --microbatches 3" "--microbatches 8,0" "--schedule dualpipev --microbatches 8,6" "--ramp-up 5" "--evaluation-microbatches 4" \
    "--checkpoint-time 1s" "--schedule pipeoffload --evaluate-every 5 --evaluation-microbatches 6" "--gpu-memory 4GB" "--gpu-memory 0" \
    "--parameter-bytes 1GB,2GB" "--activation-bytes 1GB,little" "--observe --gpu-memory 80GB" "--fill 8x25us;memory=x" nonsense; do
    # shellcheck disable=SC2086  # words
    run "$weft" simulate $words
    expect_code 2
    expect_one_line
  done
  run "$weft" simulate --iterations 20 --output traces
  expect_code 1
  expect_err "weft: error: traces has traces already; each run has a folder of its own"
  run "$weft" simulate --stages 2 --microbatches 300 --iterations 12 --json
  [[ $(value_of filling_stopped) == None ]] || fail "an iteration of many groups"
  run "$weft" simulate --iterations 20 --output /proc/nowhere
  expect_code 1
  expect_one_line
}

# Weft itself would report the slowdown that the trace of rank 0 has.
simulate_reported() {
  run "$weft" simulate --iterations 40 --output traces --json
  expect_code 0
  "$weft" summary --json traces >summary.json || fail "the traces"
  python3 - "$out" <<'END' || fail "not as in the trace"
import json, sys
reported = json.loads(sys.argv[1])["reported_slowdown"]
[rank] = [rank for rank in json.load(open("summary.json"))["ranks"] if rank["rank"] == 0]
for key in ("estimate", "low", "high"):
    assert abs(reported[key] - rank["slowdown"][key]) < 1e-6, (reported, rank["slowdown"])
END
  run "$weft" simulate --iterations 40
  expect_code 0
  [[ $out == *"reported slowdown: "*" % (95 % interval "*" %), of iterations that are filled" ]] || fail "the text"
}

# Nothing runs with a file that is not all understood.
simulate_config() {
  local see="; see 'weft simulate --help'"
  while IFS='|' read -r text said; do
    printf "$text" >pipeline.toml
    run "$weft" simulate --iterations 20 --config pipeline.toml
    expect_code 2
    expect_err "weft: error: pipeline.toml$said$see"
  done <<'FILES'
[a|:1: *
stages 4|:1: *
stages = 2\nstages = 4|:2: *
\nstags = 4|:2: 'stags' is not a flag of 'weft simulate'; did you mean stages?
slowdown_budget = "1%%"|:1: 'slowdown_budget' is not a flag of 'weft simulate'; did you mean slowdown-budget?
config = "other.toml"|:1: 'config' is not a flag of 'weft simulate'*
# one\n[pipeline]\nstages = 4|:2: 'pipeline' is a table, and flags stand in none: stages = 8 is one
[[job]]\nfill = "x"|:1: 'job' is a table, and flags stand in none: stages = 8 is one
stages = 2\nranks = 0|:2: --ranks: *
forward = 3|:1: '3' is no duration; *
stages = [2, 4]|:1: *--stages*
stages = []|:1: 'stages' has to be a text, a number, true, false, or a list of them
stages = 2026-01-01|:1: 'stages' has to be a text, a number, true, false, or a list of them
json = [true, false]|:1: 'json' has to be true or false
FILES
  run "$weft" simulate --config none.toml
  expect_err "weft: error: none.toml: No such file or directory$see"
  run "$weft" simulate --config .
  expect_err "weft: error: .: it is a folder$see"
}

# Evaluations, checkpoints, other numbers of microbatches; memory.
simulate_changes() {
  printf '%s\n' 'stages = 4' 'microbatches = [4, 8]' 'iterations = 40' 'evaluate-every = 5' 'checkpoint-every = 10' 'checkpoint-time = "200ms"' >changing.toml
  run "$weft" simulate --config changing.toml
  expect_code 0
  [[ $out == "1f1b, 4 stages, 4, 8 microbatches, 4 GPUs"* && $out != *activations* ]] || fail "the numbers of microbatches"
  run "$weft" simulate --config changing.toml --json
  [[ "$(value_of microbatches) $(value_of stage_memory | head -c 22)" == "[4, 8] [{'parameter_bytes': 8" ]] || fail "a list"
  local changing
  changing=$(value_of iteration_seconds)
  run "$weft" simulate --microbatches 4,8 --ramp-up 10 --json
  [[ $(value_of iteration_seconds) != "$changing" ]] || fail "a ramp-up"
  # 8 GiB of parameters, 2 of reserve, 512 MiB for each of 4 to 1 microbatches.
  run "$weft" simulate --iterations 20 --gpu-memory 20GiB --fill 'small=8x25us;memory=1GiB' --fill 'large=8x25us;memory=9.2GiB' --output memory
  expect_code 0
  [[ $out == *"    2    8.00 GiB     1.00 GiB    9.00 GiB  small"$'\n'"    3    8.00 GiB     0.50 GiB    9.50 GiB  small, large"* ]] || fail "the memory of stages"
  grep -q '"name": "large", "event": "refused", "why": "it needs 9420 MiB, the training leaves 9216 MiB"' memory/rank2.*.jsonl || fail "the trace says why"
  grep -q '"name": "large", "event": "ready"' memory/rank3.*.jsonl || fail "a job that fits"
  run "$weft" simulate --schedule pipeoffload --iterations 20 --gpu-memory 20GiB --fill 'huge=8x25us;memory=1TiB'
  [[ $out == *"note: huge fits on no GPU"* && $out == "pipeoffload, "* ]] || fail "a job that fits nowhere"
  run "$weft" summary memory
  expect_code 0
}

simulate_jobs() {
  local mix=(--fill "late=40x25us;units=100;arrives=2s" --fill "early=40x25us;units=1000")
  run "$weft" simulate "${mix[@]}" --job-policy shortest
  expect_code 0
  expect_err ""
  [[ $out == *"arrived        began        ended"*"early "*" 0.000 s"*"late "*" 2.000 s"*"from arrival to end: "*" s on average"* ]] ||
    fail "the jobs, in the order in which they arrive"
  run "$weft" simulate "${mix[@]}" --job-policy shortest --json
  expect_code 0
  python3 -c 'import json, sys
run = json.loads(sys.argv[1])
early, late = run["jobs"]
assert (early["name"], late["name"], early["arrived"], late["arrived"]) == ("early", "late", 0, 2), run["jobs"]
assert 2 <= late["began"] < late["ended"] < early["ended"] and late["units"] == 400, run["jobs"]
assert abs(run["mean_completion"] - (early["ended"] + late["ended"] - 2) / 2) < 1e-9, run["mean_completion"]
' "$out" || fail "jobs as JSON"
  # 5.5, 6, 6.5 and 7 GiB beside the reserve.
  printf '%s\n' 'iterations = 20' 'gpu-memory = "17.5GiB"' "fill = ['tune=8x25us;memory=6.2GiB;variant=8x10us;memory=1GiB']" >variants.toml
  run "$weft" simulate --config variants.toml --output variants
  expect_code 0
  [[ $out == *"  as differs"*"6.00 GiB  tune (8x10us)"*"6.50 GiB  tune (8x25us)"* ]] || fail "a variant for each stage"
  grep -q '"name": "tune", "event": "ready", "why": "8x25us needs 6348 MiB, 6144 MiB are free", .*"variant": "8x10us"' variants/rank1.*.jsonl ||
    fail "the trace names the variant, and says why"
  run "$weft" summary variants
  [[ $out == *"job 0, tune (differs): "* ]] || fail "the summary names the variants"
  run "$weft" simulate --iterations 20 --fill '8x25us;variant=8x10us' --json
  [[ $out == *'"variant": "8x25us",'* && $(value_of jobs) == *"'variant': '8x25us'"* ]] || fail "the first one where there is room"
  run "$weft" simulate --price 2.5 --fill-price 1 --baselines --json
  expect_code 0
  python3 -c 'import json, sys
run = json.loads(sys.argv[1])
saving = run["saving"]
assert saving["training_cost_per_day"] == 4 * 24 * 2.5, saving
assert abs(saving["fill_value_per_day"] - 24 * run["gpu_equivalents"]) < 1e-9, saving
assert abs(saving["slowdown_cost_per_day"] - 240 * run["slowdown"] / (1 + run["slowdown"])) < 1e-9, saving
assert run["baselines"]["mps"]["saving"]["slowdown_cost_per_day"] > saving["slowdown_cost_per_day"], run["baselines"]["mps"]
' "$out" || fail "saving as JSON"
  run "$weft" simulate --fill 400x25us --fill 40x25us --arrivals 1s --json
  expect_code 0
  local before=$out
  run "$weft" simulate --fill 400x25us --fill 40x25us --arrivals 1s --json
  [[ $out == "$before" && $(value_of mean_completion) == None && $(value_of saving) == None ]] || fail "the same seed, the same arrivals"
  for words in "--fill 400x25us;arrives=soon" "--fill 400x25us;variant=" "--fill 400x25us;variant=fast" \
    "--fill 9x1ms$(printf ';variant=%dx1ms' {8..1})" "--fill 8x1ms;variant=1ms;memory=x" "--arrivals 3" "--price x" "--price nan" "--fill-price 1" "--price -1" "--observe --price 1"; do
    # shellcheck disable=SC2086  # words
    run "$weft" simulate $words
    expect_code 2
    expect_one_line
  done
}

estimate() {
  run "$weft" simulate --observe --iterations 40 --output observed
  expect_code 0
  [[ $out == *"next: weft estimate observed" ]] || fail "the next step"
  run "$weft" estimate observed
  expect_code 0
  expect_err ""
  [[ $out == "4 ranks"*"400x25us, WEFT_SLICE=300us, WEFT_SLOWDOWN_BUDGET=0.1%"*"WEFT_SLOWDOWN_BUDGET=1%"*"units in a day"* && $out != *note:* ]] ||
    fail "the table"
  [[ $out == *"some iterations go without fill"*"The slowdown budget holds"* ]] || fail "a budget holds the delay down"
  run "$weft" estimate observed --slowdown-budget off
  [[ $out == *"filled: of the idle time"$'\n'* && $out != *"budget holds"* ]] || fail "no budget, nothing said of one"
  run "$weft" estimate observed --price 2.5
  [[ $out == *"in a day: fill work worth "*" at most; saved "*" at least, +"* ]] || fail "what it saves"
  run "$weft" estimate observed --price 2.5 --json
  python3 -c 'import json, sys
for one in json.loads(sys.argv[1])["estimates"]:
    saving = one["least_saving"]
    assert abs(saving["fill_value_per_day"] - 2.5 * one["gpu_hours_per_day"]) < 1e-9, one
    assert 0 < saving["saving_per_day"] < saving["fill_value_per_day"], one
' "$out" || fail "what it saves, as JSON"
  run "$weft" estimate observed --fill gemm=64x25us,2x1.5ms --fill 3ms --slowdown-budget off --slice 1ms --json
  expect_code 0
  [[ "$(value_of ranks) $(python3 -c 'import json, sys
one, two = json.loads(sys.argv[1])["estimates"]
assert 0.8 < one["conversion"] < 1 and two["conversion"] < one["conversion"], (one, two)
assert abs(one["units_per_day"] * 0.0046 / 3600 - one["gpu_hours_per_day"]) < 1e-6
print(one["job"], two["job"], one["options"])' "$out")" == "4 gemm 3ms {'WEFT_SLICE': '1ms', 'WEFT_SLOWDOWN_BUDGET': 'off'}" ]] ||
    fail "two jobs of other lengths"
  for words in "" "observed --fill" "observed --fill matmul" "observed --fill 3x" "observed --fill 0x3us" "observed --fill 999999x3us" "observed --slice 0" \
    "observed --slowdown-budget little" "observed --slice 3"; do
    # shellcheck disable=SC2086  # words
    run "$weft" estimate $words
    expect_code 2
    expect_one_line
  done
  run "$weft" estimate nowhere
  expect_code 1
  expect_one_line
  run "$weft" simulate --iterations 20 --output filled
  run "$weft" estimate filled
  expect_code 0
  [[ $out == *"note: rank 0, 1, 2, 3: fill work ran in this run"* ]] || fail "a run that was filled"
}

"$case_name"
