#!/usr/bin/env bash
# Watches one node for the processes that mean "the owner is back", and asks for the node's removal when one of them runs. It is the trial
# tool: one file, nothing to install, to see on one node what the agent would do. Matching and the request are the agent's, row by row
# of testdata/conformance; what bash and pgrep cannot do is in --help.
set -uo pipefail
# Bytes, not characters: the kernel cuts names by byte, and matching is byte for byte.
export LC_ALL=C TZ=UTC0

readonly PREFIX=5spot.finos.org/reclaim
readonly NOTHING_MATCHED=1 BAD_USAGE=2 BAD_CONFIG=3 ALREADY_REQUESTED=4 CANNOT_WRITE=5 CANNOT_WATCH=6
readonly MIN_INTERVAL_MS=10 MAX_INTERVAL_MS=60000
readonly COMM_BYTES=15 # what the kernel keeps of a command name (TASK_COMM_LEN less the NUL)
readonly PF_KTHREAD=0x200000
readonly PGREP_BYTES=131072 # what pgrep looks at of a process's arguments
readonly PGREP_SECONDS=2    # what it may take, after each line
readonly REASON_BYTES=256
readonly REFUSALS=5

usage() {
  cat <<'HELP'
Usage: reclaim-on-match.sh --node-name NAME [--config FILE] [--kubeconfig FILE] [--once] [--dry-run] [--interval-ms N]

Watches this machine's processes. When one matches, it writes the three 5spot.finos.org/reclaim-* annotations on the machine's own
Node, once, and exits: the cluster removes the node. An existing request is never overwritten.

  --node-name NAME    the machine's Node (with k0smotron the name of its Machine, not the host name); not needed with --dry-run
  --config FILE       what to look for (default /etc/5spot/reclaim.toml)
  --kubeconfig FILE   the node's own credential (default the first that exists of /var/lib/k0s/kubelet.conf and
                      /etc/kubernetes/kubelet.conf)
  --once              look once instead of until something matches
  --dry-run           say what would be written, write nothing; needs no cluster
  --interval-ms N     time between two looks, 10 to 60000, instead of the file's poll_interval_ms

Exit status
  0  a process matched and the request is written (with --dry-run: would be)
  1  nothing matched (--once)
  2  wrong usage
  3  the configuration is refused; the message names file, line and key
  4  the Node already carried a request; nothing is written
  5  the request cannot be written: no such Node, no permission, Node replaced meanwhile
  6  a tool is missing or of the wrong kind, or the processes of this machine cannot be seen
  129, 130, 143  ended by HUP, INT, TERM

The configuration: a subset of TOML
  match_commands = ["java", 'idea']            command names, equal byte for byte
  match_argv_substrings = ["com.intellij"]     fixed strings within the arguments, joined by one space
  poll_interval_ms = 250                       plain decimal digits
