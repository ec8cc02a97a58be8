#!/usr/bin/env bash
# Fill jobs that wait in a queue: trainings do them, whatever is killed, cancelled or wrong, and compute the same numbers
# as without them.
#   jobs.sh SOURCE BUILD ECHO_JOB CASE [redis]     CASE: whole, late, cancelled, faulty, priority, feeder_dies, all_die,
#                                                  server_dies
set -uo pipefail
source_dir=$1 build=$2 echo_job=$3 case=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$source_dir"
. tests/e2e/with_feeder.sh
# The training may stand for one job after the other: it is short.
export WEFT_SLOWDOWN_BUDGET=off
export WEFT_QUEUE=$work/queue
# The package of the tools has the server, too.
start_redis() {
  (exec -a redis-server redis-check-rdb --port 0 --unixsocket "$work/server/socket" --pidfile "$work/server/pid" --dir "$work/server" \
    --appendonly yes --save "" --loglevel warning >"$work/redis.log") &
  for ((try = 0; try < 100; ++try)); do
    if redis-cli -s "$work/server/socket" ping >/dev/null 2>&1; then return; fi
    sleep 0.05
  done
  fail "there is no Redis server"
}
kill_redis() { kill -KILL "$(cat "$work/server/pid")"; rm "$work/server/socket"; }
if [ "${5:-folder}" = redis ]; then
  mkdir "$work/server"
  start_redis
  trap 'kill_redis; rm -rf "$work"' EXIT
  WEFT_QUEUE="redis+unix://$work/server/socket?folder=$work/queue"
fi
jobs() { "$build/bin/weft" jobs "$@" 2>>"$work/jobs.messages"; }
submit() { jobs submit --memory 64MiB "$@"; }
# A value of `weft jobs show ID --json`.
value() { jobs show "$1" --json | python3 -c "import json, sys; print(json.load(sys.stdin)['$2'])"; }
is() { [ "$(value "$1" "$2")" = "$3" ] || fail "$2 of job $1 is $(value "$1" "$2"), not $3"; }
# Waits until a value of a job has come.
comes() {  # id, key, a condition on it, of Python, as v
  for ((try = 0; try < 400; ++try)); do
    if jobs show "$1" --json | python3 -c "import json, sys; v = json.load(sys.stdin)['$2']; sys.exit(0 if $3 else 1)"; then return; fi
    sleep 0.05
  done
  fail "of job $1 $2 does not become $3"
}
# Further trainings, as long as these jobs are not done.
until_done() {  # trainings at most, iterations, jobs...
  local round job
  for ((round = 1; round <= $1; ++round)); do
    for job in "${@:3}"; do
      [ "$(value "$job" state)" = done ] || { train "round$round" "$2" || fail "exit code $?"; break; }
    done
  done
  for job in "${@:3}"; do is "$job" state done; done
}
slow_job() { submit "$echo_job:4,x,slow" --input "$work/in.npy" --results "$work/out.npy" "$@"; }

case $case in
  whole)
    make_records "$work/in.npy" 1003
    without_weft 40
    [ "$(submit "$echo_job:4,x" --input "$work/in.npy" --results "$work/out.npy" --name first)" = 1 ] || fail "the first job is not number 1"
    submit "$echo_job:4,x" --input "$work/in.npy" >/dev/null
    submit matmul:size=64 --units 30 --name products >/dev/null
    [ "$(jobs list | grep -c waiting)" = 3 ] || fail "three jobs do not wait"
    train whole 40 || fail "exit code $?"
    same_losses whole
    results_are_right
    for job in 1 2 3; do is $job state done; done
    is 3 done 30
    jobs results 2 | python3 -c "
import json, sys
sys.path.append('tests/e2e')
lines = [json.loads(line) for line in sys.stdin]
assert len(lines) == 1003 and all(len(line) == 8 for line in lines), len(lines)
import struct
content = open('$work/in.npy', 'rb').read()[-1003 * 32:]
assert [n for line in lines for n in line] == list(struct.unpack('<8024i', content))" || fail "the lines of results are wrong"
    grep -qF "filling bubbles with jobs of ${WEFT_QUEUE%%\?*}" "$work/whole.messages" || fail "the start line does not name the queue"
    "$build/bin/weft" summary --json "$work/whole.trace" | python3 -c "
