#!/bin/bash
# Verbs that read traces and write files: weft export and report.
#
# Run by ctest, a case at a time: see cases.sh.
. "$(dirname "$0")/cases.sh"

# The contents are looked at in tests/trace/export.
export_traces() {
  traces=$source/tests/trace/run
  run "$weft" export "$traces" --perfetto run.pftrace
  expect_code 0
  expect_out ""
  expect_err "weft: note: *rank 0, 1, 2: the trace has no groups *weft: run.pftrace, *: 3 ranks, *"
  [[ -s run.pftrace ]] || fail "a file"
  run "$weft" export "$traces" --perfetto one.pftrace --ranks 0 --iterations 1
  expect_code 0
  [[ $(stat -c %s one.pftrace) -lt $(stat -c %s run.pftrace) ]] || fail "less of one rank"
  run "$weft" export "$traces"
  expect_code 2
  expect_err "weft: error: a format is missing, as --perfetto FILE; see 'weft export --help'"
  run "$weft" export "$traces" --perfetto x --iterations 3-1
  expect_code 2
  expect_err "weft: error: '3-1' is no range of iterations; 100-110 is; see 'weft export --help'"
  run "$weft" export "$traces" --perfetto x --ranks 1,,2
  expect_code 2
  expect_err "weft: error: '1,,2' is no list of ranks; 0,4-7 is; see 'weft export --help'"
  run "$weft" export "$traces" --perfetto x --ranks 7
  expect_code 1
  expect_err "weft: error: none of the wanted ranks has a trace here; the last one is rank 2"
  run "$weft" export "$traces" --perfetto none/x
  expect_code 1
  expect_err "*weft: error: none/x cannot be written: No such file or directory"
  run "$weft" export "$traces" --perfetto /dev/null
  expect_code 1
  expect_err "*weft: error: /dev/null cannot be written: it is no regular file"
  [[ -c /dev/null ]] || fail "a device stays what it is"
  run "$weft" export missing --perfetto x
  expect_code 1
  expect_err "weft: error: missing does not exist: *"
  run "$weft" export "$traces" --kineto kineto --perfetto again.pftrace
  expect_code 0
  [[ $(ls kineto) == $'rank0.json\nrank1.json\nrank2.json' ]] || fail "a file for each rank"
  cmp -s run.pftrace again.pftrace || fail "the same again"
  run "$weft" export "$traces" --csv tables --ranks 0,2
  expect_code 0
  [[ $(cut -d, -f1 tables/header.csv) == $'trace_rank\n0\n2' ]] || fail "a table with two traces"
  run "$weft" export "$traces" --kineto kineto
  expect_code 1
  expect_err "weft: error: kineto cannot be written: the folder is not empty"
  run "$weft" export "$traces" --perfetto early.pftrace --csv kineto
  expect_code 1
  expect_err "weft: error: kineto cannot be written: the folder is not empty"
  [[ ! -e early.pftrace ]] || fail "all outputs are looked at first"
  run "$weft" export "$traces" --perfetto same --csv ./same
  expect_code 2
  expect_err "weft: error: two formats cannot go to same"
  run "$weft" export "$traces" --perfetto rank7.7.jsonl
  expect_code 1
  expect_err "weft: error: rank7.7.jsonl cannot be written: it has the name of a trace"
  # An export that fails leaves nothing, and takes nothing away.
  mkdir full
  cp one.pftrace full/x
  run bash -c 'trap "" XFSZ; ulimit -f 1; "$0" export "$1" --perfetto full/x' "$weft" "$traces"
  expect_code 1
  expect_err "*weft: error: full/x cannot be written: File too large"
  [[ $(ls full) == x ]] && cmp -s one.pftrace full/x || fail "nothing has changed"
  # An earlier export and an empty file give way, and nothing else does.
  run "$weft" export "$traces" --perfetto one.pftrace
  expect_code 0
  cmp -s run.pftrace one.pftrace || fail "the newer export"
  : >empty
  run "$weft" export "$traces" --perfetto empty
  expect_code 0
  for text in 'import torch' $'\n' $'\n12 lines' $'\n\n2\n'; do
    printf %s "$text" >work.py
    run "$weft" export "$traces" --perfetto work.py
    expect_code 1
    expect_err "weft: error: work.py cannot be written: it is there, and is no Perfetto trace of weft export"
    printf %s "$text" | cmp -s - work.py || fail "the file is as it was"
  done
  [[ $(ls) != *.tmp* ]] || fail "nothing is left"
}

