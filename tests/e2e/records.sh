#!/usr/bin/env bash
# Fill jobs that read records from files: every record's result is there once and right, whatever is killed, and the
# training computes the same numbers as without them.
#   records.sh SOURCE BUILD ECHO_JOB CASE     CASE: whole, command, lines, again, feeder_dies, rank_dies, all_die, refused, gone, jobs
set -uo pipefail
source_dir=$1 build=$2 echo_job=$3 case=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$source_dir"
. tests/e2e/with_feeder.sh

# How many records have their results.
marked() {
  python3 - "$work/out.npy.weft" <<'PYTHON'
import json, os, sys

try:
    plan, marked = json.load(open(sys.argv[1] + "/plan.json")), 0
    for place in ("todo", "running", "done"):
        for name in os.listdir(f"{sys.argv[1]}/{place}"):
            try:
                content, number = open(f"{sys.argv[1]}/{place}/{name}", "rb").read(), name.split(".")[0]
            except OSError:
                continue  # it has changed its place
            if number.isdigit():
                marked += sum(content[:max(0, min(plan["shard"], plan["records"] - int(number) * plan["shard"]))])
    print(marked)
except OSError:
    print(0)
PYTHON
}
# Runs a command as soon as so many records have their results.
when_marked() {  # how many, command...
  for ((i = 0; i < 600; ++i)); do
    if [ "$(marked)" -ge "$1" ]; then break; fi
  done
  "${@:2}"
}
echo_files=(--fill "$echo_job:4,x" --input "$work/in.npy" --results "$work/out.npy")
slow_files=(--fill "$echo_job:4,x,slow" --input "$work/in.npy" --results "$work/out.npy")

case $case in
  whole)
    make_records "$work/in.npy" 403  # the last unit is not full
    without_weft 30
    train whole 30 "${echo_files[@]}" || fail "exit code $?"
    same_losses whole
    results_are_right
    grep -q "has results of all 403 records of $work/in.npy in $work/out.npy" "$work/whole.messages" || fail "it does not say so"
    [ -e "$work/out.npy.weft/published" ] || fail "the results are there and not marked as such"
    # They are all there: nothing is computed again, and the training is not disturbed.
    train done 4 "${echo_files[@]}" || fail "exit code $?"
    grep -q 'has results of all 403 records' "$work/done.messages" || fail "a second run does not say so"
    summary=$("$build/bin/weft" summary --json "$work/done.trace")
    [[ $summary == *'"fill_units": 0'* ]] || fail "a second run computes"
    ;;
  command)  # what weft run becomes is as it would be without a feeder
    make_records "$work/in.npy" 10
    run=("$build/bin/weft" run --quiet --output "$work/trace" "${echo_files[@]}" --)
    "${run[@]}" sh -c 'exit 7'
    [ $? = 7 ] || fail "the exit code is another one"
    "${run[@]}" sh -c 'kill -USR1 $$' 2>/dev/null
    [ $? = $((128 + 10)) ] || fail "the end by a signal is another one"
    "${run[@]}" "$work/no_such_program" 2>"$work/none.messages"
    [ $? = 127 ] || fail "a missing command has another exit code"
    "${run[@]}" sh -c 'echo $$ $PPID; ls /proc/$$/fd; cat; ps -o ppid= -A | grep -cw $$ || true' >"$work/inside" <<<hello &
    pid=$!
    wait $pid || fail "exit code $?"
    head -n 1 "$work/inside" | grep -qx "$pid $$" || fail "the command is another process, or has another parent"
    grep -qx hello "$work/inside" || fail "the command does not read what is written to it"
    # Of its children there is only the substitution of this line.
    [ "$(tail -n 1 "$work/inside")" -le 2 ] || fail "the command has a child that it does not know"
    begin=$(date +%s%N)
    "${run[@]}" true 2>&1 | cat
    [ $(($(date +%s%N) - begin)) -lt 3000000000 ] || fail "whoever reads what it writes waits for the feeder"
    (trap '' CHLD; timeout 20 "${run[@]}" true) || fail "it hangs where children are not waited for"
    feeder_has_ended
    ;;
  lines)
    python3 -c "