Arrays may span lines, have comments and a final comma; strings stand in '…' or in "…" with \b \t \f \r \" \\ \uXXXX \UXXXXXXXX.
Refused, though TOML: quoted and dotted keys, tables, """ and ''' strings, other forms of a number.

Limits
  pgrep looks at the first 128 KiB of a process's arguments. What starts and ends between two looks is not seen. Ancestors of this
  script never match: start it from a terminal inside an IDE, and that IDE is not seen. Not as root, a name over 15 bytes is
  recognised by the arguments alone where /proc/PID/exe is unreadable. An unreachable API server is retried until it answers.
Needs bash 4.4, coreutils, pgrep of procps, and kubectl.
HELP
}

# ---------------------------------------------------------------------------------------------------------------- saying things

now() {
  if [[ -n ${EPOCHREALTIME-} ]]; then
    printf -v "$1" '%(%Y-%m-%dT%H:%M:%S)T.%.3sZ' "${EPOCHREALTIME%.*}" "${EPOCHREALTIME#*.}"
  else
    printf -v "$1" '%(%Y-%m-%dT%H:%M:%SZ)T' -1 # bash before 5 has no fractions
  fi
}

say() {
  local at
  now at
  say_at "$at" "$*"
}

say_at() { printf '%s %s\n' "$@" >&2; }

die() {
  local status=$1
  shift
  printf 'reclaim-on-match: %s\n' "$*" >&2
  exit "$status"
}

# ------------------------------------------------------------------------------------------------------------- the configuration

COMMANDS=()
SUBSTRINGS=()
INTERVAL_MS=250

refuse() { die "$BAD_CONFIG" "$config_file:$line_number: $*"; }

# read_config fills COMMANDS, SUBSTRINGS and INTERVAL_MS. A line is a unit of the subset, so that every refusal has a line number.
read_config() {
  local config_file=$1 text line rest line_number=0 key='' last='' seen=' '
  slurp_config
  while [[ -n $text ]]; do
    line=${text%%$'\n'*}
    text=${text:${#line}+1}
    line_number=$((line_number + 1))
    rest=${line%$'\r'}
    check_bytes
    if [[ -n $key ]]; then read_items; else read_assignment; fi
  done
  [[ -z $key ]] || refuse "$key: the array is not closed; add ']'"
}

slurp_config() {
  [[ -f $config_file || -p $config_file ]] || die "$BAD_CONFIG" "$config_file: no such file; name one with --config"
  [[ -r $config_file ]] || die "$BAD_CONFIG" "$config_file: not readable"
  # read succeeds only when it meets the delimiter, and bash would drop a NUL silently.
  if IFS= read -r -d '' text <"$config_file"; then
    line=${text//[!$'\n']/}
    line_number=$((${#line} + 1))
    refuse "a NUL byte is not TOML; remove it"
  fi
}

readonly UTF8=$'^([\x01-\x7f]|[\xc2-\xdf][\x80-\xbf]|\xe0[\xa0-\xbf][\x80-\xbf]|[\xe1-\xec\xee\xef][\x80-\xbf][\x80-\xbf]|\xed[\x80-\x9f][\x80-\xbf]|\xf0[\x90-\xbf][\x80-\xbf][\x80-\xbf]|[\xf1-\xf3][\x80-\xbf][\x80-\xbf][\x80-\xbf]|\xf4[\x80-\x8f][\x80-\xbf][\x80-\xbf])*$'

check_bytes() {
  [[ ! $rest =~ [$'\x01'-$'\x08'$'\x0a'-$'\x1f'$'\x7f'] ]] || refuse "a control character is not TOML; in \"…\" write it as \\uXXXX"
  [[ $rest =~ $UTF8 ]] || refuse "not UTF-8"
}

skip_blanks() { rest=${rest#"${rest%%[! $'\t']*}"}; }

end_line() {
  skip_blanks
  [[ -z $rest || $rest == '#'* ]] || refuse "$1: unexpected '$rest' after the value; one key per line"
}

readonly ASSIGNMENT=$'^([A-Za-z0-9_-]+)[ \t]*=[ \t]*(.*)$'

read_assignment() {
  skip_blanks
  case $rest in
    '' | '#'*) return ;;
    '['*) refuse "a table is not expected here; the file has three keys: match_commands, match_argv_substrings, poll_interval_ms" ;;
  esac
  [[ $rest =~ $ASSIGNMENT ]] || refuse "want key = value with a plain key, for example match_commands = [\"java\"]"
  local name=${BASH_REMATCH[1]}
  rest=${BASH_REMATCH[2]}
  [[ $seen != *" $name "* ]] || refuse "$name: given twice; keep one"
  seen+="$name "
  case $name in
    match_commands | match_argv_substrings) open_array "$name" ;;
    poll_interval_ms) read_interval "$name" ;;
    *) refuse "unknown key \"$name\"; the keys are match_commands, match_argv_substrings and poll_interval_ms" ;;
  esac
}

readonly WHOLE_NUMBER=$'^(0|[1-9][0-9]*)([ \t#].*)?$'

read_interval() {
  [[ $rest =~ $WHOLE_NUMBER ]] || refuse "$1: want a whole number of milliseconds in plain digits, for example 250"
  local digits=${BASH_REMATCH[1]}
  rest=${BASH_REMATCH[2]}
  end_line "$1"
  in_range "$digits" || refuse "$1: $digits is outside $MIN_INTERVAL_MS to $MAX_INTERVAL_MS milliseconds"
  INTERVAL_MS=$digits
}

# in_range takes digits only; their count is looked at first, because bash wraps around at 64 bits.
in_range() { ((${#1} <= ${#MAX_INTERVAL_MS} && 10#$1 >= MIN_INTERVAL_MS && 10#$1 <= MAX_INTERVAL_MS)); }

open_array() {
  [[ $rest == '['* ]] || refuse "$1: want an array of strings, for example [\"java\"]"
  rest=${rest#'['}
  key=$1 last=open
  read_items
}

# read_items takes what this line holds of the array; last is what came before: open, value or comma.
read_items() {
  local entry
  while skip_blanks && [[ -n $rest && $rest != '#'* ]]; do
    case $rest in
      ']'*) close_array && return ;;
      ','*) read_comma ;;
      [\'\"]*) read_entry ;;
      *) refuse "$key: every entry is a string in quotes, for example [\"java\"]" ;;
    esac
  done
}

close_array() {
  rest=${rest#']'}
  end_line "$key"
  key=''
}

read_comma() {
  [[ $last == value ]] || refuse "$key: a comma without an entry before it"
  rest=${rest#,}
  last=comma
}

read_entry() {
  [[ $last != value ]] || refuse "$key: a comma is missing between two entries"
  read_string
  check_entry
  if [[ $key == match_commands ]]; then COMMANDS+=("$entry"); else SUBSTRINGS+=("$entry"); fi
  last=value
}

check_entry() {
  [[ -n $entry ]] || refuse "$key: \"\": an empty string would match every process; remove it"
  [[ $entry != *$'\n'* ]] || refuse "$key: an entry is one line without NUL"
  [[ $key != match_commands || $entry != */* ]] ||
    refuse "$key: $(printf '%q' "$entry"): a command name has no '/'; give the last part of the path, or use match_argv_substrings"
}

readonly LITERAL=$'^\'([^\']*)\'(.*)$' BASIC='^"(([^"\\]|\\.)*)"(.*)$'

read_string() {
  case $rest in
    "'''"* | '"""'*) refuse "$key: a string with three quotes is outside this tool's subset of TOML; write '…' or \"…\"" ;;
  esac
  if [[ $rest =~ $LITERAL ]]; then
    entry=${BASH_REMATCH[1]} rest=${BASH_REMATCH[2]}
  elif [[ $rest =~ $BASIC ]]; then
    entry=${BASH_REMATCH[1]} rest=${BASH_REMATCH[3]}
    unescape
  else
    refuse "$key: the string is not closed on this line"
  fi
}

