#!/usr/bin/env bash
# Becomes a real systemd, in user mode and as root, on a machine whose PID 1 is something else. It stays in the initial PID and network
# namespaces, where the kernel's process events are to be had, and gets a mount namespace of its own.
#
#   user-manager.sh DIR    DIR/units are its units, DIR/bin is seen as /usr/local/bin, DIR/etc as /run/5spot
#
# Not to be tested this way: User=, ProtectProc= and ProcSubset=, which user mode ignores, and memory limits.
set -euo pipefail
dir=$1
runtime=/run/user-manager

# A manager moves every process of its cgroup into a child of it. So it must have entered one of its own before it starts.
enter_cgroups() {
  local root
  for root in /sys/fs/cgroup /sys/fs/cgroup/unified /sys/fs/cgroup/systemd; do
    if [[ -e $root/cgroup.procs ]]; then
      mkdir -p "$root/5spot-test-$$"
      echo $$ >"$root/5spot-test-$$/cgroup.procs"
    fi
  done
}

# Without these, user mode refuses to start (it asks whether the machine was booted with systemd), and sandboxing has nothing to mask
# files with. The notification socket lies in the runtime directory, which PrivateTmp= would hide under /tmp.
furnish_run() {
  mount -t tmpfs tmpfs /run
  mkdir -p /run/systemd/system /run/systemd/inaccessible /run/5spot
  mkdir -m 700 "$runtime"
  (
    cd /run/systemd/inaccessible
    mkdir -m 000 dir
    touch reg
    mkfifo fifo
    mknod chr c 0 0
    mknod blk b 0 0
    chmod 000 reg fifo chr blk
  )
}

inside() {
  mount -t cgroup2 cgroup2 /sys/fs/cgroup
  furnish_run
  mount --bind "$dir/bin" /usr/local/bin
  mount --bind "$dir/etc" /run/5spot
  exec env -i PATH="$PATH" HOME="$runtime" XDG_RUNTIME_DIR="$runtime" XDG_CONFIG_HOME="$runtime/config" \
    XDG_DATA_HOME="$runtime/data" SYSTEMD_UNIT_PATH="$dir/units" /lib/systemd/systemd --user
}

if [[ ${2:-} == inside ]]; then
  inside
fi
cp /usr/lib/systemd/user/{basic,default,sockets,timers,paths,shutdown,exit}.target /usr/lib/systemd/user/systemd-exit.service "$dir/units/"
enter_cgroups
exec unshare --mount --propagation slave "${BASH_SOURCE[0]}" "$dir" inside
