# The request: how it is written, and what is not written over. kubectl is a stub that records its arguments.
load helpers

setup() {
  PIDS=()
  idler
  config 'match_commands = ["owner-program"]'
  touch "$BATS_TEST_TMPDIR/kubeconfig"
  start owner-program
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
  [[ ${lines[1]} == *'5spot.finos.org/reclaim-reason=process-match:\ owner-program '* ]]
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
  [[ $stderr =~ [0-9]T[0-9:]{8}\.[0-9]{3}Z\ match:\ pid\ $STARTED,\ name\ owner-program,\ process-match:\ owner-program ]]
  [[ $stderr =~ [0-9]T[0-9:]{8}\.[0-9]{3}Z\ requested:\ Node\ ws-1 ]]
}

@test "a dry run shows the request and calls nothing" {
  node 7 uid-1
  run --separate-stderr "$TOOL" --config "$CONFIG" --dry-run
  [ "$status" -eq 0 ]
  [[ $output == *'reclaim-reason: process-match: owner-program'* ]]
  [ -z "$(calls kubectl)" ]
}