readonly ESCAPE='^([^\]*)\\(u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|[btnfr"\])(.*)$'

unescape() {
  local out='' char
  while [[ $entry == *\\* ]]; do
    [[ $entry =~ $ESCAPE ]] || refuse "$key: after a backslash, one of b t n f r \" \\ uXXXX UXXXXXXXX; or write '…', where it stands for itself"
    entry=${BASH_REMATCH[3]}
    char=${BASH_REMATCH[2]}
    out+=${BASH_REMATCH[1]}
    case $char in
      [uU]*) encode_utf8 "$((16#${char:1}))" ;;
      \") ;;
      *) printf -v char '%b' "\\$char" ;;
    esac
    out+=$char
  done
  entry=$out$entry
}

# encode_utf8 sets char. printf's own \u follows the locale, which is C here.
encode_utf8() {
  local n=$1
  ((n != 0)) || refuse "$key: an entry is one line without NUL"
  ((n < 0xd800 || n > 0xdfff && n <= 0x10ffff)) || refuse "$key: no character has the number of that \\u escape"
  if ((n < 0x80)); then
    octets "$n"
  elif ((n < 0x800)); then
    octets $((0xc0 | n >> 6)) $((0x80 | n & 0x3f))
  elif ((n < 0x10000)); then
    octets $((0xe0 | n >> 12)) $((0x80 | n >> 6 & 0x3f)) $((0x80 | n & 0x3f))
  else
    octets $((0xf0 | n >> 18)) $((0x80 | n >> 12 & 0x3f)) $((0x80 | n >> 6 & 0x3f)) $((0x80 | n & 0x3f))
  fi
}

