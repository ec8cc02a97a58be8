#!/bin/bash
# weft replay, without a GPU.
#
# Run by ctest, a case at a time: see cases.sh.
. "$(dirname "$0")/cases.sh"

# Of runs under the preload: tests/e2e/replay.sh.
replay() {
  golden=$source/tests/runner/recording/golden
  run "$weft" replay "$golden/trainer_filled.weftrec"
  expect_code 0
  expect_err ""
  [[ $out == "$(<"$golden/trainer_filled.txt")"*"trainer_filled.weftrec: "*" records: as recorded" ]] || fail "the summary"
  run "$weft" replay --json --output traces "$golden"/*.weftrec
  expect_code 0
  python3 - "$out" "$source/docs/replay.md" <<'PYTHON' || fail "the JSON, and its keys in docs/replay.md"
import json, sys
answer, page = json.loads(sys.argv[1]), open(sys.argv[2]).read()
assert set(answer) == {"replayed", "left_out", "summary"} and len(answer["replayed"]) == 2 and not answer["left_out"]
for device in answer["replayed"]:
    assert device["differences"] == 0 and device["first_difference"] is None and device["cut"] is None, device
    assert all(f"`{key}`" in page for key in device), device
PYTHON
  run "$weft" summary traces
  expect_code 0
  run "$weft" replay --output traces "$golden/trainer_filled.weftrec"
  expect_code 1
  expect_err "weft: error: traces has traces already; each run has a folder of its own"
  # The last block is the end; without it the process was killed.
  head -c -1 "$golden/trainer_filled.weftrec" >cut.weftrec
  run "$weft" replay cut.weftrec
  expect_code 0
  [[ $out == *"as recorded"*"it ends before the run did: the process was killed, or the file was cut off"* ]] || fail "a cut recording"
  # One more bubble in the recorded summary, and right checksums: nothing but that answer differs.
  python3 - "$golden/trainer_filled.weftrec" other.weftrec <<'PYTHON'
import re, struct, sys

def checksum(data):
    value = 0xcbf29ce484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001b3 % 2**64
    return value

file = open(sys.argv[1], "rb").read()
out, at = file[:16], 16
while at < len(file):
    kind, size, _, _ = struct.unpack_from("<IIQQ", file, at)
    block = file[at + 24:at + 24 + size]
    at += 24 + size
    if kind == 3:
        block = re.sub(rb'"bubbles": (\d+)', lambda found: b'"bubbles": %d' % (int(found[1]) + 1), block, count=1)
    head = struct.pack("<IIQ", kind, len(block), checksum(block))
    out += head + struct.pack("<Q", checksum(head)) + block
open(sys.argv[2], "wb").write(out)
PYTHON
  run "$weft" replay other.weftrec
  expect_code 3
  expect_err ""
  [[ $out == *": 1 call of "*" with another answer"*"the first is call "*"recorded: "*"now: "*"nobody knows"* ]] || fail "another answer"
  run "$weft" replay --json other.weftrec
  expect_code 3
  python3 -c 'import json, sys
device = json.loads(sys.argv[1])["replayed"][0]
page = open(sys.argv[2]).read()
assert device["differences"] == 1
assert all(f"`{key}`" in page for key in device["first_difference"]), device' "$out" "$source/docs/replay.md" || fail "the first difference"
  # One more call: a decision with more slices in flight than there may be. Behind it the end cannot be compared.
  python3 - "$golden/trainer_filled.weftrec" rule.weftrec <<'PYTHON'
import struct, sys

def block_of(kind, contents):
    head = struct.pack("<IIQ", kind, len(contents), checksum(contents))
    return head + struct.pack("<Q", checksum(head)) + contents

def checksum(data):
    value = 0xcbf29ce484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001b3 % 2**64
    return value

file = open(sys.argv[1], "rb").read()
at, kind = 16, 0
while kind != 3:
    before = at
    kind, size, _, _ = struct.unpack_from("<IIQQ", file, at)
    at += 24 + size
decide = bytes([7, 0, 1, 0, 99, 0, 0, 0, 0, 0, 0, 0, 1])
open(sys.argv[2], "wb").write(file[:before] + block_of(2, decide) + file[before:])
PYTHON
  if grep -q 'now >= last_decision_' "$weft"; then  # WEFT_DCHECKS
    run "$weft" replay rule.weftrec missing.weftrec
    expect_code 4
    expect_err "weft: error: missing.weftrec *"
    [[ $out == *"as recorded"*"it stops at call "*" (decide), after event "*", which breaks a rule of this Weft:"*"most_in_flight"* &&
      $out == *"either the file was altered or this Weft has a fault"* ]] || fail "a call that breaks a rule"
    run "$weft" replay --json rule.weftrec
    expect_code 4
    python3 -c 'import json, sys
device = json.loads(sys.argv[1])["replayed"][0]
page = open(sys.argv[2]).read()
assert device["cut"] is None and device["events"] > 500 and device["fault"]["event"] == device["events"], device
assert all(f"`{key}`" in page for key in device["fault"]), device' "$out" "$source/docs/replay.md" || fail "the fault"
  fi
  # A file that cannot be replayed is left out and named. Alone it leaves nothing behind.
  cp "$golden/trainer_filled.weftrec" damaged.weftrec
  printf '\xff' | dd of=damaged.weftrec bs=1 seek=5000 conv=notrunc status=none
  head -c 500 "$golden/trainer_filled.weftrec" >short.weftrec
  { head -c 12 "$golden/trainer_filled.weftrec"; printf '\x63\0\0\0'; tail -c +17 "$golden/trainer_filled.weftrec"; } >newer.weftrec
  echo '{"type": "header"}' >foreign.weftrec
  touch empty.weftrec
  ln -s loop.weftrec loop.weftrec
  while IFS='|' read -r file message; do
    run "$weft" replay --output not-made "$file"
    expect_code 2
    expect_out ""
    expect_err "weft: error: $file $message"
    [[ ! -e not-made ]] || fail "a folder for a file that cannot be replayed"
    run "$weft" replay "$file" "$golden/trainer_observed.weftrec"
    expect_code 2
    expect_err "weft: error: $file $message"
    [[ $out == *"trainer_observed.weftrec: "*" records: as recorded" ]] || fail "the other file"
    run "$weft" replay --json "$golden/trainer_observed.weftrec" "$file"
    python3 -c 'import json, sys
answer = json.loads(sys.argv[1])
assert len(answer["replayed"]) == 1 and answer["replayed"][0]["rank"] == 0
[left_out] = answer["left_out"]
assert left_out["file"] == sys.argv[2] and left_out["why"]' "$out" "$file" || fail "a file that was left out, in JSON"
  done <<'FILES'
damaged.weftrec|is damaged at byte [0-9]*
short.weftrec|breaks off before its first block
newer.weftrec|has version 99 of the format; this Weft (*) replays version *
foreign.weftrec|is not a recording of Weft
empty.weftrec|is empty
missing.weftrec|does not exist
loop.weftrec|cannot be read: Too many levels of symbolic links
FILES
  # Behind its first calls a damaged file is cut.
  tail -c +17 "$golden/trainer_filled.weftrec" | cat "$golden/trainer_observed.weftrec" - >two.weftrec
  printf '\xff' | dd of=two.weftrec bs=1 seek=$(($(stat -c %s "$golden/trainer_observed.weftrec") + 5000)) conv=notrunc status=none
  run "$weft" replay two.weftrec
  expect_code 2
  expect_err "weft: error: two.weftrec is damaged at byte [0-9]*: what is behind that was left out"
  [[ $out == *" records: as recorded"*"it ends before the run did: the file is damaged at byte "* ]] || fail "a file that is damaged within"
  mkdir -p run/rank7.weftrec none
  cp "$golden/trainer_observed.weftrec" run/rank0.1.weftrec
  cp "$golden/trainer_filled.weftrec" run/rank1.2.weftrec
  touch run/other.weftrec run/rank0.1.jsonl
  run "$weft" replay --json run run/rank0.1.weftrec
  expect_code 2
  expect_err "weft: error: run/rank7.weftrec is not a file"
  python3 -c 'import json, sys
files = [device["file"] for device in json.loads(sys.argv[1])["replayed"]]
assert files == ["run/rank0.1.weftrec", "run/rank1.2.weftrec"], files' "$out" || fail "the recordings of a folder"
  rmdir run/rank7.weftrec
  run "$weft" replay run
  expect_code 0
  expect_err ""
  run "$weft" replay none
  expect_code 2
  expect_out ""
  expect_err "weft: error: none has no recordings (rank*.weftrec): WEFT_RECORD=on makes some"
  run "$weft" replay
  expect_code 2
  expect_one_line
}

"$case_name"