import json, sys
jobs = {job['name']: job for job in json.load(sys.stdin)['total']['jobs']}
assert set(jobs) == {'first#1', 'echo_job#2', 'products#3'} and jobs['products#3']['units'] == 30, jobs" || fail "the summary is wrong"
    # All is done: nothing is given, nothing is computed, and it is said.
    train again 4 || fail "exit code $?"
    grep -q "no job waits yet in the queue" "$work/again.messages" || fail "an empty queue is not said"
    summary=$("$build/bin/weft" summary --json "$work/again.trace")
    [[ $summary == *'"fill_units": 0'* ]] || fail "a second run computes"
    ;;
  late)  # comes while the training runs
    make_records "$work/in.npy" 400
    without_weft 100
    (sleep 3; submit "$echo_job:4,x" --input "$work/in.npy" --results "$work/out.npy" >/dev/null) &
    train late 100 || fail "exit code $?"
    wait $!
    same_losses late
    is 1 state done
    results_are_right
    ;;
  cancelled)  # while it is in work; then it goes on where it was
    make_records "$work/in.npy" 30000
    without_weft 60
    slow_job >/dev/null
    (comes 1 done 'v is not None and v >= 100'; jobs cancel 1) &
    train cancelled 60 || fail "exit code $?"
    wait $!
    same_losses cancelled
    is 1 state cancelled
    grep -q 'goes back to the queue: it waits in the queue no more' "$work/cancelled.messages" || fail "no rank says that it stops"
    [ ! -e "$work/out.npy" ] || fail "the results were complete before"
    done=$(value 1 done)
    jobs results 1 && fail "results that are not complete are written"
    grep -q 'has not all of its results yet' "$work/jobs.messages" || fail "it does not say why there are no results"
    jobs retry 1 || fail "a cancelled job cannot wait again"
    [ "$(value 1 done)" = "$done" ] || fail "results were lost"
    until_done 5 100 1
    results_are_right
    ;;
  faulty)  # they end with a reason, and others get their turn
    make_records "$work/in.npy" 400
    without_weft 400
    submit "${echo_job%/*}/bad_init_fails.so" --units 5 >/dev/null
    submit "$echo_job:4,x,wrong" --input "$work/in.npy" --results "$work/wrong.npy" >/dev/null
    jobs submit matmul --units 5 --memory 512GiB >/dev/null  # nobody has so much
    submit "$echo_job:4,x" --input "$work/in.npy" --results "$work/out.npy" >/dev/null
    train faulty 400 || fail "exit code $?"
    same_losses faulty
    for job in 1 2; do is $job state failed; done
    is 3 state waiting
    is 4 state done
    results_are_right
    [ ! -e "$work/wrong.npy" ] || fail "wrong results are there"
    grep -q 'its results were wrong in 3 units in a row' <<<"$(jobs show 2)" || fail "the reason is not shown"
    grep -q '^not run *on .*: fill job' <<<"$(jobs show 1)" || fail "no rank says why it does not run the job"
    jobs submit "$echo_job:4,x" && fail "a job that never ends is taken"
    grep -q 'it never ends: a job of a queue has an input, or a number of units' "$work/jobs.messages" || fail "it does not say why"
    ;;
  priority)  # a job in work gives way to one that is more important
    make_records "$work/in.npy" 40000
    slow_job --priority 1 >/dev/null
    (comes 1 done 'v is not None and v >= 40'; submit matmul:size=64 --units 40 --priority 2 >/dev/null) &
    train priority 100 --set queue_policy=priority || fail "exit code $?"
    wait $!
    is 2 state done
    is 1 state waiting
    [ "$(grep -c 'goes back to the queue: job 2 of a higher priority waits' "$work/priority.messages")" = 1 ] ||
      fail "one rank was to give way"
    ;;
  feeder_dies)
    make_records "$work/in.npy" 4000
    without_weft 60
    slow_job >/dev/null
    submit matmul:size=64 --units 200 >/dev/null
    (for i in 100 500 900; do comes 1 done "v is not None and v >= $i"; pkill -KILL -f "^$build/lib/weft/weft-feeder"; done) &
    train dies 60 || fail "exit code $?"
    wait $!
    same_losses dies
    until_done 3 100 1 2
    results_are_right
    ;;
  all_die)
    make_records "$work/in.npy" 15000
    slow_job >/dev/null
    submit matmul:size=64 --units 2000 >/dev/null
    (comes 1 done 'v is not None and v >= 100'; comes 2 done 'v > 0'; pkill -KILL -f "^$build/(bin/(trainer|weft)|lib/weft/weft-feeder)"
      rm -rf /dev/shm/weft-feeder-*) &  # the next training would remove it after a minute
    train dies 200 --set checkpoint_every=1s && fail "the training has not ended"
    wait $!
    comes 1 state "v == 'waiting'"  # nobody is at work on it
    [ "$(value 2 done)" -gt 0 ] || fail "the units of the job with a state are lost"
    until_done 3 150 1 2
    results_are_right
    ;;
  server_dies)  # of Redis, and is started again: for a while there are no further records
    make_records "$work/in.npy" 8000
    without_weft 120
    slow_job >/dev/null
    submit matmul:size=64 --units 200 >/dev/null
    (for i in 100 1000 2000; do
      comes 1 done "v is not None and v >= $i"
      kill_redis
      sleep 1.5
      start_redis
    done) 2>/dev/null &
    train dies 120 || fail "exit code $?"
    wait $!
    same_losses dies
    until_done 3 100 1 2
    results_are_right
    ;;
  *) fail "there is no such case" ;;
esac
feeder_has_ended