octets() {
  printf -v char '\\x%02x' "$@"
  printf -v char '%b' "$char"
}

# ----------------------------------------------------------------------------------------------------------- one process in /proc

# read_stat sets state, parent, flags and started of a process, or fails when it is gone. A name may hold anything but the kernel puts
# nothing after the last parenthesis that could be mistaken for it.
read_stat() {
  local text='' fields
  { IFS= read -r -d '' text <"/proc/$1/stat"; } 2>/dev/null
  [[ $text == *')'* ]] || return 1
  read -r -a fields <<<"${text##*) }"
  state=${fields[0]} parent=${fields[1]} flags=${fields[6]} started=${fields[19]}
}

# descends: is process $1 the process $2, or started by it or by its children?
descends() {
  local pid=$1 state parent flags started
  while ((pid != $2)); do
    read_stat "$pid" && ((parent > 0)) || return 1
    pid=$parent
  done
}

# family: this script, what started it (their arguments name its configuration) and what it started (their arguments are the patterns).
family() { descends "$1" $$ || descends $$ "$1"; }

# depths: how deep this script sits in each cgroup hierarchy, told by the ".." components that lead to process 1.
declare -A depths=()

read_depths() {
  local line
  while IFS= read -r line; do
    strip_ups "${line#*:*:}"
    depths[${line%%:*}]=$ups
  done <"/proc/1/cgroup"
}

