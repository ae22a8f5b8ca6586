# What tests need inside and outside a namespace: cells of a table, and waiting for a process to be what it should be.

# decode TEXT sets DECODED to the bytes that escaped text of a table stands for; it holds no NUL.
decode() { printf -v DECODED '%b' "$1"; }

# list CELL sets LIST to its elements, each of which is followed by U+2400.
list() {
  local cell=$1
  LIST=()
  [[ $cell != - ]] || return 0
  while [[ -n $cell ]]; do
    decode "${cell%%␀*}"
    LIST+=("$DECODED")
    cell=${cell#*␀}
  done
}

# named PID COMM: does the kernel call the process by what it keeps of that name?
named() {
  local comm
  IFS= read -r -d '' comm <"/proc/$1/comm" || true # it ends where the file does
  [[ $comm == "${2:0:15}"$'\n' ]]
}

# patience SECONDS COMMAND… repeats the command until it succeeds, that long at most.
patience() {
  local end=$((SECONDS + $1))
  shift
  until "$@" 2>/dev/null; do
    ((SECONDS < end)) || {
      echo "never came true: $*" >&2
      return 1
    }
  done
}

# eventually is generous: a busy machine is no fault.
eventually() { patience 30 "$@"; }
