# The numbered cases of process watching: which of them this directory's tests hold the script to.
load helpers

# named_cases prints the numbers in the names of tests and in the conformance table.
named_cases() {
  sed -n 's/^@test "Case \([0-9]*\):.*/\1/p' "$BATS_TEST_DIRNAME"/*.bats
  tail -n +2 "$ROOT/testdata/conformance/table.tsv" | cut -f 1 | tr ',' '\n' | grep -v '^-$'
}

@test "every case that a script can meet has a test; kernel events (21 to 29) are the agent's alone" {
  diff <(named_cases | sort -nu) <(
    seq 1 20
    seq 30 40
  )
}
