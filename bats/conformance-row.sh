#!/usr/bin/env bash
# conformance-row.sh IDLER TOOL DIRECTORY ROW makes one row of the conformance table real and asks the tool about it. It must be process 1 of
# a pid namespace with a /proc of its own: then no other process can match, and all that it starts ends with it. What a test cannot
# bring about (being in a pod's cgroup, being a kernel thread) is laid over the one file of /proc that tells.
set -euo pipefail
export LC_ALL=C
source "${BASH_SOURCE[0]%/*}/processes.bash"

readonly PF_KTHREAD=0x200000

idler=$1 tool=$2 directory=$3
IFS=$'\t' read -r _ _ kind comm argv exe cgroup pid1_cgroup commands substrings verdict rule <<<"$4"

overlay() {
  printf '%s' "$2" >"$directory/overlay.${1//\//.}"
  mount --bind "$directory/overlay.${1//\//.}" "$1"
}

overlay_decoded() {
  decode "$2"
  overlay "$1" "$DECODED"$'\n'
}

# run_file FILE starts it under the row's comm and argv, and sets pid.
run_file() {
  local file=$1 name
  cp "$idler" "$file"
  decode "$comm"
  name=$DECODED
  [[ ${file##*/} == "$name"* && ${#name} -le 15 ]] || export IDLER_COMM=$name
  list "$argv"
  ((${#LIST[@]})) || LIST=(x)
  (exec -a "${LIST[0]}" "$file" "${LIST[@]:1}") &
  pid=$!
  eventually named "$pid" "$name"
  unset IDLER_COMM
}

make_process() {
  decode "$exe"
  local file=${DECODED%' (deleted)'}
  run_file "$directory/${file##*/}"
  [[ $argv != - ]] || overlay "/proc/$pid/cmdline" ''
  [[ $exe != *' (deleted)' ]] || rm "$directory/${file##*/}"
}

# make_zombie leaves an exited child to a parent that never reaps it.
make_zombie() {
  decode "$comm"
  cp "$idler" "$directory/$DECODED"
  cp "$idler" "$directory/parent"
  bash -c '"$1" & echo "$!" >"$2"; exec "$3"' - "$directory/$DECODED" "$directory/pid" "$directory/parent" &
  eventually named $! parent
  pid=$(<"$directory/pid")
  eventually named "$pid" "$DECODED"
  kill -KILL "$pid"
  eventually is_zombie
}

is_zombie() { [[ $(<"/proc/$pid/stat") == *') Z '* ]]; }

make_kernel_thread() {
  local fields
  decode "$comm"
  run_file "$directory/$DECODED"
  overlay "/proc/$pid/cmdline" ''
  read -r -a fields <"/proc/$pid/stat"
  fields[8]=$((fields[8] | PF_KTHREAD))
  overlay "/proc/$pid/stat" "${fields[*]}"$'\n'
}

ask_tool() {
  printf 'match_commands = %s\nmatch_argv_substrings = %s\n' "$commands" "$substrings" >"$directory/reclaim.toml"
  "$tool" --once --dry-run --config "$directory/reclaim.toml" >"$directory/out" 2>"$directory/err" || status=$?
  answer=$(cat "$directory/out" "$directory/err")
}

# is_right: the reason is the matching entry, with '?' for what cannot be printed.
is_right() {
  decode "${rule#*:}"
  DECODED=${DECODED//[$'\x01'-$'\x1f']/?}
  case $verdict in
    match) ((status == 0)) && [[ $answer == *"  5spot.finos.org/reclaim-reason: process-match: $DECODED"$'\n'* ]] ;;
    no) ((status == 1)) ;;
  esac
}

status=0
"make_${kind//-/_}"
overlay_decoded /proc/1/cgroup "$pid1_cgroup"
overlay_decoded "/proc/$pid/cgroup" "$cgroup"
ask_tool
is_right || {
  printf 'want %s (%s), got status %s: %s\n' "$verdict" "$rule" "$status" "$answer"
  exit 1
}
