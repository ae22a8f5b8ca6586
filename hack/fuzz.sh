#!/usr/bin/env bash
# Fuzzes every target of the module, one after the other, for FUZZTIME each (default: a minute).
set -euo pipefail
cd "$(dirname "$0")/.."

log=$(mktemp)
trap 'rm -f "$log"' EXIT

# Before Go 1.27 the fuzzer can report the end of its own time as the target's failure (go.dev/issue/75804).
# A finding says more than that: a line of its own for the input that failed, a panic, or a worker that ended.
ran_out_of_time() {
  grep -qx '    context deadline exceeded' "$log" &&
    ! grep -Evx 'fuzz: elapsed: .*|warning: .*|--- FAIL: Fuzz[A-Za-z]* \([0-9.]+s\)|    context deadline exceeded|FAIL|exit status 1|FAIL\s.*' "$log" >&2
}

fuzz() {
  go test -run=NONE -fuzz="^$1\$" -fuzztime="${FUZZTIME:-60s}" "$2" 2>&1 | tee "$log" || ran_out_of_time
}

mapfile -t targets < <(git ls-files '*_test.go' | xargs grep -Ho '^func Fuzz[A-Za-z]*' | sed 's/func //')
[ "${#targets[@]}" -gt 0 ]
for target in "${targets[@]}"; do
  fuzz "${target#*:}" "./$(dirname "${target%%:*}")"
done
echo "${#targets[@]} targets fuzzed"
