#!/usr/bin/env bash
# need.sh NAME...: makes sure that each program is on PATH. Debian packages of the same names are installed when run as root;
# otherwise what is missing is named.
set -euo pipefail

missing=()
for name in "$@"; do
  command -v "$name" >/dev/null || missing+=("$name")
done
[ "${#missing[@]}" -gt 0 ] || exit 0

if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
  echo "missing: ${missing[*]}; install the packages of these names, on Debian: sudo apt-get install ${missing[*]}" >&2
  exit 1
fi
echo "installing ${missing[*]}"
apt-get install --yes --quiet "${missing[@]}" || { apt-get update && apt-get install --yes --quiet "${missing[@]}"; }