strip_ups() {
  path=$1 ups=0
  while [[ $path == /.. || $path == /../* ]]; do
    path=${path#/..}
    ups=$((ups + 1))
  done
}

# belongs_to_node: a pod's process, or the machinery that runs pods. Any line of the cgroup file decides (v1 has many).
belongs_to_node() {
  local line path ups
  case $comm in k0s | kubelet | containerd | containerd-shim | crio | conmon | runc | crun | runc:\[*) return 0 ;; esac
  while IFS= read -r line; do
    strip_ups "${line#*:*:}"
    ((ups >= ${depths[${line%%:*}]:-0})) || return 0
    [[ ! $path =~ $POD_PATH && ! $path =~ $MACHINERY_PATH ]] || return 0
  done 2>/dev/null <"/proc/$1/cgroup"
  return 1
}

readonly POD_PATH='^/(kubepods|kubepods\.slice|kata_overhead|k8s\.io)(/|$)|^/system\.slice/[^/]+\.service/kubepods[^/:]*:[^/:]*:'
readonly MACHINERY_PATH='^/system\.slice/(k0sworker|k0scontroller|kubelet|containerd|crio)\.service(/|$)'

# read_comm takes off the one newline that the kernel adds.
read_comm() {
  comm=''
  { IFS= read -r -d '' comm <"/proc/$1/comm"; } 2>/dev/null
  comm=${comm%$'\n'}
}

read_args() {
  args=()
  { mapfile -t -d '' args <"/proc/$1/cmdline"; } 2>/dev/null
}

# matches LIST PID: does the process match an entry of LIST, and is it a process that counts? Sets entry and comm. Whatever vanishes
# meanwhile is no match, and a pid that was given to another process between two reads is none either.
matches() {
  local list=$1 pid=$2 state parent flags started born
  read_stat "$pid" && [[ $state != [ZXx] ]] && ((! (flags & PF_KTHREAD))) || return 1
  born=$started
  read_comm "$pid"
  "first_$list" "$pid" && ! belongs_to_node "$pid" && ! family "$pid" || return 1
  read_stat "$pid" && [[ $started == "$born" ]]
}

first_command() {
  for entry in "${COMMANDS[@]}"; do
    [[ $comm == "${entry:0:COMM_BYTES}" ]] || continue
    if ((${#entry} <= COMM_BYTES)) || is_called "$1"; then return 0; fi
  done
  return 1
}

# is_called: the kernel keeps 15 bytes of a name; the rest must be told by argv or by the file that runs.
is_called() {
  local args exe
  read_args "$1"
  [[ ${args[0]-} == "$entry" || ${args[0]-} == */"$entry" || ${args[1]-} == "$entry" || ${args[1]-} == */"$entry" ]] && return
  exe=$(readlink -- "/proc/$1/exe" 2>/dev/null) || return
  exe=${exe%' (deleted)'}
  [[ ${exe##*/} == "$entry" ]]
}

first_substring() {
  local args joined IFS=' '
  read_args "$1"
  joined="${args[*]-}"
  for entry in "${SUBSTRINGS[@]}"; do
    [[ $joined != *"$entry"* ]] || return 0
  done
  return 1
}

# ------------------------------------------------------------------------------------------------------------------------- a sweep

# pattern LENGTH ENTRY…: the entries, cut to LENGTH, as one extended regular expression. pgrep sees names with their backslashes written twice
# and, depending on its version, with '?' for every byte that is not printable ASCII: so it may find too much, never too little.
pattern() {
  local length=$1 entry char out=''
  shift
  for entry; do
    entry=${entry:0:length}
    entry=${entry//\\/\\\\}
    for char in '.' '[' ']' '(' ')' '*' '+' '?' '{' '}' '|' '^' '$'; do entry=${entry//"$char"/"\\$char"}; done
    entry=${entry//[! -~]/.}
    out+="|${entry//\\\\/\\\\\{1,2\}}"
  done
  regex="(${out#|})"
}

# candidates sets found to the pids that pgrep names; /proc confirms them. Not in $(…), which would keep a signal waiting for pgrep.
candidates() {
  local output status line
  found=()
  exec {output}< <(exec pgrep "$@" 2>/dev/null)
  child=$!
  while true; do
    read -r -t "$PGREP_SECONDS" -u "$output" line
    status=$? # above 128: time is up
    ((status == 0)) || break
    found+=("$line")
  done
  exec {output}<&-
  if ((status > 128)); then give_up_on_pgrep; else reap_pgrep; fi
}

reap_pgrep() {
  local status
  wait "$child"
  status=$?
  child=''
  ((status <= 1)) || die "$CANNOT_WATCH" "pgrep failed with status $status"
}

# give_up_on_pgrep: reading the arguments of a process whose memory is locked can block for ever, and pgrep reads everybody's, whatever it
# is asked. It is not waited for: it may not even die.
give_up_on_pgrep() {
  kill "$child" 2>/dev/null
  child=''
  [[ -n $pgrep_hung ]] || say "pgrep hangs at a process whose arguments cannot be read: names are read without it, arguments as far as it gets"
  pgrep_hung=1
}

everybody() {
  found=(/proc/[0-9]*)
  found=("${found[@]#/proc/}")
}

# sweep sets pid, comm and entry of the first match. Names come first: reading arguments costs more, and can block.
sweep() {
  if ((${#COMMANDS[@]})); then
    if [[ -n $pgrep_hung ]]; then everybody; else candidates -x -- "$commands_regex"; fi
    for pid in "${found[@]}"; do matches command "$pid" && return; done
  fi
  if ((${#SUBSTRINGS[@]})); then
    candidates -f -- "$substrings_regex"
    for pid in "${found[@]}"; do matches substring "$pid" && return; done
  fi
  return 1
}

# pause MS: read waits without a process of its own, so that a signal is answered at once and nothing is orphaned.
pause() {
  local seconds
  printf -v seconds '%d.%03d' $(($1 / 1000)) $(($1 % 1000))
  read -r -t "$seconds" -u "$silence"
}

wait_for_match() {
  local found regex commands_regex substrings_regex pgrep_hung=''
  pattern "$COMM_BYTES" "${COMMANDS[@]}"
  commands_regex=$regex
  pattern "$PGREP_BYTES" "${SUBSTRINGS[@]}"
  substrings_regex=$regex
  until sweep; do
    [[ -z $once ]] || return 1
    pause "$INTERVAL_MS"
  done
  return 0
}

# ----------------------------------------------------------------------------------------------------------------------- the request

# clean sets reason to at most 256 printable bytes, never cut inside a character: what a reader of the annotation would make of it anyway.
clean() {
  reason=${1//[$'\x01'-$'\x1f'$'\x7f']/?}
  reason=${reason//$'\xc2'[$'\x80'-$'\x9f']/?}
  ((${#reason} > REASON_BYTES)) || return 0
  local end=$REASON_BYTES
  while [[ ${reason:end:1} == [$'\x80'-$'\xbf'] ]]; do end=$((end - 1)); done
  reason=${reason:0:end}
}

# kube runs kubectl beside the script, so that a signal need not wait for it. Output is in $scratch/out and err.
kube() {
  kubectl --kubeconfig="$kubeconfig" --cache-dir="$scratch/cache" --request-timeout=2s "$@" >"$scratch/out" 2>"$scratch/err" &
  child=$!
  wait "$child"
  local status=$?
  child=''
  return "$status"
}

readonly NODE_FIELDS="{.metadata.resourceVersion} {.metadata.uid} {.metadata.annotations.${PREFIX//./\\.}-requested}"

# attempt reads the Node, decides, and writes under the resourceVersion that it read: between the two nobody else can have written.
attempt() {
  local version uid requested
  kube get node "$node_name" -o "jsonpath=$NODE_FIELDS" || return
  IFS=' ' read -r version uid requested <"$scratch/out"
  [[ $requested != true ]] || die "$ALREADY_REQUESTED" "Node $node_name already carries a request; nothing is written"
  [[ ${node_uid:=$uid} == "$uid" ]] || die "$CANNOT_WRITE" "Node $node_name was replaced since the match; the request was not meant for the new one"
  kube annotate node "$node_name" --resource-version="$version" --overwrite \
    "$PREFIX-requested=true" "$PREFIX-reason=$reason" "$PREFIX-requested-at=$matched_at"
}

# refused: the API server or kubectl answered, and the answer is no. Everything else (server away, conflict, overload) passes.
refused() {
  [[ $1 =~ \((NotFound|Forbidden|BadRequest|Invalid)\)|'must be logged in'|'error loading config file'|'invalid configuration' ]]
}

# write_request tries until it is written. A "no" counts when it is repeated: a server that has just started says it to everybody.
write_request() {
  local node_uid='' delay=50 refusals=0 error said=''
  until attempt; do
    error=$(<"$scratch/err")
    error=${error##*$'\n'}
    if refused "$error"; then refusals=$((refusals + 1)); else refusals=0; fi
    ((refusals < REFUSALS)) || die "$CANNOT_WRITE" "Node $node_name: $error"
    [[ $error == "$said" ]] || say "not written yet, trying again: $error"
    said=$error
    pause $((delay / 2 + RANDOM % (delay / 2 + 1)))
    delay=$((delay * 2 < 5000 ? delay * 2 : 5000))
  done
  say "requested: Node $node_name carries the request"
}

show_request() {
  printf 'would annotate Node %s\n' "${node_name:-(no --node-name)}"
  printf "  $PREFIX-%s: %s\n" requested true reason "$reason" requested-at "$matched_at"
}

# ------------------------------------------------------------------------------------------------------------------ starting and ending

parse_flags() {
  while (($#)); do
    case $1 in
      --help | -h) usage && exit ;;
      --once) once=1 ;;
      --dry-run) dry_run=1 ;;
      --config | --node-name | --kubeconfig | --interval-ms)
        [[ -n ${2-} ]] || die "$BAD_USAGE" "$1 needs a value; see --help"
        take_value "$1" "$2"
        shift
        ;;
      *) die "$BAD_USAGE" "unknown argument '$1'; see --help" ;;
    esac
    shift
  done
}

take_value() {
  case $1 in
    --config) config=$2 ;;
    --node-name) node_name=$2 ;;
    --kubeconfig) kubeconfig=$2 ;;
    --interval-ms) interval=$2 ;;
  esac
}

check_flags() {
  [[ -z $interval ]] || { [[ $interval != *[!0-9]* ]] && in_range "$interval"; } ||
    die "$BAD_USAGE" "--interval-ms: '$interval' is not a number from $MIN_INTERVAL_MS to $MAX_INTERVAL_MS"
  [[ -z $dry_run ]] || return 0
  [[ -n $node_name ]] || die "$BAD_USAGE" "--node-name is missing: the name of this machine's Node; or --dry-run"
  [[ $node_name =~ ^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$ ]] || die "$BAD_USAGE" "--node-name: '$node_name' cannot be the name of a Node"
  [[ -n $kubeconfig ]] || find_kubeconfig
  [[ -f $kubeconfig && -r $kubeconfig ]] || die "$BAD_USAGE" "--kubeconfig: $kubeconfig is not a readable file"
}

find_kubeconfig() {
  for kubeconfig in /var/lib/k0s/kubelet.conf /etc/kubernetes/kubelet.conf; do
    [[ ! -e $kubeconfig ]] || return 0
  done
  die "$BAD_USAGE" "no kubelet credential in its usual places; name one with --kubeconfig"
}

check_tools() {
  local tool
  ((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] >= 404)) || die "$CANNOT_WATCH" "bash $BASH_VERSION is too old; 4.4 is needed"
  for tool in pgrep readlink mktemp rm ${dry_run:-kubectl}; do
    [[ $tool == 1 ]] || type -P "$tool" >/dev/null || die "$CANNOT_WATCH" "$tool is missing; install it"
  done
  [[ $(pgrep --version 2>&1) == *procps* ]] || die "$CANNOT_WATCH" "pgrep is not that of procps and may find less; install procps"
}

# check_view: with hidepid, or alone in a pid namespace, everything looks quiet for ever.
check_view() {
  local entry
  [[ -r /proc/1/comm ]] || die "$CANNOT_WATCH" "other users' processes are hidden (/proc mounted with hidepid); run as root"
  for entry in /proc/[0-9]*; do
    family "${entry#/proc/}" || return 0
  done
  die "$CANNOT_WATCH" "no process but this script's own can be seen; run it in the host's pid namespace"
}

# What must not outlive the script.
child='' scratch=''

clean_up() {
  [[ -z $child ]] || kill "$child" 2>/dev/null
  [[ -z $scratch ]] || rm -rf -- "$scratch"
}

prepare() {
  trap clean_up EXIT
  trap 'exit 129' HUP
  trap 'exit 130' INT
  trap 'exit 143' TERM
  exec {silence}<> <(:) # nobody writes to it: reading it is waiting
  read_depths
}

main() {
  local config=/etc/5spot/reclaim.toml node_name='' kubeconfig='' interval='' once='' dry_run='' silence
  local pid comm entry reason matched_at
  parse_flags "$@"
  check_flags
  check_tools
  read_config "$config"
  INTERVAL_MS=$((10#${interval:-$INTERVAL_MS})) # a leading zero is no octal number
  check_view
  prepare
  say "armed: ${#COMMANDS[@]} command names, ${#SUBSTRINGS[@]} argument substrings, every $INTERVAL_MS ms"
  ((${#COMMANDS[@]} + ${#SUBSTRINGS[@]})) || say "both lists are empty: nothing can match"
  if ! wait_for_match; then say "nothing matched" && exit "$NOTHING_MATCHED"; fi
  now matched_at
  clean "process-match: $entry"
  printf -v comm '%q' "$comm"
  say_at "$matched_at" "match: pid $pid, name $comm, $reason"
  if [[ -n $dry_run ]]; then show_request && exit; fi
  scratch=$(mktemp -d) || die "$CANNOT_WRITE" "no temporary directory for kubectl; set TMPDIR to one that can be written"
  write_request
}

# Sourced, it is a library for its tests.
if [[ ${BASH_SOURCE[0]} == "$0" ]]; then main "$@"; fi
