# Completion of the weft command for bash, as `weft completion bash` prints it. The candidates come from the command.

# Splits the line up to the cursor at blanks only: bash splits at '=' and ':', too. Sets weft_words, and in weft_at for
# each of them which of COMP_WORDS it begins with.
_weft_split() {
  local rest=${COMP_LINE:0:COMP_POINT} blanks word i
  weft_words=() weft_at=()
  for ((i = 0; i <= COMP_CWORD; ++i)); do
    word=${COMP_WORDS[i]}
    blanks=${rest%%[![:space:]]*}
    rest=${rest#"$blanks"}
    [[ $rest == "$word"* ]] || word=$rest
    rest=${rest#"$word"}
    if [[ $i -gt 0 && -z $blanks ]]; then
      weft_words[-1]+=$word
    else
      weft_words+=("$word") weft_at+=("$i")
    fi
  done
}

# A file or folder of the value behind "--flag=".
_weft_paths() {
  local value=$1 path
  [[ $value == -*=* ]] && value=${value#*=}
  compopt -o filenames 2>/dev/null
  while IFS= read -r path; do COMPREPLY+=("$path"); done < <(compgen "$2" -- "$value")
}

# The command behind `weft run`: completed as if it stood alone, where bash-completion is there.
_weft_command() {
  local first=$1
  if declare -F _comp_command_offset >/dev/null; then
    _comp_command_offset "${weft_at[first]}"
  elif declare -F _command_offset >/dev/null; then
    _command_offset "${weft_at[first]}"
  elif [[ $first -eq $((${#weft_words[@]} - 1)) ]]; then
    _weft_paths "${weft_words[-1]}" -c
  else
    _weft_paths "${weft_words[-1]}" -f
  fi
}

_weft() {
  local -a weft_words weft_at
  local line current kept=""
  _weft_split
  current=${weft_words[-1]}
  # Only what stands behind the last of these is replaced by a candidate.
  [[ $COMP_WORDBREAKS == *=* && $current == *=* ]] && kept=${current%"${current##*=}"}
  [[ $COMP_WORDBREAKS == *:* && $current == *:* ]] && kept=${current%"${current##*[=:]}"}
  COMPREPLY=()
  while IFS= read -r line; do
    case $line in
      :files) _weft_paths "$current" -f ;;
      :folders) _weft_paths "$current" -d ;;
      ":command "*) _weft_command "$((${line#:command } + 2))" ;;
      *) line=${line%%$'\t'*} && COMPREPLY+=("${line#"$kept"}") ;;
    esac
  done < <("${weft_words[0]/#~\//$HOME/}" __complete "${weft_words[@]:1}" 2>/dev/null)
}

complete -F _weft weft
