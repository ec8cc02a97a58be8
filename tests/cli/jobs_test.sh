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

"$case_name"
