# The configuration file: held to the table that the Go reader is held to as well.
load helpers

setup() {
  # shellcheck source=../tools/reclaim-on-match.sh
  source "$TOOL"
  set +u
}

# read_one FILE prints what was read: entries quoted, lists and interval separated.
read_one() {
  cd "$ROOT/testdata/config" && read_config "$1" && shown "${COMMANDS[@]}" && shown "${SUBSTRINGS[@]}" && echo "$INTERVAL_MS"
}

shown() {
  local entry
  for entry; do printf '%q ' "$entry"; done
  echo
}

expected() {
  list "$1"
  shown "${LIST[@]}"
  list "$2"
  shown "${LIST[@]}"
  echo "$3"
}

check_accepted() {
  [[ $status -eq 0 && $output == "$(expected "$commands" "$substrings" "$interval_ms")" ]]
}

check_refused() {
  [[ $status -eq 3 && $output == "reclaim-on-match: $file:$line: "* ]] && [[ $key == - || $output == *"$key"* ]]
}

@test "every file of the table is accepted with its values, or refused with its line and key" {
  local file go script line key commands substrings interval_ms checked=0
  while IFS=$'\t' read -r file go script line key commands substrings interval_ms; do
    run read_one "$file"
    if [[ $script == accepted ]]; then check_accepted; else check_refused; fi || {
      echo "$file: want $script, line $line, key $key; got status $status: $output"
      return 1
    }
    checked=$((checked + 1))
  done < <(tail -n +2 "$ROOT/testdata/config/table.tsv")
  [ "$checked" -gt 80 ]
}

@test "the script never accepts what Go refuses" {
  run awk -F '\t' '$2 == "refused" && $3 != "refused"' "$ROOT/testdata/config/table.tsv"
  [ -z "$output" ]
}

@test "a refusal is one clear sentence on stderr, and the exit status is 3" {
  config $'match_commands = ["java"]\nmatch_comands = ["idea"]'
  run --separate-stderr "$TOOL" --dry-run --config "$CONFIG"
  [ "$status" -eq 3 ]
  [ -z "$output" ]
  [ "$stderr" = "reclaim-on-match: $CONFIG:2: unknown key \"match_comands\"; the keys are match_commands, match_argv_substrings and poll_interval_ms" ]
}

@test "an entry that is refused is shown with its control characters escaped" {
  config $'match_commands = ["\\u001b[31m/x"]'
  run "$TOOL" --dry-run --config "$CONFIG"
  [ "$status" -eq 3 ]
  [[ $output != *$'\e'* ]]
}

@test "a file that is not there, a directory, and a file that may not be read are said to be so" {
  run "$TOOL" --dry-run --config /nowhere/reclaim.toml
  [ "$status" -eq 3 ]
  [[ $output == *'/nowhere/reclaim.toml: no such file'* ]]
  run "$TOOL" --dry-run --config "$BATS_TEST_TMPDIR"
  [ "$status" -eq 3 ]
}

@test "two empty lists are legal, and the log says that nothing can match" {
  config 'match_commands = []'
  run "$TOOL" --dry-run --once --config "$CONFIG"
  [ "$status" -eq 1 ]
  [[ $output == *'both lists are empty: nothing can match'* ]]
}

@test "the shipped sample is within the subset, and has no bare word as a substring" {
  run "$TOOL" --dry-run --once --config "$ROOT/deploy/node-agent/reclaim.toml"
  [[ $status -eq 0 || $status -eq 1 ]]
  read_config "$ROOT/deploy/node-agent/reclaim.toml"
  [ "${#COMMANDS[@]}" -gt 0 ]
  for entry in "${SUBSTRINGS[@]}"; do [[ $entry == *[./\\]* ]]; done
}
