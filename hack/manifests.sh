#!/usr/bin/env bash
# Holds every manifest under deploy/ against the schemas of the Kubernetes and Cluster API versions that tools/controlplane pins: each
# file as it is, and what each kustomization makes of them. The schemas come with the Go modules, so nothing is fetched from elsewhere.
set -euo pipefail
cd "$(dirname "$0")/.."

schemas=$(mktemp -d)
trap 'rm -rf "$schemas"' EXIT
tool() { go tool -modfile=tools/dev/go.mod "$@"; }
module() { (cd "$1" && go mod download "$2" && go list -m -f '{{.Dir}}' "$2"); }
conform() {
  # ServiceMonitor is the Prometheus operator's, whose schema nothing else here needs.
  tool kubeconform -strict -summary -skip ServiceMonitor -schema-location "$schemas/{{.Group}}/{{.ResourceKind}}_{{.ResourceAPIVersion}}.json" "$@"
}

kubernetes=$(module tools/controlplane k8s.io/kubernetes)
capi=$(module tools/controlplane/capi sigs.k8s.io/cluster-api)
go run ./tools/schemas -openapi "$kubernetes/api/openapi-spec/swagger.json" -out "$schemas" deploy/crds "$capi/core/config/crd/bases"

conform -ignore-filename-pattern '/kustomization\.yaml$' deploy
while read -r kustomization; do
  tool kustomize build "$(dirname "$kustomization")" | conform -
done < <(find deploy -name kustomization.yaml | sort)
