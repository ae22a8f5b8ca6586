#!/usr/bin/env bash
# run.sh [FILE.bats…]: runs the shell tool's tests, all of them or those named. The last line is the total; with CI set, a skipped test is a
# failure: it would hide that a prerequisite is missing.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")" || exit
../hack/need.sh bats >&2 || exit

(($#)) || set -- ./*.bats
tap=$(bats --formatter tap "$@" | tee >(cat >&2))
status=$?
passed=$(grep -c '^ok ' <<<"$tap")
failed=$(grep -c '^not ok ' <<<"$tap")
skipped=$(grep -c '^ok .* # skip' <<<"$tap")
[[ -z ${CI-} || $skipped -eq 0 ]] || status=1
echo "$((passed - skipped)) passed, $failed failed, $skipped skipped"
exit "$status"
