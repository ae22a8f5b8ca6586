# Matching, where a row of the conformance table cannot say it: how a process comes about, when it is looked at, and by whom.
load helpers

setup() {
  PIDS=()
  idler
  own idea
}

teardown() { stop_all; }

look() { run --separate-stderr "$TOOL" --once --dry-run --config "$CONFIG"; }

commands() { config "match_commands = ['$1']"; }
substrings() { config "match_argv_substrings = ['$1']"; }

# script NAME TEXT starts a bash script in a file of that name. It can wait for a line on the FIFO in $1, which release gives.
script() {
  local file=$BATS_TEST_TMPDIR/processes/$1
  FIFO=$BATS_TEST_TMPDIR/fifo
  mkdir -p "${file%/*}"
  [[ -p $FIFO ]] || mkfifo "$FIFO"
  printf '#!%s\n%s\n' "$BASH" "$2" >"$file"
  chmod +x "$file"
  "$file" "$FIFO" 3>&- &
  STARTED=$!
  PIDS+=("$STARTED")
  eventually named "$STARTED" "$1"
}

# stranger starts a process named $OWN-x that is no child of the test's.
stranger() {
  cp "$IDLER" "$BATS_TEST_TMPDIR/$OWN-x"
  setsid --fork "$BATS_TEST_TMPDIR/$OWN-x" 3>&-
  eventually pgrep -x "$OWN-x"
  STARTED=$(pgrep -x "$OWN-x")
  PIDS+=("$STARTED")
}

release() { echo >"$FIFO"; }

# watching waits until the tool has looked at everything at least once and found nothing.
watching() {
  stub pgrep "exec $(type -P pgrep) \"\$@\""
  background --config "$CONFIG" --dry-run --interval-ms 10
  eventually looked_twice
}

looked_twice() { (($(calls pgrep | wc -l) > 3)); }

@test "Case 5: exec through /proc/self/exe leaves the name exe; the arguments still tell" {
  mkfifo "$BATS_TEST_TMPDIR/fifo"
  bash -c 'exec -a "/opt/$0/bin/idea" /proc/self/exe -c "read -r _ <>$1"' "$OWN" "$BATS_TEST_TMPDIR/fifo" 3>&- &
  STARTED=$!
  PIDS+=("$STARTED")
  eventually named "$STARTED" exe
  commands "$OWN"
  look
  [ "$status" -eq 1 ]
  substrings "/$OWN/bin/"
  look
  [ "$status" -eq 0 ]
}

@test "Case 7: a shell script is called what its file is called" {
  commands "$OWN"
  script "$OWN.sh" 'read -r _ <>"$1"'
  look
  [ "$status" -eq 1 ]
  start "$OWN"
  look
  [ "$status" -eq 0 ]
}

@test "Case 9: a program that renames itself is found by the next look" {
  commands "$OWN"
  script sleeper 'read -r _ <>"$1"; printf %s '"$OWN"' >/proc/$$/comm; read -r _ <>"$1"'
  watching
  release
  finished
}

@test "Case 12: the tool's own arguments, and those of what started it, are no match" {
  substrings "$OWN"
  mv "$CONFIG" "$BATS_TEST_TMPDIR/$OWN.toml"
  run bash -c '"$@"; exit' "$OWN" "$TOOL" --once --dry-run --config "$BATS_TEST_TMPDIR/$OWN.toml"
  [ "$status" -eq 1 ]
}

@test "Case 12: what the tool started is family, and what started it; others are not" {
  # shellcheck source=../tools/reclaim-on-match.sh
  source "$TOOL"
  start "$OWN"
  family "$STARTED"
  family "$PPID"
  stranger
  run ! family "$STARTED"
}

@test "Case 13: a substring is found behind 60,000 bytes of arguments" {
  substrings "org.$OWN.Main"
  start "tool" "$(printf '%060000d' 0)" "org.$OWN.Main"
  look
  [ "$status" -eq 0 ]
}

@test "Case 13: behind 140,000 bytes it is not, because pgrep does not look there; help says so" {
  substrings "org.$OWN.Main"
  start "tool" "$(printf '%070000d' 0)" "$(printf '%070000d' 0)" "org.$OWN.Main"
  look
  [ "$status" -eq 1 ]
  [[ $("$TOOL" --help) == *'pgrep looks at the first 128 KiB'* ]]
}

@test "Case 15: a process that vanishes before it is looked at is passed over" {
  commands "$OWN"
  start "$OWN"
  stub pgrep "[[ \$1 == --version ]] || echo 4194305; exec $(type -P pgrep) \"\$@\""
  look
  [ "$status" -eq 0 ]
  [[ $stderr == *"pid $STARTED,"* ]]
}

@test "Case 17: a process that was looked at before its exec is looked at again" {
  commands "$OWN"
  cp "$IDLER" "$BATS_TEST_TMPDIR/$OWN"
  script forked 'read -r _ <>"$1"; exec '"$BATS_TEST_TMPDIR/$OWN"
  watching
  release
  finished
}

@test "Case 18: a pid that changes hands between two reads is passed over" {
  # shellcheck source=../tools/reclaim-on-match.sh
  source "$TOOL"
  COMMANDS=("$OWN-x")
  stranger
  run matches command "$STARTED"
  [ "$status" -eq 0 ]
  eval "true_$(declare -f read_stat)"
  reads=0
  read_stat() { true_read_stat "$1" && started+=$((reads++)); }
  run matches command "$STARTED"
  [ "$status" -eq 1 ]
}

@test "Case 19: where the arguments of one process block for ever, names are still found, look after look" {
  namespace true || cannot "needs root or unprivileged user namespaces"
  config "match_commands = ['$OWN']
match_argv_substrings = ['/nothing/']"
  cp "$IDLER" "$BATS_TEST_TMPDIR/$OWN"
  run namespace timeout 60 bash -c '
    mkfifo "$1/blocking"
    "$2" &
    mount --bind "$1/blocking" "/proc/$!/cmdline"
    (until grep -q hangs "$1/err"; do :; done; exec "$1/$3") &
    "$4" --dry-run --config "$1/reclaim.toml" 2>"$1/err"
    exit "$?"' - "$BATS_TEST_TMPDIR" "$IDLER" "$OWN" "$TOOL"
  [ "$status" -eq 0 ]
  [ "$(grep -c hangs "$BATS_TEST_TMPDIR/err")" -eq 1 ]
}

@test "Case 30: a parent that ran before the tool is found, whatever its children do" {
  commands "$OWN"
  script "$OWN" 'read -r _ <>"$1" & trap "kill $!; exit" TERM; read -r _ <>"$1"'
  look
  [ "$status" -eq 0 ]
}

@test "Case 35: a name over 15 bytes is asked for with 15, where pgrep gives up on more" {
  own long-enough-a-name
  commands "$OWN"
  start "$OWN"
  stub pgrep "[[ \$1 == --version || \${#3} -le 17 ]] || { echo 'pgrep: pattern longer than 15' >&2; exit 1; }; exec $(type -P pgrep) \"\$@\""
  look
  [ "$status" -eq 0 ]
  [[ $(calls pgrep) == *"-x -- \(${OWN:0:15}\)"* ]]
}
