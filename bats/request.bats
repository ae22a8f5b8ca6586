# The request: how it is written, and what is not written over. kubectl is a stub that records its arguments.
load helpers

setup() {
  PIDS=()
  idler
  own idea
  config "match_commands = ['$OWN']"
  touch "$BATS_TEST_TMPDIR/kubeconfig"
  start "$OWN"
}

teardown() { stop_all; }

watch() {
  run --separate-stderr "$TOOL" --config "$CONFIG" --node-name ws-1 --kubeconfig "$BATS_TEST_TMPDIR/kubeconfig"
}

# node VERSION UID [REQUESTED] is what kubectl finds.
node() { stub kubectl "[[ \$* != *' get node '* ]] || echo '$1 $2 ${3-}'"; }

@test "a match becomes three annotations, written under the resourceVersion that was read" {
  node 7 uid-1
  watch
  [ "$status" -eq 0 ]
  run calls kubectl
  [ "${#lines[@]}" -eq 2 ]
  [[ ${lines[0]} == *'get node ws-1 -o jsonpath='* ]]
  [[ ${lines[1]} == *'annotate node ws-1 --resource-version=7 --overwrite 5spot.finos.org/reclaim-requested=true '* ]]
  [[ ${lines[1]} == *"5spot.finos.org/reclaim-reason=process-match:\\ $OWN "* ]]
  [[ ${lines[1]} =~ reclaim-requested-at=20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9:]{8}\.[0-9]{3}Z ]]
}

@test "every kubectl call has a deadline, the given credential and a cache of its own, which is gone afterwards" {
  node 7 uid-1
  watch
  run calls kubectl
  for line in "${lines[@]}"; do
    [[ $line == *"--kubeconfig=$BATS_TEST_TMPDIR/kubeconfig "* ]]
    [[ $line == *'--request-timeout=2s '* ]]
    [[ $line =~ --cache-dir=([^ ]+) ]]
    [ ! -e "${BASH_REMATCH[1]%/*}" ]
  done
}

@test "Case 34: an older request is left as it is, and the exit status says so" {
  node 7 uid-1 true
  watch
  [ "$status" -eq 4 ]
  [[ $(calls kubectl) != *annotate* ]]
}

@test "Case 39: any value but true is no request, and is replaced" {
  for value in false True ''; do
    node 7 uid-1 "$value"
    watch
    [ "$status" -eq 0 ]
    [[ $(calls kubectl) == *annotate* ]]
  done
}

@test "a match and the written request are one line each, with the time in milliseconds" {
  node 7 uid-1
  watch
  [[ $stderr =~ [0-9]T[0-9:]{8}\.[0-9]{3}Z\ match:\ pid\ $STARTED,\ name\ $OWN,\ process-match:\ $OWN ]]
  [[ $stderr =~ [0-9]T[0-9:]{8}\.[0-9]{3}Z\ requested:\ Node\ ws-1 ]]
}

@test "a dry run shows the request and calls nothing" {
  node 7 uid-1
  run --separate-stderr "$TOOL" --config "$CONFIG" --dry-run
  [ "$status" -eq 0 ]
  [[ $output == *"reclaim-reason: process-match: $OWN"* ]]
  [ -z "$(calls kubectl)" ]
}

# written prints how annotate was called, one line for each time.
written() { calls kubectl | grep annotate; }

# answers LINE… lets each call of kubectl do the next line; the last one is done again.
answers() {
  printf '%s\n' "$@" >"$BATS_TEST_TMPDIR/answers"
  stub kubectl "
    n=\$(wc -l <'$BATS_TEST_TMPDIR/bin/kubectl.calls'); all=\$(wc -l <'$BATS_TEST_TMPDIR/answers')
    eval \"\$(sed -n \"\$((n < all ? n : all))p\" '$BATS_TEST_TMPDIR/answers')\""
}

@test "Case 37: while the API server is away it tries again, and writes the time of the match" {
  local away='echo "The connection to the server 127.0.0.1:6443 was refused" >&2; exit 1'
  answers "$away" "$away" "$away" 'echo 7 uid-1' 'exit 0'
  watch
  [ "$status" -eq 0 ]
  [[ $stderr =~ ([^$'\n']*)\ match: ]]
  [[ $(written) == *"reclaim-requested-at=${BASH_REMATCH[1]} "* ]]
  [ "$(grep -c 'trying again' <<<"$stderr")" -eq 1 ]
}

@test "Case 40: the Node changed between reading and writing: read again, then written once" {
  answers 'echo 7 uid-1' 'echo "Error from server (Conflict): the object has been modified" >&2; exit 1' 'echo 8 uid-1' 'exit 0'
  watch
  [ "$status" -eq 0 ]
  run written
  [ "${#lines[@]}" -eq 2 ]
  [[ ${lines[0]} == *--resource-version=7* ]]
  [[ ${lines[1]} == *--resource-version=8* ]]
}

@test "somebody else's request between reading and writing is left as it is" {
  answers 'echo 7 uid-1' 'echo "Error from server (Conflict): the object has been modified" >&2; exit 1' 'echo 8 uid-1 true'
  watch
  [ "$status" -eq 4 ]
}

@test "a Node that was replaced since the match is not asked to leave" {
  answers 'echo 7 uid-1' 'echo "Unable to connect to the server: EOF" >&2; exit 1' 'echo 9 uid-2'
  watch
  [ "$status" -eq 5 ]
  [[ $stderr == *'Node ws-1 was replaced since the match'* ]]
  [ "$(written | wc -l)" -eq 1 ]
}

@test "a server that keeps saying no ends it, with what the server said" {
  answers 'echo "Error from server (Forbidden): nodes \"ws-1\" is forbidden" >&2; exit 1'
  watch
  [ "$status" -eq 5 ]
  [[ $stderr == *'reclaim-on-match: Node ws-1: Error from server (Forbidden): nodes "ws-1" is forbidden' ]]
}

@test "a server that says no only while it starts does not" {
  local no='echo "Error from server (Forbidden): not yet" >&2; exit 1'
  answers "$no" "$no" 'echo 7 uid-1' 'exit 0'
  watch
  [ "$status" -eq 0 ]
}

@test "the reason is one printable line of 256 bytes at most, not cut inside a character" {
  # shellcheck source=../tools/reclaim-on-match.sh
  source "$TOOL"
  clean $'a\tb\e[31m\x7f'$'\xc2\x85'c
  [ "$reason" = 'a?b?[31m??c' ]
  clean "x$(printf 'é%.0s' {1..500})"
  [ "${#reason}" -eq 255 ]
  clean "$(printf 'é%.0s' {1..500})"
  [ "${#reason}" -eq 256 ]
}

@test "an entry goes to kubectl as one argument, whatever is in it" {
  own '$(touch x); -'
  config "match_commands = ['$OWN-']"
  start "$OWN-"
  node 7 uid-1
  watch
  [ "$status" -eq 0 ]
  [[ $(written) == *"5spot.finos.org/reclaim-reason=process-match:\\ $(printf '%q' "$OWN-") "* ]]
}

@test "nothing is left in the temporary directory" {
  node 7 uid-1
  mkdir "$BATS_TEST_TMPDIR/tmp"
  TMPDIR=$BATS_TEST_TMPDIR/tmp watch
  [ -z "$(ls -A "$BATS_TEST_TMPDIR/tmp")" ]
}
