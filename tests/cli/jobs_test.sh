#!/bin/bash
# weft jobs, and the queue of weft run: where a queue is made, the terms of a job, and the words for mistakes. That
# trainings do the jobs of a queue is in tests/e2e/jobs.sh.
#
# Run by ctest, a case at a time: see cases.sh.
. "$(dirname "$0")/cases.sh"

new_queues() {
  for queue in nosuch/a/q "$work/nosuch/a/q"; do
    run "$weft" jobs --queue "$queue" submit stand_in --units 5
    expect_code 1
    expect_err "weft: error: $work/nosuch/a/q: cannot be made: there is no folder $work/nosuch/a; make it, or mount its file system"
    run "$weft" run -q --queue "$queue" -- true
    expect_code 1
    expect_err "weft: error: $work/nosuch/a/q: cannot be made: there is no folder $work/nosuch/a; *"
  done
  [[ ! -e nosuch ]] || fail "a folder was made"
  run "$weft" jobs --queue q submit stand_in --units 5
  expect_code 0
  expect_out 1
  expect_err "weft: a new queue was made in $work/q
weft: job 1, stand_in, waits in q"
  run "$weft" jobs --queue q submit stand_in --units 5
  expect_err "weft: job 2, stand_in, waits in q"
  mkdir -m 700 meet  # no feeder is started
  WEFT_FEEDER=$work/meet run "$weft" run -q --queue typo -- true
  expect_code 0
  expect_err "weft: warning: there was no queue in $work/typo; an empty one was made there, for jobs that come later"
  WEFT_FEEDER=$work/meet run "$weft" run -q --queue typo -- true
  expect_err "weft: no job waits yet in the queue $work/typo"
}

# A line of `weft jobs show 1`.
shows() {
  run "$weft" jobs --queue q show 1
  [[ $out == *"$1"* ]] || fail "it does not show: $1"
}
queued_with_records() {
  echo '[1]' >in.jsonl
  run "$weft" jobs --queue q submit stand_in --input in.jsonl
  expect_code 0
}

states() {
  queued_with_records
  shows "done       nothing yet: no rank has begun with its records"
  echo '{"host": "far", "ranks": [3], "since": 1}' >q/jobs/1/at-work/far-1-1-1-1
  shows "state      working
done       nothing yet: the ranks that have it are making it ready"
}

terms() {
  refused() {  # the words, options...
    run "$weft" jobs --queue q submit stand_in --units 5 "${@:2}"
    expect_code 2
    expect_err "weft: error: $1*"
  }
  run "$weft" jobs --queue q submit stand_in --units 5 --memory 512
  expect_code 1
  expect_err "weft: error: *a memory of 512 bytes is less than the 1MiB that is the least: is its unit missing, as in 512MiB?"
  refused "'much' is no number of bytes; 16MiB, 2GB are" --memory much
  refused "'0' is no weight; numbers above 0 are" --weight 0
  refused "'inf' is no weight; numbers above 0 are" --weight inf
  refused "'1h' is no duration; 90s, 3600s are" --deadline 1h
  [[ ! -e q ]] || fail "a queue was made"
  run "$weft" jobs --queue q submit stand_in --units 5 --memory 64MiB --weight 2.5 --deadline 3600s
  expect_code 0
  shows "memory     64 MiB"
  shows "weight 2.5, deadline"
}

results_that_are_there() {
  echo '[1]' >in.jsonl
  touch out.npy
  run "$weft" jobs --queue q submit stand_in --input in.jsonl --results out.npy
  expect_code 1
  expect_err "weft: error: the results $work/out.npy are there already; name another file, or take away $work/out.npy"
  mkdir out.npy.weft
  touch out.npy.weft/plan.json
  run "$weft" jobs --queue q submit stand_in --input in.jsonl --results out.npy
  expect_code 1
  expect_err "*; name another file, or take away $work/out.npy and $work/out.npy.weft"
}

# As another user, for whom nothing is writable.
as_nobody() {
  if [[ $(id -u) == 0 ]]; then setpriv --reuid=65534 --clear-groups "$@"; else "$@"; fi
}

folders_of_others() {
  queued_with_records
  run "$weft" jobs --queue q cancel 1
  mkdir theirs
  chmod -R a+rX,a-w q theirs
  chmod a+rx . tree
  run as_nobody "$weft" jobs --queue q retry 1
  expect_code 1
  expect_err "weft: error: $work/q/jobs/1/refusals: Permission denied"
  run as_nobody "$weft" run -q --fill stand_in --input in.jsonl --results theirs/out.npy -- true
  expect_code 1
  expect_err "weft: error: the results $work/theirs/out.npy cannot be written: the folder $work/theirs: Permission denied"
  run "$weft" run -q --fill stand_in --input in.jsonl --results in.jsonl -- true
  expect_code 1
  expect_err "weft: error: the results $work/in.jsonl cannot be written: they are the input"
  chmod -R u+w q theirs
}

"$case_name"
