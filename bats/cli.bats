# Flags, exit statuses, what must be there, and how it ends.
load helpers

setup() {
  PIDS=()
  config 'match_commands = ["never-to-be-seen"]'
}

teardown() {
  stop_all
  [[ -z ${PUBLIC-} ]] || rm -rf "$PUBLIC"
}

look() { run --separate-stderr "$TOOL" --once --dry-run --config "$CONFIG" "$@"; }

@test "help names every flag, every exit status, and the subset of TOML" {
  run "$TOOL" --help
  [ "$status" -eq 0 ]
  for word in --config --node-name --kubeconfig --once --dry-run --interval-ms 'Exit status' 'Refused, though TOML'; do
    [[ $output == *"$word"* ]]
  done
  for status in 0 1 2 3 4 5 6; do [[ $output == *$'\n'"  $status  "* ]]; done
}

@test "nothing matched is exit status 1, and says so" {
  look
  [ "$status" -eq 1 ]
  [[ $stderr == *'nothing matched'* ]]
}

@test "a wrong argument is exit status 2 and one sentence that says what to do" {
  local arguments
  for arguments in '--frequency 3' 'stray' '--config' '--interval-ms 9' '--interval-ms 60001' '--interval-ms 0x20' '--interval-ms -5' \
    '--interval-ms 18446744073709551866'; do
    # shellcheck disable=SC2086 # several arguments
    look $arguments
    [ "$status" -eq 2 ]
    [ "${#stderr_lines[@]}" -eq 1 ]
  done
}

@test "without --dry-run, the Node's name and a readable kubeconfig are required, before anything is watched" {
  run "$TOOL" --config "$CONFIG" --kubeconfig "$CONFIG"
  [ "$status" -eq 2 ]
  [[ $output == *'--node-name is missing'* ]]
  run "$TOOL" --config "$CONFIG" --kubeconfig "$CONFIG" --node-name '-o yaml'
  [ "$status" -eq 2 ]
  [[ $output == *"cannot be the name of a Node"* ]]
  run "$TOOL" --config "$CONFIG" --node-name ws-1 --kubeconfig /nowhere/kubelet.conf
  [ "$status" -eq 2 ]
  [[ $output == *'/nowhere/kubelet.conf is not a readable file'* ]]
}

@test "--interval-ms takes the place of the file's interval" {
  config $'match_commands = ["never-to-be-seen"]\npoll_interval_ms = 1000'
  look
  [[ $stderr == *'every 1000 ms'* ]]
  look --interval-ms 0020
  [[ $stderr == *'every 20 ms'* ]]
}

# only NAME… leaves nothing on PATH but these.
only() {
  local name bin=$BATS_TEST_TMPDIR/only
  mkdir -p "$bin"
  for name; do ln -s "$(type -P "$name")" "$bin/$name"; done
  ONLY=$bin
}

@test "a missing tool is named, exit status 6; a dry run does without kubectl" {
  touch "$BATS_TEST_TMPDIR/kubeconfig"
  only env bash readlink mktemp rm cat
  PATH=$ONLY run "$TOOL" --dry-run --once --config "$CONFIG"
  [ "$status" -eq 6 ]
  [[ $output == *'pgrep is missing; install it'* ]]
  only pgrep
  PATH=$ONLY run "$TOOL" --config "$CONFIG" --node-name ws-1 --kubeconfig "$BATS_TEST_TMPDIR/kubeconfig"
  [ "$status" -eq 6 ]
  [[ $output == *'kubectl is missing; install it'* ]]
  PATH=$ONLY run "$TOOL" --dry-run --once --config "$CONFIG"
  [ "$status" -eq 1 ]
}

@test "the pgrep of busybox is refused at start, in a sentence" {
  stub pgrep 'echo "pgrep: unrecognized option: version" >&2; echo "BusyBox v1.36.1 multi-call binary." >&2; exit 1'
  look
  [ "$status" -eq 6 ]
  [[ $stderr == *'pgrep is not that of procps and may find less; install procps' ]]
}

@test "a pgrep that fails is an error, not a quiet machine" {
  stub pgrep '[[ $1 != --version ]] || { echo "pgrep from procps-ng"; exit; }; exit 3'
  look
  [ "$status" -eq 6 ]
  [[ $stderr == *'pgrep failed with status 3'* ]]
}

@test "Case 20: alone in a pid namespace it says that it sees nothing, and is not armed" {
  namespace true || cannot "needs root or unprivileged user namespaces"
  run namespace "$TOOL" --once --dry-run --config "$CONFIG"
  [ "$status" -eq 6 ]
  [[ $output == *"no process but this script's own can be seen"* ]]
  [[ $output != *armed* ]]
}

