# The conformance table, each row a real process. The agent's matcher is held to the same rows.
load helpers

setup() {
  idler
  namespace true || cannot "needs root or unprivileged user namespaces"
}

@test "every row of the conformance table, made a real process, has its verdict" {
  local number=0 wrong=0 row directory
  while IFS= read -r row; do
    number=$((number + 1))
    directory=$BATS_TEST_TMPDIR/$number
    mkdir "$directory"
    namespace "$BATS_TEST_DIRNAME/conformance-row.sh" "$IDLER" "$TOOL" "$directory" "$row" >"$directory/said" 2>&1 || {
      wrong=$((wrong + 1))
      echo "row $number, $(cut -f 2 <<<"$row"): $(<"$directory/said")"
    }
    rm -r "$directory"
  done < <(tail -n +2 "$ROOT/testdata/conformance/table.tsv")
  [ "$number" -gt 100 ]
  [ "$wrong" -eq 0 ]
}
