#!/usr/bin/env bash
# Builds the real control plane for tests and demo: etcd, kube-apiserver, kubectl, and Cluster API's core manager with its CRDs.
#
#   build.sh         build what is missing; print the directory that holds the binaries
#   build.sh node    build, besides, what a real node with real pods needs: kubelet, kube-controller-manager, kube-scheduler
#   build.sh where   print that directory, build nothing
#
# Everything comes from the Go module proxy and goes to the user's cache directory, keyed by version, so that a second clone finds
# it there. KUBEBUILDER_ASSETS, if set, is that directory instead, and nothing is built.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
binaries=(etcd kube-apiserver kubectl capi-core)
node_binaries=()
[[ ${1:-} != node ]] || node_binaries=(kubelet kube-controller-manager kube-scheduler)

version_of() { sed -n "s#^.*[[:space:]]$2 \(v[0-9.]*\).*#\1#p" "$here/$1" | head -n 1; }
k8s=$(version_of go.mod k8s.io/kubernetes)
etcd=$(version_of go.mod go.etcd.io/etcd/server/v3)
capi=$(version_of capi/go.mod sigs.k8s.io/cluster-api)
cache=${XDG_CACHE_HOME:-${HOME:?HOME is not set; set it or XDG_CACHE_HOME}/.cache}/5spot
assets=${KUBEBUILDER_ASSETS:-$cache/controlplane-kubernetes-$k8s-etcd-$etcd-capi-$capi-$(go env GOARCH)}

say() { printf 'controlplane: %s\n' "$*" >&2; }
die() {
  say "$*"
  exit 1
}

missing() {
  local b
  for b in "${binaries[@]}" "${node_binaries[@]}"; do [[ -x $assets/$b ]] || printf '%s ' "$b"; done
  [[ -d $assets/capi-crds ]] || printf 'capi-crds '
}

# build MODULE-DIR PACKAGE NAME LDFLAGS: the binary appears under its name only when it is complete.
build() {
  [[ -x $assets/$3 ]] && return
  say "building $3 ($2) ..."
  local began=$SECONDS
  (cd "$here/$1" && CGO_ENABLED=0 GOFLAGS=-mod=readonly go build -trimpath -ldflags "-s -w $4" -o "$assets/.$3.$$" "$2") ||
    die "building $3 failed; the Go module proxy must be reachable, and $(df -h "$assets" | awk 'NR==2 {print $4}') are free in $assets"
  mv "$assets/.$3.$$" "$assets/$3"
  say "built $3 in $((SECONDS - began)) s"
}

copy_crds() {
  [[ -d $assets/capi-crds ]] && return
  local from
  from=$(cd "$here/capi" && go mod download sigs.k8s.io/cluster-api && go list -m -f '{{.Dir}}' sigs.k8s.io/cluster-api)/core/config/crd/bases
  rm -rf "$assets/.capi-crds.$$"
  cp -r "$from" "$assets/.capi-crds.$$"
  chmod -R u+w "$assets/.capi-crds.$$"
  mv "$assets/.capi-crds.$$" "$assets/capi-crds"
}

require_space() {
  local kib
  kib=$(df -Pk "$cache" | awk 'NR==2 {print $4}')
  ((kib > 6 * 1024 * 1024)) || die "$cache has $((kib / 1024)) MiB free; building needs 6 GiB, most of it for Go's build cache"
}

if [[ ${1:-} == where ]]; then
  printf '%s\n' "$assets"
  exit
fi
if [[ -n $(missing) ]]; then
  [[ -z ${KUBEBUILDER_ASSETS:-} ]] || die "KUBEBUILDER_ASSETS=$assets lacks: $(missing)"
  mkdir -p "$assets"
  exec 9>"$cache/controlplane.lock"
  flock 9
  require_space
  say "missing in $assets: $(missing)"
  say "the first build takes about ten minutes on two cores; later ones reuse it"
  version="k8s.io/component-base/version"
  k8s_flags="-X $version.gitVersion=$k8s -X $version.gitMajor=1 -X $version.gitMinor=$(cut -d. -f2 <<<"$k8s")"
  build . go.etcd.io/etcd/server/v3 etcd ""
  build . k8s.io/kubernetes/cmd/kube-apiserver kube-apiserver "$k8s_flags"
  build . k8s.io/kubernetes/cmd/kubectl kubectl "$k8s_flags"
  build capi sigs.k8s.io/cluster-api/core capi-core ""
  copy_crds
  for binary in "${node_binaries[@]}"; do build . "k8s.io/kubernetes/cmd/$binary" "$binary" "$k8s_flags"; done
fi
printf '%s\n' "$assets"
