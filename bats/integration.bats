# The whole tool: real processes, a real kubectl, and a real API server that knows the caller as the kubelet of its Node.
load helpers

setup_file() {
  CLUSTER=$BATS_FILE_TMPDIR/cluster
  export CLUSTER
  mkdir "$CLUSTER"
  (cd "$ROOT" && go build -o "$BATS_FILE_TMPDIR/childcluster" ./bats/childcluster)
  "$BATS_FILE_TMPDIR/childcluster" "$CLUSTER" >"$CLUSTER/log" 2>&1 3>&- &
  echo $! >"$CLUSTER/pid"
  patience 120 started_or_failed
}

started_or_failed() { [[ -e $CLUSTER/ready ]] || gone "$(<"$CLUSTER/pid")"; }

teardown_file() {
  kill "$(<"$CLUSTER/pid")" 2>/dev/null || true
  wait "$(<"$CLUSTER/pid")" || true
}

setup() {
  PIDS=()
  [[ -e $CLUSTER/ready ]] || cannot "no control plane: $(<"$CLUSTER/log")"
  PATH=$CLUSTER:$PATH
  idler
  own idea
  config "match_commands = ['$OWN']"
  as ws-1 create -f - <<<'{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "ws-1"}}'
}

teardown() {
  stop_all
  [[ ! -e $CLUSTER/ready ]] || as admin delete node --all
}

# as WHO ARGUMENT… is kubectl under that credential.
as() {
  local who=$1
  shift
  kubectl --kubeconfig "$CLUSTER/$who.conf" "$@"
}

watch() { run --separate-stderr "$TOOL" --config "$CONFIG" --node-name ws-1 --kubeconfig "$CLUSTER/ws-1.conf" "$@"; }

# annotation NAME prints that of ws-1.
annotation() { as admin get node ws-1 -o "jsonpath={.metadata.annotations.5spot\.finos\.org/reclaim-$1}"; }

@test "a program starts, and its Node carries the request, written by the Node itself" {
  start "$OWN"
  watch
  [ "$status" -eq 0 ]
  [ "$(annotation requested)" = true ]
  [ "$(annotation reason)" = "process-match: $OWN" ]
  [[ $stderr == *"$(annotation requested-at) match: pid $STARTED,"* ]]
}

@test "Case 34: an older request keeps its reason and time" {
  as ws-1 annotate node ws-1 5spot.finos.org/reclaim-{requested=true,reason=earlier,requested-at=2026-04-19T21:30:00Z}
  start "$OWN"
  watch
  [ "$status" -eq 4 ]
  [ "$(annotation reason)" = earlier ]
  [ "$(annotation requested-at)" = 2026-04-19T21:30:00Z ]
}

@test "Case 39: what is no request is replaced" {
  start "$OWN"
  as ws-1 annotate node ws-1 5spot.finos.org/reclaim-{requested=false,reason=earlier}
  watch
  [ "$status" -eq 0 ]
  [ "$(annotation requested)" = true ]
  [ "$(annotation reason)" = "process-match: $OWN" ]
}

@test "Case 39: a reason alone is no request" {
  start "$OWN"
  as ws-1 annotate node ws-1 5spot.finos.org/reclaim-reason=earlier
  watch
  [ "$status" -eq 0 ]
  [ "$(annotation requested)" = true ]
}

# meddling ARGUMENT… puts a kubectl on PATH that has an administrator annotate ws-1 so, once, right before the tool's own annotate.
meddling() {
  stub kubectl "
    if [[ \$* == *' annotate '* && ! -e $BATS_TEST_TMPDIR/meddled ]]; then
      touch $BATS_TEST_TMPDIR/meddled
      $CLUSTER/kubectl --kubeconfig $CLUSTER/admin.conf annotate node ws-1 $* >/dev/null
    fi
    exec $CLUSTER/kubectl \"\$@\""
}

@test "Case 40: the Node changed between reading and writing: read again, then written once" {
  start "$OWN"
  meddling heartbeat=1
  watch
  [ "$status" -eq 0 ]
  [ "$(annotation requested)" = true ]
  [[ $stderr == *Conflict* ]]
  [ "$(calls kubectl | grep -c ' annotate ')" -eq 2 ]
}

@test "Case 40: a request that came first, between reading and writing, stays" {
  start "$OWN"
  meddling 5spot.finos.org/reclaim-{requested=true,reason=first}
  watch
  [ "$status" -eq 4 ]
  [ "$(annotation reason)" = first ]
}

@test "Case 37: the API server is away, then back: written with the time of the match" {
  start "$OWN"
  sed 's#server: .*#server: https://127.0.0.1:1#' "$CLUSTER/ws-1.conf" >"$BATS_TEST_TMPDIR/kubeconfig"
  background --config "$CONFIG" --node-name ws-1 --kubeconfig "$BATS_TEST_TMPDIR/kubeconfig"
  eventually grep -q 'trying again: .*refused' "$BATS_TEST_TMPDIR/err"
  cp "$CLUSTER/ws-1.conf" "$BATS_TEST_TMPDIR/back"
  mv "$BATS_TEST_TMPDIR/back" "$BATS_TEST_TMPDIR/kubeconfig"
  finished
  [ "$(annotation requested)" = true ]
  grep -q "^$(annotation requested-at) match: " "$BATS_TEST_TMPDIR/err"
}

@test "another node's credential is refused, and the Node is as it was" {
  start "$OWN"
  run "$TOOL" --config "$CONFIG" --node-name ws-1 --kubeconfig "$CLUSTER/ws-2.conf"
  [ "$status" -eq 5 ]
  [[ $output == *'Error from server (Forbidden)'* ]]
  [ -z "$(annotation requested)" ]
}

@test "a Node that is not there is said to be so" {
  start "$OWN"
  as admin delete node ws-1
  watch
  [ "$status" -eq 5 ]
  [[ $stderr == *'nodes "ws-1" not found'* ]]
}

@test "a dry run leaves the Node as it was" {
  start "$OWN"
  watch --dry-run
  [ "$status" -eq 0 ]
  [ -z "$(annotation requested)" ]
}

@test "an entry with everything that a shell or kubectl could take for something else arrives as it is" {
  own '$(id);`=,-'
  config "match_commands = ['$OWN']"
  start "$OWN"
  watch
  [ "$status" -eq 0 ]
  [ "$(annotation reason)" = "process-match: $OWN" ]
}