for i in range(100): print([i] * (i % 6))" >"$work/in.jsonl"
    train lines 30 --fill "$echo_job:8,tokens" --input "$work/in.jsonl" --results "$work/out.jsonl" || fail "exit code $?"
    diff <(tr -d ' ' <"$work/in.jsonl") "$work/out.jsonl" >/dev/null || fail "the lines differ"
    ;;
  again)  # ends before all is done, and goes on with fewer ranks and another unit
    make_records "$work/in.npy" 10000
    train first 5 "${slow_files[@]}" || fail "exit code $?"
    [ ! -e "$work/out.npy" ] || fail "the results were complete before the test began"
    first=$(marked)
    [ "$first" -gt 0 ] || fail "the first run has done nothing"
    [ -z "$(ls "$work/out.npy.weft/running")" ] || fail "something is still claimed"
    ranks=2 train second 60 --fill "$echo_job:16,x,slow" --input "$work/in.npy" --results "$work/out.npy" || true
    grep -q 'results of another kind: the arguments of the job were' "$work/second.messages" || fail "other arguments are taken"
    for round in 1 2 3 4; do
      [ -e "$work/out.npy" ] || ranks=2 train "round$round" 100 "${slow_files[@]}" || fail "exit code $?"
    done
    results_are_right
    ;;
  feeder_dies)
    make_records "$work/in.npy" 6000
    without_weft 40
    (for i in 100 600 1100; do when_marked $i pkill -KILL -f "^$build/lib/weft/weft-feeder"; done) &
    train dies 40 "${slow_files[@]}" || fail "exit code $?"
    wait
    grep -q 'weft-feeder has ended by signal 9; it is started again' "$work/dies.messages" || fail "it is not said"
    same_losses dies
    [ -e "$work/out.npy" ] || train rest 100 "${slow_files[@]}" || fail "exit code $?"
    results_are_right
    ;;
  rank_dies|all_die)
    make_records "$work/in.npy" 10000
    program=trainer
    [ $case = rank_dies ] || program='(trainer|weft)'  # weft run, too, and the feeder with it
    when_marked 100 pkill -KILL -f "^$build/bin/$program" &
    train dies 200 "${slow_files[@]}" && fail "the training has not ended"
    wait
    [ ! -e "$work/out.npy" ] || fail "the results were complete before"
    sleep 1
    [ -z "$(ls "$work/out.npy.weft/running")" ] || fail "something is still claimed"
    for round in 1 2 3; do
      [ -e "$work/out.npy" ] || train "round$round" 100 "${slow_files[@]}" || fail "exit code $?"
    done
    results_are_right
    ;;
  refused)
    make_records "$work/in.npy" 100
    without_weft 4
    refused() {  # name, the reason, options...
      train "$1" 4 "${@:3}" || fail "$1: exit code $?"
      same_losses "$1"
      grep -q -- "$2" "$work/$1.messages" || fail "$1: it does not say: $2"
    }
    refused no_results 'no file for results is named (WEFT_RESULTS' --fill "$echo_job:4,x" --input "$work/in.npy"
    refused no_input 'it reads records or weights, and no file is named (WEFT_INPUT' --fill "$echo_job:4,x"
    refused no_records 'it reads no records, and a file of them or for results is named (WEFT_INPUT' \
      --fill matmul --input "$work/in.npy" --results "$work/out.npy"
    refused type "in.npy: has records of int32 \[8\] for 'x', and the job takes float64 \[8\]" \
      --fill "$echo_job:4,x,type" --input "$work/in.npy" --results "$work/out.npy"
    head -c 1000 "$work/in.npy" >"$work/cut.npy"
    refused cut 'cut.npy: is cut off: its int32 \[100, 8\] needs 3200 bytes' \
      --fill "$echo_job:4,x" --input "$work/cut.npy" --results "$work/out.npy"
    refused check 'echo failed in check: as asked' \
      --fill "$echo_job:4,x,fails" --input "$work/in.npy" --results "$work/fails.npy"
    refused wrong 'its results were wrong in 3 units in a row' \
      --fill "$echo_job:4,x,wrong" --input "$work/in.npy" --results "$work/wrong.npy"
    [ ! -e "$work/wrong.npy" ] || fail "wrong results are there"
    touch "$work/mine.npy"
    refused mine 'gets no records: .*mine.npy: is there already' --fill "$echo_job:4,x" --input "$work/in.npy" --results "$work/mine.npy"
    [ ! -s "$work/mine.npy" ] || fail "a file of the user was written to"
    meet=$(mktemp -d /dev/shm/weft-test-XXXXXX)
    WEFT_FEEDER=$meet refused no_feeder 'the feeder does not answer: there is none in its folder' "${echo_files[@]}"
    rm -r "$meet"
    WEFT_FEEDER=$work refused on_disk 'is not in shared memory' "${echo_files[@]}"
    train nowhere 4 --fill "$echo_job:4,x" --input "$work/none.npy" --results "$work/out.npy"
    [ $? = 1 ] || fail "a missing file is not refused at the start"
    grep -q "the input $work/none.npy: no such file" "$work/nowhere.messages" || fail "the missing file is not named"
    ;;
  gone)  # the folder of the results goes away while they are written
    make_records "$work/in.npy" 20000
    without_weft 60
    when_marked 100 rm -rf "$work/out.npy.weft" &
    train gone 60 "${slow_files[@]}" || fail "exit code $?"
    wait
    same_losses gone
    grep -q "gets no more records: $work/out.npy.weft" "$work/gone.messages" || fail "it does not say why"
    ;;
  jobs)  # of a job file, beside one that reads nothing; the feeder was started by hand
    make_records "$work/in.npy" 400
    cat >"$work/jobs.toml" <<EOF
[[job]]
fill = "$echo_job:4,x"
name = "reads"
input = "in.npy"
results = "out.npy"
[[job]]
fill = "$build/lib/weft/fill_matmul.so:size=64"
EOF
    meet=$(mktemp -d /dev/shm/weft-test-XXXXXX)
    "$build/lib/weft/weft-feeder" "$meet" 2>"$work/feeder.messages" &
    feeder=$!
    WEFT_FEEDER=$meet train jobs 50 --fill "@$work/jobs.toml" || fail "exit code $?"
    "$build/lib/weft/weft-feeder" "$meet" 2>"$work/second.messages" && fail "a second feeder serves the same folder"
    kill $feeder; wait $feeder || fail "the feeder ends with exit code $?"
    rm -r "$meet"
    results_are_right
    grep -q '"event": "done", "why": "fill job reads has results of all 400 records' "$work"/jobs.trace/rank0.*.jsonl ||
      fail "the end of the job is not in the trace"
    "$build/bin/weft" summary --json "$work/jobs.trace" | python3 -c "
import json, sys
jobs = {job['name']: job for job in json.load(sys.stdin)['total']['jobs']}
assert jobs['reads']['units'] >= 100 and jobs['matmul']['units'] > 0, jobs" || fail "the summary is wrong"
    ;;
  *) fail "there is no such case" ;;
esac
feeder_has_ended
