#!/usr/bin/env bash
# Runs every test, Go then bats, to the end; coverage stands beside each package. The last line is the total. With CI set, a
# skipped test is a failure: it would hide that a prerequisite is missing.
set -uo pipefail
cd "$(dirname "$0")/.." || exit

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status=0

# A package that fails is counted beside its tests: it may have failed before any ran.
ended() { grep -c "^{.*\"Action\":\"$1\".*${2:-}" "$work/events"; }
go tool -modfile=tools/dev/go.mod gotestsum --format=pkgname --format-hide-empty-pkg --jsonfile="$work/events" \
  -- -count=1 -cover -timeout=30m ./... || status=1
passed=$(ended pass '"Test":') failed=$(ended fail) skipped=$(ended skip '"Test":')

# Without a total in its last line, the run itself counts as a failure.
bats/run.sh | tee "$work/bats" || status=1
[[ $(tail -n 1 "$work/bats") =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed,\ ([0-9]+)\ skipped$ ]] || status=1
passed=$((passed + ${BASH_REMATCH[1]:-0}))
failed=$((failed + ${BASH_REMATCH[2]:-1}))
skipped=$((skipped + ${BASH_REMATCH[3]:-0}))

[ -z "${CI:-}" ] || [ "$skipped" -eq 0 ] || status=1
[ "$failed" -eq 0 ] || status=1
echo "$passed passed, $failed failed, $skipped skipped"
exit "$status"