# The numbers are looked at in tests/trace/report, the page itself by browser_test.py there.
report_page() {
  traces=$source/tests/trace/run
  run "$weft" report "$traces"
  expect_code 0
  expect_out ""
  expect_err "weft: The GPUs wait for *weft: weft-report.html, *: open it in a browser"
  [[ $(ls) == *weft-report.html* && ! $(ls) == *.tmp* ]] || fail "the file alone"
  run "$weft" report "$traces" -o again.html --iteration 1
  expect_code 0
  grep -q "Iteration 1, " again.html || fail "the iteration that was asked for"
  # It has all that it needs, says that it may load nothing, and names no place but the folder's name.
  page=$(<weft-report.html)
  [[ $page == "<!DOCTYPE html>"*"default-src 'none'"*"</html>" ]] || fail "a page that may load nothing"
  if grep -nE '(src|href)="?(https?:|//|[a-z./]+\.(js|css))|@import|url\(|fetch\(|XMLHttp|WebSocket|sendBeacon' weft-report.html; then
    fail "nothing from outside"
  fi
  [[ $page != *"$source"* && $page != *"$work"* ]] || fail "no path"
  for part in title style data script; do [[ $page != *"@$part@"* ]] || fail "$part is in its place"; done
  [[ $(grep -c '<script' weft-report.html) == 2 ]] || fail "two script elements"
  export HOST_TOKEN=very-secret
  run "$weft" report "$traces" -o secret.html
  ! grep -q "very-secret" secret.html || fail "nothing of the environment"
  cmp -s secret.html weft-report.html || fail "the same again"
  run "$weft" report
  expect_code 2
  expect_one_line
  for number in x -1 99999999999999999999 1.5 ""; do
    run "$weft" report "$traces" --iteration="$number"
    expect_code 2
    expect_one_line
  done
  run "$weft" report "$traces" -o absent.html --iteration 77
  expect_code 1
  expect_err "*weft: error: no rank has measured iteration 77: there are 1 to *"
  [[ ! -e absent.html ]] || fail "no page of another iteration"
  run "$weft" report missing
  expect_code 1
  expect_err "weft: error: missing does not exist: *"
  mkdir -p empty folder
  run "$weft" report empty
  expect_code 1
  expect_err "weft: error: there are no traces (rank\*.jsonl) in empty"
  run "$weft" report "$traces" -o folder
  expect_code 1
  expect_err "weft: error: folder cannot be written: it is no regular file"
  run "$weft" report "$traces" -o rank7.7.jsonl
  expect_code 1
  expect_err "weft: error: rank7.7.jsonl cannot be written: it has the name of a trace"
  echo "my notes" >notes.txt
  run "$weft" report "$traces" -o notes.txt
  expect_code 1
  expect_err "weft: error: notes.txt cannot be written: it is there, and is no page of a report"
  [[ $(<notes.txt) == "my notes" ]] || fail "the file is as it was"
  : >empty.html
  run "$weft" report "$traces" -o empty.html
  expect_code 0
  # Nothing is left of one that fails, nor taken away by it.
  mkdir full
  echo '<!DOCTYPE html> old' >full/x
  run bash -c 'trap "" XFSZ; ulimit -f 1; "$0" report "$1" -o full/x' "$weft" "$traces"
  expect_code 1
  expect_err "*weft: error: full/x cannot be written: File too large"
  [[ $(ls full) == x && $(<full/x) == *" old" ]] || fail "nothing has changed"
  # Damage is taken as weft summary takes it, and said.
  mkdir damaged
  cp "$traces"/rank*.jsonl damaged
  printf 'no JSON\n{"type": "bub' >>damaged/rank1.101.jsonl
  sed 's/"version": [0-9]*/"version": 99/' "$traces"/rank2.102.jsonl >damaged/rank2.102.jsonl
  run "$weft" report "$PWD/damaged" -o damaged.html
  expect_code 0
  ! grep -q "$PWD" damaged.html || fail "no path, in notes neither"
  grep -q "rank1.101.jsonl:[0-9]" damaged.html || fail "the name of the file"
  grep -q "has version 99 of the trace format" damaged.html || fail "a newer version is named"
  grep -q "1 line not readable" damaged.html || fail "a line that cannot be read is named"
  # Of an observed run it says how much filling would give, but not from a few iterations, nor without bubbles.
  run "$weft" simulate --observe --stages 2 --iterations 24 --output observed
  run "$weft" report observed
  expect_err "*weft: Filling would use about * of the idle time, * of the 48 GPU hours of a day on 2 GPUs (estimated for *"
  sed -i '$i {"type": "limit", "time": 1000000, "device": 0, "bytes": 1000}' observed/rank*.jsonl
  run "$weft" report observed
  expect_err "*(estimated from part of the bubbles for a job of 400 kernels of 25 us and a slowdown budget of 1 %)*"
  sed -i '/"type": *"bubble"/d' observed/rank*.jsonl
  run "$weft" report observed
  expect_err "*It is not known how much filling would give: no bubble of an iteration is in the traces*"
  run "$weft" simulate --observe --stages 2 --iterations 12 --output brief
  run "$weft" report brief
  expect_err "*It is not known how much filling would give: it takes 20 iterations at least, and the traces have *"
  run "$weft" report --help
  [[ $(wc -l <<<"$out") -le 24 && $(wc -L <<<"$out") -le 100 ]] || fail "a screen"
}

