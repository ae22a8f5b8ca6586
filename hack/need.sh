#!/usr/bin/env bash
# need.sh PROGRAM[:PACKAGE]...: makes sure that each program is on PATH. Debian packages, of the same names if none are given, are
# installed when run as root; otherwise what is missing is named.
set -euo pipefail

missing=()
for need in "$@"; do
  command -v "${need%%:*}" >/dev/null || missing+=("${need##*:}")
done
[ "${#missing[@]}" -gt 0 ] || exit 0

if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
  echo "missing: ${missing[*]}; install the packages of these names, on Debian: sudo apt-get install ${missing[*]}" >&2
  exit 1
fi
echo "installing ${missing[*]}"
apt-get install --yes --quiet "${missing[@]}" || { apt-get update && apt-get install --yes --quiet "${missing[@]}"; }
