#!/usr/bin/env bash
# The contract of libweft.so, read from the file. Arguments: the library, hooks.def.
set -u
library=$1
hooks=$2
failures=0
fail() {
  echo "FAILED: $*"
  failures=$((failures + 1))
}

dynamic=$(readelf --wide --dynamic "$library")

needed=$(sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' <<<"$dynamic")
for name in $needed; do
  case $name in
    libc.so.6 | ld-linux-x86-64.so.2) ;;
    *) fail "needs $name" ;;
  esac
done
[[ $needed == *libc.so.6* ]] || fail "the needed libraries could not be read"

for tag in INIT FINI INIT_ARRAY FINI_ARRAY PREINIT_ARRAY TEXTREL RPATH RUNPATH; do
  grep -q "($tag)" <<<"$dynamic" && fail "has a DT_$tag"
done
grep -q 'FLAGS_1.*NODELETE' <<<"$dynamic" || fail "can be unloaded"
readelf --wide --sections "$library" | grep -Eq '\.(init|fini|ctors|dtors)(_array)?\b' && fail "has sections of constructors"

# "NAME@VERSION": a version that is not the default one, so that linked references find it and dlsym does not. It has to be
# the library's first. References to dlsym have libc's version, and find a name without one; so does dlsym itself.
wanted=$( (echo dlsym; echo weft_say_v1; echo weft_nvtx_v1; sed -n 's/^HOOK([a-z]*, \([A-Za-z0-9_]*\),.*/\1@WEFT/p' "$hooks") | sort)
exported=$(nm --dynamic --defined-only "$library" | awk '$2 != "A" { print $3 }' | sort)
[[ -n $exported && $exported == "$wanted" ]] || fail "exports differ from the list:
$(diff <(echo "$wanted") <(echo "$exported"))"
grep -Eq 'Index: 2 .*Name: WEFT$' <<<"$(readelf --wide --version-info "$library")" || fail "WEFT is not the first version"

imported=$(nm --dynamic --undefined-only "$library" | awk '{ print $2 }')
for name in exit _exit abort printf fprintf vfprintf puts malloc calloc free realloc pthread_create pthread_mutex_lock \
  pthread_once sigaction getenv setenv atexit __cxa_atexit __cxa_finalize __cxa_guard_acquire __tls_get_addr \
  __stack_chk_fail fork dlsym; do
  grep -qx "$name\(@.*\)\?" <<<"$imported" && fail "imports $name"
done
grep -q '^_Z' <<<"$imported" && fail "imports C++ symbols"
newest=$(grep -o 'GLIBC_2\.[0-9]*' <<<"$imported" | sort -t. -k2 -n | tail -1)
[[ -n $newest && ${newest#GLIBC_2.} -le 34 ]] || fail "needs $newest"

# A hook that the compiler splits takes its own return address for its caller's.
split=$(nm "$library" | awk '{ print $3 }' | grep -E '^(cu|nccl)[A-Za-z0-9_]*\.(part|constprop|isra)')
[[ -z $split ]] || fail "hooks are split: $split"

tls=$(readelf --wide --segments "$library" | awk '$1 == "TLS" { print $6 }')
[[ -n $tls ]] && tls=$((tls))
[[ -n $tls && $tls -le 64 ]] || fail "takes ${tls:-an unknown number of} bytes of static TLS"

# A launch is counted: its hook calls nothing but for another stream than the last one, for a graph of which something is
# known, for an event that it records or for a kernel of an NCCL that is not hooked, and locks nothing. Its real function
# is looked up once; a call through a register is that function's. An exchange with memory is locked without saying so.
locked='[[:space:]]lock[[:space:]]|[[:space:]]xchg[bwlq]?[[:space:]].*\('
disassembled() { objdump --disassemble="$1" --no-show-raw-insn "$library" | grep -E '^ +[0-9a-f]+:'; }
# Lines that `locked` has to find, and not to find.
grep -Eq "$locked" <<<' 1: lock incq (%rax)' && grep -Eq "$locked" <<<' 1: xchg   %al,0x82(%rdi)' &&
  ! grep -Eq "$locked" <<<' 1: xchg   %ax,%ax' || fail "locked instructions are not told from others"
for hook in cuLaunchKernel cuLaunchKernelEx cuGraphLaunch; do
  code=$(disassembled "$hook"; disassembled "$hook.cold")
  grep -Eq "$locked" <<<"$code" && fail "$hook has a locked instruction"
  called=$(grep -o 'call .*' <<<"$code" |
    grep -Ev 'find_real|count_on_another_stream|graph_launch(_begins|ed)|unseen_nccl|launch_and_record|\*%')
  [[ -z $called ]] || fail "$hook calls $called"
done

# The way on from there, behind a switch of streams, a copy or a wait. Calls lead to what is done once for a stream or a
# thread, or makes a marker or an event; only those may lock.
path='count_on_another_stream note_launchE name_of find_stream current_device is_capturing is_held_back'
rare='find_real ask_current_device learn note_first_use note_unasked_launch count_this_thread mark hold_back note_first_launch'
for function in $path; do
  symbols=$(nm "$library" | awk '{ print $3 }' | grep -E "^_ZN4weft[0-9A-Za-z_]*[0-9]$function" | sort -u)
  [[ -n $symbols || $function != @(count_on_another_stream|note_launchE) ]] || fail "$function is not found"
  for symbol in $symbols; do
    code=$(disassembled "$symbol")
    [[ -n $code ]] || fail "$symbol cannot be read"
    grep -Eq "$locked" <<<"$code" && fail "$symbol has a locked instruction: $(grep -E "$locked" <<<"$code" | head -1)"
    others=$(grep -Eo '(call|jmp) .*<[^+>]*>' <<<"$code" | grep -Ev "[0-9](${path// /|}|${rare// /|})" | sort -u)
    [[ -z $others ]] || fail "$symbol calls $others"
  done
done

((failures == 0)) && echo "libweft.so: $(wc -w <<<"$exported") exports, $tls bytes of TLS, $newest"
exit $((failures != 0))