# Until a condition holds, 20 s at most.
wait_until() {
  for _ in {1..200}; do
    eval "$1" && return
    sleep 0.1
  done
  code=- out=$(ls out) err=$(<said)
  fail "within 20 s: $1"
}

# The texts are looked at in tests/trace/metrics, and under a real Prometheus there.
export_metrics() {
  traces=$source/tests/trace/run
  mkdir out
  run "$weft" export "$traces" --prometheus out --once --all-hosts --run weft-7
  expect_code 0
  expect_out ""
  expect_err "weft: note: traces of earlier runs that are left out: 1*weft: out: 3 files"
  [[ $(ls out) == $'weft-weft-7-rank0.prom\nweft-weft-7-rank1.prom\nweft-weft-7-rank2.prom' ]] || fail "a file for each rank"
  diff <(grep -v ^weft_last_update out/weft-weft-7-rank0.prom) \
       <(grep -v ^weft_last_update "$source/tests/trace/metrics/rank0.prom") || fail "the golden text"
  rm out/*
  run "$weft" export "$traces" --prometheus out --once --all-hosts --ranks 1
  expect_code 0
  [[ $(ls out) == weft-run-rank1.prom ]] || fail "the folder's name is the run's"
  rm out/*
  run "$weft" export "$traces" --prometheus out --once
  expect_code 1
  expect_err "weft: error: none of the traces is of this host, 4 are of others; --all-hosts takes those too"
  run "$weft" export missing --prometheus out --once
  expect_code 1
  expect_err "weft: error: missing does not exist: *"
  run "$weft" export out --prometheus out --once
  expect_code 1
  expect_err "weft: error: there are no traces (rank[*].jsonl) in out"
  run "$weft" export "$traces" --prometheus none --once --all-hosts
  expect_code 1
  expect_err "weft: error: none does not exist: it is the folder that node exporter reads (*"
  touch file
  run "$weft" export "$traces" --prometheus file --once --all-hosts
  expect_code 1
  expect_err "weft: error: file cannot be written: it is no folder"
  run "$weft" export "$traces" --prometheus /proc --once --all-hosts
  expect_code 1
  expect_err "weft: error: /proc cannot be written: *"
  run bash -c '(trap "" XFSZ; ulimit -f 0; "$0" export "$1" --prometheus out --once --all-hosts) 2>&1 | cat >&2' "$weft" "$traces"
  expect_err "*weft: error: out/weft-run-rank0.prom.tmp cannot be written: File too large"
  [[ $(ls out) == "" ]] || fail "nothing is left"
  for wrong in "--perfetto x" "--iterations 1-2" "--interval 0.5s" "--interval soon" "--once --interval 2s"; do
    run "$weft" export "$traces" --prometheus out $wrong
    expect_code 2
    expect_one_line
  done
  run "$weft" export "$traces" --csv tables --once
  expect_code 2
  expect_err "weft: error: --interval, --once, --all-hosts and --run are for --prometheus, which is missing"
  # Stages that the training does not say come from its messages.
  run "$weft" simulate --stages 3 --iterations 12 --output stages
  expect_code 0
  run "$weft" export stages --prometheus out --once --all-hosts
  expect_code 0
  for rank in 0 1 2; do
    grep -q "^weft_info{run=\"stages\",rank=\"$rank\",gpu=\"0\",stage=\"$rank\"," out/weft-stages-rank$rank.prom || fail "stage of rank $rank"
  done
  rm out/*

  # Beside a run: it waits, follows, and takes its files away. One that is killed leaves them to the next one.
  trap 'kill $(jobs -p) 2>/dev/null; rm -rf "$work"' EXIT
  touch said
  "$weft" export grows --prometheus out --interval 1s 2>said &
  wait_until '[[ $(<said) == *"note: grows does not exist"*"; waiting for it"*"there are no traces of these ranks yet; waiting" ]]'
  run "$weft" export grows --prometheus out
  expect_code 1
  expect_err "weft: error: out cannot be written: another 'weft export --prometheus' writes this run there (*--run NAME"
  mkdir grows
  host=$(uname -n)
  sed "1s/\"node\"/\"$host\"/; 1s/fill/observe/" "$traces/rank0.100.jsonl" | head -n 3 >grows/rank0.1.jsonl
  wait_until 'grep -q "^weft_bubbles_total{run=\"grows\",rank=\"0\",gpu=\"0\",cause=\"receive\"} 2$" out/weft-grows-rank0.prom 2>/dev/null'
  sed -n 4p "$traces/rank0.100.jsonl" >>grows/rank0.1.jsonl
  wait_until 'grep -q "cause=\"collective\"} 1$" out/weft-grows-rank0.prom'
  sed "1s/\"node\"/\"$host\"/" "$traces/rank1.101.jsonl" >grows/rank1.1.jsonl
  wait_until '[[ -e out/weft-grows-rank1.prom ]]'
  kill -KILL %%
  wait %% 2>/dev/null
  [[ -e out/weft-grows-rank0.prom ]] || fail "a killed one leaves its files"
  rm grows/rank1.1.jsonl
  "$weft" export grows --prometheus out --interval 1s 2>said &
  wait_until '[[ $(ls out) == $'"'weft-grows-rank0.prom\nweft-grows.lock'"' ]]'
  for signal in TERM INT HUP; do
    python3 - "$weft" $signal <<'PYTHON' || fail "SIG$signal ends it, and no file is left"
import os, signal, subprocess, sys, time
end = signal.Signals["SIG" + sys.argv[2]]
signal.signal(end, signal.SIG_DFL)
os.mkdir("out-" + sys.argv[2])
process = subprocess.Popen([sys.argv[1], "export", "grows", "--prometheus", "out-" + sys.argv[2]],
                           stderr=subprocess.DEVNULL)
deadline = time.monotonic() + 20
while not any(name.endswith(".prom") for name in os.listdir("out-" + sys.argv[2])):
    assert time.monotonic() < deadline
    time.sleep(0.05)
process.send_signal(end)
assert process.wait(20) == 0, process.returncode
assert os.listdir("out-" + sys.argv[2]) == [], os.listdir("out-" + sys.argv[2])
PYTHON
  done
  kill -TERM %%
  wait %%
  code=$?
  expect_code 0
  [[ $(ls out) == "" ]] || fail "no file is left"
}

"$case_name"
