#compdef weft
# Completion of the weft command for zsh, as `weft completion zsh` prints it. The candidates come from the command.

_weft() {
  local line word about
  local -a described typed
  typed=("${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}")
  while IFS= read -r line; do
    case $line in
      :files) compset -P '-*='; _files ;;
      :folders) compset -P '-*='; _files -/ ;;
      ':command '*)
        shift $((${line#:command } + 2)) words
        ((CURRENT -= ${line#:command } + 2))
        _normal
        return ;;
      *)
        word=${line%%$'\t'*} about=""
        [[ $line == *$'\t'* ]] && about=${line#*$'\t'}
        described+=("${word//:/\\:}${about:+:$about}") ;;
    esac
  done < <("${(Q)words[1]/#\~\//$HOME/}" __complete "${typed[@]}" 2>/dev/null)
  ((${#described})) && _describe -V weft described
}

if [[ ${funcstack[1]} == _weft ]]; then _weft "$@"; else compdef _weft weft; fi