@test "Case 20: where hidepid hides the others it says so, and is not armed" {
  ((EUID == 0)) || cannot "needs root"
  public
  run namespace bash -c 'mount -o remount,hidepid=2 /proc && setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; exit "$?"' \
    - "$PUBLIC/tool" --once --dry-run --config "$PUBLIC/reclaim.toml"
  [ "$status" -eq 6 ]
  [[ $output == *'processes are hidden'* ]]
  [[ $output != *armed* ]]
}

@test "not as root, the programs of others are seen by name; a long name needs the arguments" {
  ((EUID == 0)) || cannot "needs root, to be somebody else then"
  idler
  own long-enough-a-name
  config "match_commands = ['$OWN']"
  public
  start "$OWN"
  run as_nobody "$PUBLIC/tool" --once --dry-run --config "$PUBLIC/reclaim.toml"
  [ "$status" -eq 0 ]
  stop_all
  start_as renamed "$OWN"
  run as_nobody "$PUBLIC/tool" --once --dry-run --config "$PUBLIC/reclaim.toml"
  [ "$status" -eq 1 ]
  run "$TOOL" --once --dry-run --config "$CONFIG"
  [ "$status" -eq 0 ]
}

# ended_by SIGNAL ends the running tool, sets status and took, in milliseconds.
ended_by() {
  local began=${EPOCHREALTIME/./}
  kill -s "$1" "$WATCHER"
  status=0
  wait "$WATCHER" || status=$?
  took=$(((${EPOCHREALTIME/./} - began) / 1000))
}

# quickest SIGNAL WHAT… starts the tool three times and ends it while it waits for WHAT; the machine may be busy with something else.
quickest() {
  local best=60000 signal=$1
  shift
  for _ in 1 2 3; do
    "$@"
    ended_by "$signal"
    ((took > best)) || best=$took
  done
  took=$best
}

while_pausing() {
  background --config "$CONFIG" --dry-run --interval-ms 60000
  eventually grep -q armed "$BATS_TEST_TMPDIR/err"
}

@test "Case 36: TERM, INT and HUP while it waits: gone within 200 ms, and nothing it started is left" {
  quickest TERM while_pausing
  [ "$status" -eq 143 ]
  [ "$took" -lt 200 ]
  # A shell cannot catch what was ignored when it started.
  [ -z "$(trap -p HUP)" ] || cannot "SIGHUP is ignored here, as under nohup"
  quickest HUP while_pausing
  [ "$status" -eq 129 ]
  [ "$took" -lt 200 ]
  [ -z "$(pgrep --parent "$WATCHER")" ]
}

@test "Case 36: TERM while pgrep hangs" {
  stub pgrep '[[ $1 != --version ]] || { echo "pgrep from procps-ng"; exit; }; echo $$ >"${0%/*}/pgrep.pid"; exec sleep 60'
  while_hanging() {
    rm -f "$BATS_TEST_TMPDIR/bin/pgrep.pid"
    background --config "$CONFIG" --dry-run
    eventually test -s "$BATS_TEST_TMPDIR/bin/pgrep.pid"
  }
  quickest TERM while_hanging
  [ "$status" -eq 143 ]
  [ "$took" -lt 200 ]
  eventually gone "$(<"$BATS_TEST_TMPDIR/bin/pgrep.pid")"
}

@test "Case 36: TERM while kubectl hangs: kubectl is ended too, and its cache is removed" {
  idler
  own idea
  config "match_commands = ['$OWN']"
  start "$OWN"
  stub kubectl 'echo $$ >"${0%/*}/kubectl.pid"; exec sleep 60'
  touch "$BATS_TEST_TMPDIR/kubeconfig"
  mkdir "$BATS_TEST_TMPDIR/tmp"
  while_writing() {
    rm -f "$BATS_TEST_TMPDIR/bin/kubectl.pid"
    TMPDIR=$BATS_TEST_TMPDIR/tmp background --config "$CONFIG" --node-name ws-1 --kubeconfig "$BATS_TEST_TMPDIR/kubeconfig"
    eventually test -s "$BATS_TEST_TMPDIR/bin/kubectl.pid"
  }
  quickest TERM while_writing
  [ "$status" -eq 143 ]
  [ "$took" -lt 200 ]
  eventually gone "$(<"$BATS_TEST_TMPDIR/bin/kubectl.pid")"
  [ -z "$(ls -A "$BATS_TEST_TMPDIR/tmp")" ]
}
