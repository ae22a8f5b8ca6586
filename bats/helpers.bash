# What the tests share: the tool, stubs on PATH that record how they were called, and processes to be seen.
bats_require_minimum_version 1.5.0

ROOT=$(cd "$BATS_TEST_DIRNAME/.." && pwd)
TOOL=$ROOT/tools/reclaim-on-match.sh

source "$BATS_TEST_DIRNAME/processes.bash"

# cannot REASON: skips; under CI, where everything is there, it fails.
cannot() {
  if [[ -n ${CI-} ]]; then
    echo "$1" >&2
    return 1
  fi
  skip "$1"
}

# config TEXT writes a configuration and sets CONFIG.
config() {
  CONFIG=$BATS_TEST_TMPDIR/reclaim.toml
  printf '%s\n' "$1" >"$CONFIG"
}

# stub NAME BODY puts a program on PATH. Each call is recorded whole, one line, quoted as bash would read it back.
stub() {
  local bin=$BATS_TEST_TMPDIR/bin
  mkdir -p "$bin"
  {
    echo '#!/usr/bin/env bash'
    printf 'printf "%%q " "$@" >>%q\necho >>%q\n' "$bin/$1.calls" "$bin/$1.calls"
    echo "$2"
  } >"$bin/$1"
  chmod +x "$bin/$1"
  [[ $PATH == "$bin:"* ]] || PATH=$bin:$PATH
}

# calls NAME prints how a stub was called.
calls() { cat "$BATS_TEST_TMPDIR/bin/$1.calls" 2>/dev/null || true; }

# idler builds the process that tests look at, once per file, and sets IDLER.
idler() {
  IDLER=$BATS_FILE_TMPDIR/idler
  [[ -x $IDLER ]] || (cd "$ROOT" && CGO_ENABLED=0 go build -ldflags '-s -w' -o "$IDLER" ./bats/idler)
}

# own NAME sets OWN to a name that no other process of the machine has, a test run beside this one included.
own() { OWN=$1-$$; }

# public copies the tool and the configuration to where everybody may read them, and sets PUBLIC.
public() {
  PUBLIC=$(mktemp -d)
  chmod 755 "$PUBLIC"
  cp "$TOOL" "$PUBLIC/tool"
  cp "$CONFIG" "$PUBLIC/reclaim.toml"
  chmod 644 "$PUBLIC/reclaim.toml"
}

as_nobody() { setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; }

# background [FLAG…] starts the tool beside the test and sets WATCHER; what it says goes to err.
background() {
  : >"$BATS_TEST_TMPDIR/err"
  "$TOOL" "$@" >"$BATS_TEST_TMPDIR/out" 2>"$BATS_TEST_TMPDIR/err" 3>&- &
  WATCHER=$!
  PIDS+=("$WATCHER")
}

# finished waits for the tool in the background to end by itself, with status 0; if not, it shows what the tool said.
finished() {
  { eventually gone "$WATCHER" && wait "$WATCHER"; } || {
    cat "$BATS_TEST_TMPDIR/err" >&2
    return 1
  }
}

# gone PID: ended, reaped or not. Without a subshell: bats would take one that fails for the end of the test.
gone() {
  local stat=''
  { IFS= read -r -d '' stat <"/proc/$1/stat"; } 2>/dev/null || true
  [[ -z $stat || $stat == *') Z '* ]]
}

# start NAME [ARG…] runs a process of that name and sets STARTED to its pid, once it is what it should be.
start() { start_as "$BATS_TEST_TMPDIR/processes/$1" "$@"; }

# start_as ARGV0 NAME [ARG…] is start, with an argv[0] of its own.
start_as() {
  local argv0=$1 file=$BATS_TEST_TMPDIR/processes/$2
  mkdir -p "${file%/*}"
  [[ -e $file ]] || cp "$IDLER" "$file"
  shift 2
  (exec -a "$argv0" "$file" "$@") 3>&- &
  STARTED=$!
  PIDS+=("$STARTED")
  eventually named "$STARTED" "${file##*/}"
}

# stop_all ends what start began.
stop_all() {
  local pid
  for pid in "${PIDS[@]}"; do
    kill "$pid" 2>/dev/null || true
    wait "$pid" 2>/dev/null || true
  done
  PIDS=()
}

# namespace COMMAND… runs it as process 1 of a pid namespace with a /proc of its own: it sees itself and what it starts, nothing else.
namespace() {
  local user=()
  ((EUID == 0)) || user=(--map-root-user)
  unshare "${user[@]}" --mount --pid --fork --mount-proc -- "$@" 3>&-
}
