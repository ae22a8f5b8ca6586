#!/usr/bin/env bash
# Fuzzes every target of the module, one after the other, for FUZZTIME each (default: a minute).
set -euo pipefail
cd "$(dirname "$0")/.."

mapfile -t targets < <(git ls-files '*_test.go' | xargs grep -o '^func Fuzz[A-Za-z]*' | sed 's/func //')
[ "${#targets[@]}" -gt 0 ]
for target in "${targets[@]}"; do
  go test -run=NONE -fuzz="^${target#*:}\$" -fuzztime="${FUZZTIME:-60s}" "./$(dirname "${target%%:*}")"
done
echo "${#targets[@]} targets fuzzed"
