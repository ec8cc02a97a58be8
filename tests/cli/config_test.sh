#!/bin/bash
# weft config, and what all verbs do where the output cannot be written.
#
# Run by ctest, a case at a time: see cases.sh.
. "$(dirname "$0")/cases.sh"

config() {
  WEFT_SLICE=200us WEFT_SLCE=1 run "$weft" config
  expect_code 0
  expect_err "weft: warning: WEFT_SLCE is not an option of Weft; did you mean WEFT_SLICE[?]"
  [[ $out =~ WEFT_SLICE\ +200us\ +300us\ +environment ]] || fail "the value, the default and the source"
  [[ $out =~ WEFT_MEMORY\ +1GiB\ +1GiB\ +default ]] || fail "a default"
  [[ $out == *"--slice, a duration from 10us to 100ms"* ]] || fail "the flag and what it accepts"
  [[ $out != *WEFT_POLL* && $out == *"weft config --all"* ]] || fail "an advanced option that is not set"
  run "$weft" config --all
  [[ $out =~ WEFT_POLL\ +50us\ +50us\ +default ]] || fail "advanced options with --all"
  WEFT_JOB=7 run "$weft" config --all
  [[ $out != *WEFT_JOB* && $out != *WEFT_WARNED* ]] || fail "internal options"
  WEFT_FILL=x WEFT_MEMORY=huge run "$weft" config --json
  expect_err ""
  checked=$(python3 -c '
import json, sys
config = json.load(sys.stdin)
options = {option["variable"]: option for option in config["options"]}
print(options["WEFT"]["value"], options["WEFT"]["source"], options["WEFT_MEMORY"]["value"], len(config["warnings"]))
print(options["WEFT"]["flag"], options["WEFT"]["accepted"])
page = open(sys.argv[1]).read()
assert all(f"`{key}`" in page for key in [*config, *options["WEFT"]]), "docs/trace.md lacks a key of weft config --json"
' "$source/docs/trace.md" <<<"$out")
  [[ $checked == "fill implied by WEFT_FILL 1GiB 1"$'\n'"--mode one of off, observe, fill" ]] || fail "JSON: $checked"
}

# Half of an answer must not be taken for all of it: LD_PRELOAD=$(weft lib) would be empty.
full_disk() {
  for verb in lib version config "config --markdown" "config --all --json" help --help --version "run --help"; do
    run sh -c '"$0" $1 >/dev/full' "$weft" "$verb"
    expect_code 1
    expect_err "weft: error: the output cannot be written: No space left on device"
  done
  run sh -c '"$0" nonsense >/dev/full' "$weft"
  expect_code 2
  run sh -c '"$0" run -q -- sh -c "exit 7" >/dev/full' "$weft"
  expect_code 7
}

options_page() {
  "$weft" config --markdown | diff - "$source/docs/options.md" || { code=- out=- err=-; fail "weft config --markdown >docs/options.md"; }
}

"$case_name"
