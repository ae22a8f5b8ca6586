#!/usr/bin/env bash
# Runs every test, Go then bats, to the end; coverage stands beside each package. The last line is the total. With CI set, a
# skipped test is a failure: it would hide that a prerequisite is missing.
set -uo pipefail
cd "$(dirname "$0")/.." || exit

counts=$(mktemp)
trap 'rm -f "$counts"' EXIT
status=0

# gotestsum hands its counts to the command that it runs last, in variables.
# shellcheck disable=SC2016
go tool -modfile=tools/dev/go.mod gotestsum --format=pkgname --format-hide-empty-pkg \
  --post-run-command="bash -c 'echo \$TESTS_TOTAL \$((TESTS_FAILED + TESTS_ERRORS)) \$TESTS_SKIPPED >$counts'" \
  -- -cover -timeout=30m ./... || status=1
read -r total failed skipped <"$counts" || total=0 failed=1 skipped=0
passed=$((total - failed - skipped))

bats=$(bats/run.sh | tee /dev/stderr | tail -n 1) || status=1
# Without a total in its last line, the run itself counts as a failure.
[[ $bats =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed,\ ([0-9]+)\ skipped$ ]] || status=1
passed=$((passed + ${BASH_REMATCH[1]:-0}))
failed=$((failed + ${BASH_REMATCH[2]:-1}))
skipped=$((skipped + ${BASH_REMATCH[3]:-0}))

[ -z "${CI:-}" ] || [ "$skipped" -eq 0 ] || status=1
[ "$failed" -eq 0 ] || status=1
echo "$passed passed, $failed failed, $skipped skipped"
exit "$status"
