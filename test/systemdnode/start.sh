#!/usr/bin/env bash
# Becomes systemd-nspawn on the image LOWER, with the layer LAYER/upper above it, in cgroups of its own: two nodes at once would otherwise
# share one tree.
#
#   start.sh LOWER LAYER ARGUMENT...    arguments of systemd-nspawn
set -euo pipefail
lower=$1 layer=$2
shift 2

for root in /sys/fs/cgroup /sys/fs/cgroup/unified /sys/fs/cgroup/systemd; do
  if [[ -e $root/cgroup.procs ]]; then
    mkdir -p "$root/5spot-node-$$"
    echo $$ >"$root/5spot-node-$$/cgroup.procs"
  fi
done
mount -t overlay overlay -o "lowerdir=$lower,upperdir=$layer/upper,workdir=$layer/work" "$layer/root"
exec systemd-nspawn --directory="$layer/root" "$@" </dev/null
