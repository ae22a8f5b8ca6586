#!/usr/bin/env bash
# Fails when a generated file or a go.mod is stale. Generates in a copy, so that neither the working tree nor the index is touched,
# and what is not committed yet counts.
set -euo pipefail
cd "$(dirname "$0")/.."

copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
git ls-files -coz --exclude-standard --deduplicate | tar --create --null --ignore-failed-read --files-from=- | tar --extract --directory="$copy"
make --silent --directory="$copy" generate

stale=0
for path in api deploy docs; do
  diff --recursive --unified "$path" "$copy/$path" || stale=1
done
[ "$stale" -eq 0 ] || echo "generated files are stale: run 'make generate' and commit the result" >&2

while read -r mod; do
  go -C "$(dirname "$mod")" mod tidy -diff || {
    echo "$mod is not tidy: run 'go mod tidy' in $(dirname "$mod")" >&2
    stale=1
  }
done < <(git ls-files -co --exclude-standard 'go.mod' '*/go.mod')
exit "$stale"
