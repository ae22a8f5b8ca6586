# The two commands to know are `make demo` and `make test`; `make` lists the rest.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
# Pinned in tools/dev/go.mod. Built on first use, then taken from Go's build cache.
TOOL := go tool -modfile=$(CURDIR)/tools/dev/go.mod
SCRIPTS = $(shell git ls-files -co --exclude-standard '*.sh' '*.bash' '*.bats' .ci/run)

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-17s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: build
build: $(addprefix build-,$(wildcard agent controller)) ## Build the agent and the controller, static, into bin/

BIN ?= bin
build-agent: PROGRAM := 5spot-reclaim-agent
build-controller: PROGRAM := 5spot-controller
.PHONY: build-agent build-controller
build-agent build-controller: build-%:
	CGO_ENABLED=0 go build -trimpath -ldflags '-s -w -X main.version=$(VERSION)' -o $(BIN)/$(PROGRAM) ./$*

# Where the images will be, for their names; make does not push.
REGISTRY ?= localhost
.PHONY: image
image: image-agent image-controller ## Build both OCI images for amd64 and arm64 into bin/image: a layout each, and a .tar for containerd

# The installer is root because the directories that it installs into are root's; its manifest takes away what else root could do.
image-agent: PROGRAM := 5spot-reclaim-agent
image-agent: ABOUT := -user 0:0 -about 'Keeps the 5-Spot reclaim agent installed on a node that asked for it'
image-controller: PROGRAM := 5spot-controller
image-controller: ABOUT := -user 65532:65532 -about 'Lends workstations to child clusters on a schedule, and takes one back at once'
# The arm64 half is cross-compiled. The same commit gives the same bytes.
.PHONY: image-agent image-controller
image-agent image-controller: image-%:
	for arch in amd64 arm64; do GOOS=linux GOARCH=$$arch $(MAKE) --no-print-directory build-$* BIN=bin/linux-$$arch; done
	go run -C tools/image . -name '$(REGISTRY)/$(PROGRAM):$(VERSION)' -version '$(VERSION)' $(ABOUT) -out $(CURDIR)/bin/image/$(PROGRAM) \
	  $(foreach arch,amd64 arm64,$(arch)=$(CURDIR)/bin/linux-$(arch)/$(PROGRAM))

.PHONY: demo
demo: controlplane ## Lend a machine to a cluster, start `java` on it, and time how it leaves
	go run ./demo

.PHONY: controlplane
controlplane: ## Build etcd, kube-apiserver, kubectl and the CAPI core manager into the user's cache
	tools/controlplane/build.sh

# A real node takes root, and some minutes more of building the first time. Without root its test is skipped, and they are saved.
node := $(if $(filter 0,$(shell id -u)),-node)

.PHONY: controlplane-node
controlplane-node: ## Build kubelet, kube-controller-manager and kube-scheduler as well
	@hack/need.sh systemd-nspawn:systemd-container debootstrap
	tools/controlplane/build.sh node

.PHONY: test
test: controlplane$(node) ## Run every test; the last line is the total
	@hack/test.sh

.PHONY: bench-agent
bench-agent: controlplane ## Measure the agent beside its peers, into docs/benchmarks/agent.md; fails when a budget is missed (root, an idle machine)
	@hack/need.sh forkstat extrace pgrep:procps
	go run ./test/bench/agent

.PHONY: bench-controller
bench-controller: controlplane ## Measure the controller beside its peers, into docs/benchmarks/controller.md; fails when a budget is missed (an idle machine; root before Linux 6.6)
	go run ./test/bench/controller

.PHONY: fuzz
fuzz: ## Fuzz what reads foreign bytes, a minute each (FUZZTIME)
	@hack/fuzz.sh

.PHONY: test-node
test-node: controlplane-node ## Take one real node (systemd, containerd, kubelet) through its life with the agent; needs root
	go test -count=1 -timeout=30m -v ./test/realnode

.PHONY: bats
bats: ## Run the shell tool's tests alone
	bats/run.sh

.PHONY: lint
lint: ## Check Go and shell style, and the manifests against their schemas
	@hack/need.sh shellcheck
	$(TOOL) golangci-lint run
	shellcheck $(SCRIPTS)
	$(TOOL) shfmt -i 2 -ci -d $(SCRIPTS)
	hack/manifests.sh

.PHONY: generate
generate: ## Write what is derived: CRD, deepcopy functions, docs/api.md, the controller's role, the ClusterResourceSet's copy of the node agent
	$(TOOL) controller-gen object crd paths=./api/v1alpha1 output:crd:dir=deploy/crds
	$(TOOL) controller-gen rbac:roleName=5spot-controller,headerFile=deploy/controller/rbac/reach.txt paths=./controller/... output:rbac:dir=deploy/controller/rbac
	$(TOOL) crd-ref-docs --source-path=api/v1alpha1 --renderer=markdown --output-path=docs/api.md --log-level=ERROR \
	  --config=tools/dev/api-docs/config.yaml --templates-dir=tools/dev/api-docs
	$(TOOL) kustomize build deploy/node-agent --output deploy/node-agent/clusterresourceset/node-agent.yaml

.PHONY: verify
verify: ## Fail when a generated file or a go.mod is stale
	@hack/verify.sh
