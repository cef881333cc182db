SHELL := bash
.SHELLFLAGS := -euo pipefail -c
MAKEFLAGS += --warn-undefined-variables --no-builtin-rules --no-print-directory
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

# What the targets work on. Each can be set on the command line: make test PKGS=./pkg/mapping/... RUN=TestCompile
PKGS ?= ./...
RUN ?=
FUZZTIME ?= 30s
IMAGE ?= restmapping-operator
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
COMMIT ?= $(shell git rev-parse HEAD 2>/dev/null || echo unknown)
# grpcnotrace leaves out a debugging page of gRPC whose templates keep the linker from dropping what is not called: 12 MB.
TAGS ?= grpcnotrace
BENCH_ARGS ?=
DEMO_ARGS ?=
RUN_ARGS ?=

BIN := $(CURDIR)/bin
CACHE := $(CURDIR)/.cache
CHART := deploy/helm/restmapping-operator
CRDS := $(CHART)/files/crds

# Pinned tools. The version is part of the file's name, so that another version is another file.
GOLANGCI_LINT := $(BIN)/golangci-lint-v2.15.0
CONTROLLER_GEN := $(BIN)/controller-gen-v0.23.0
GOTESTSUM := $(BIN)/gotestsum-v1.13.0
ACTIONLINT := $(BIN)/actionlint-v1.7.12
GOVULNCHECK := $(BIN)/govulncheck-v1.4.0
# Where govulncheck has its database from: https, or file:// for a copy.
VULNDB ?= https://vuln.go.dev

# Packages with tests against real servers.
E2E_PKGS = $(shell grep -rl --include='*_test.go' '^//go:build e2e' . | xargs -r -n1 dirname | sort -u)
# Packages with code that stands in for other code under the tag failpoints.
FAILPOINT_PKGS = $(shell grep -rl --include='*.go' '^//go:build .*failpoints' . | xargs -r -n1 dirname | sort -u)
# Packages whose tests compare with golden files.
GOLDEN_PKGS = $(shell grep -rl --include='*_test.go' 'restmapping/operator/internal/golden"' . | xargs -r -n1 dirname | sort -u)

##@ General

.PHONY: help
help: ## Show this text.
	@awk 'BEGIN {FS = ":.*##"; print "Usage: make TARGET [VARIABLE=value ...]"} \
		/^##@/ {printf "\n%s\n", substr($$0, 5)} \
		/^[a-z][a-z0-9-]*:.*##/ {printf "  %-14s %s\n", $$1, $$2}' Makefile

##@ Develop

.PHONY: generate
generate: $(CONTROLLER_GEN) ## Generate the deep copies of the API types.
	@echo "generate: deep copies of ./api"
	@$(CONTROLLER_GEN) object paths=./api/...

.PHONY: manifests
manifests: $(CONTROLLER_GEN) ## Generate the CRDs of the chart.
	@echo "manifests: CRDs into $(CRDS)"
	@$(CONTROLLER_GEN) crd:generateEmbeddedObjectMeta=false paths=./api/... output:crd:dir=$(CRDS)

.PHONY: plain-manifests
plain-manifests: ## Generate deploy/manifests, the installation without Helm, from the chart.
	@echo "plain-manifests: deploy/manifests"
	@go test -run TestPlainManifests ./internal/charttest -update >/dev/null

.PHONY: fmt
fmt: $(GOLANGCI_LINT) ## Format the code.
	@$(GOLANGCI_LINT) fmt

.PHONY: lint
lint: $(GOLANGCI_LINT) ## Look for mistakes and breaches of style.
	@echo "lint: golangci-lint over all packages (the first run takes minutes)"
	@$(GOLANGCI_LINT) run --allow-serial-runners ./...
	@echo "lint: what is built with the tag failpoints in place of what is built without it"
	@$(GOLANGCI_LINT) run --allow-serial-runners --build-tags cluster,e2e,install,crash,security,failpoints $(FAILPOINT_PKGS)

.PHONY: lint-fix
lint-fix: $(GOLANGCI_LINT) ## The same, and repair what can be repaired.
	@$(GOLANGCI_LINT) run --allow-serial-runners --fix ./...

.PHONY: vet
vet: ## Run go vet.
	@go vet -tags 'cluster e2e install crash security' $(PKGS)
	@go vet -tags 'cluster e2e install crash security failpoints' $(PKGS)

.PHONY: tidy
tidy: ## Tidy go.mod.
	@echo "tidy: go.mod"
	@go mod tidy

# Without -trimpath and with cgo, unlike the image: so it shares the build cache with the tests, which saves minutes.
.PHONY: build
build: ## Build bin/operator.
	@echo "build: bin/operator $(VERSION)"
	@go build -tags $(TAGS) -ldflags "-s -w -X main.version=$(VERSION) -X main.commit=$(COMMIT)" -o $(BIN)/operator ./cmd/operator

.PHONY: run
run: controlplane build ## Run the operator against a control plane of its own, until Ctrl-C.
	@go run ./hack/run $(RUN_ARGS)

.PHONY: image
image: ## Build the container image IMAGE:VERSION.
	@docker build --build-arg VERSION=$(VERSION) --build-arg COMMIT=$(COMMIT) -t $(IMAGE):$(VERSION) .

##@ Servers for tests and the demo

.PHONY: controlplane
controlplane: ## Build etcd, kube-apiserver, kube-controller-manager, kubectl and helm.
	@hack/build.sh controlplane

.PHONY: node
node: controlplane ## Build kubelet, kube-scheduler and kube-proxy, and install Debian's containerd, runc and CNI plugins.
	@hack/build.sh node

.PHONY: gitea
gitea: ## Build Gitea.
	@hack/build.sh gitea

.PHONY: servers
servers: gitea ## All servers of the end-to-end tests: Gitea, PocketBase, Toxiproxy, and Debian's RabbitMQ, LXD, Alertmanager, PowerDNS.
	@hack/build.sh others
	@hack/build.sh packages

##@ Demo

.PHONY: demo
demo: controlplane gitea build ## Show the operator at work: a control plane, a real Gitea, and mappings.
	@go run ./e2e/demo $(DEMO_ARGS)

.PHONY: demo-down
demo-down: ## End what the demo left running.
	@go run ./e2e/demo down

##@ Test

.PHONY: test
test: controlplane $(GOTESTSUM) ## Unit, golden and cluster tests with the race detector. PKGS= and RUN= narrow them down.
	@echo "test: unit, golden and cluster tests"
	@$(GOTESTSUM) -- -race -shuffle=on -timeout 30m -tags cluster -run '$(RUN)' $(PKGS)
	@if [ '$(PKGS)$(RUN)' = './...' ]; then $(MAKE) model; fi

# The race detector makes the model ten times as slow and finds nothing in it, because it is the work of one goroutine. So
# make test makes a small part of it with the detector, and all of it here.
.PHONY: model
model: $(GOTESTSUM) ## The model of the lifecycle, complete in its short form.
	@echo "model: every interleaving, and each safety rule switched off"
	@GOTESTSUM_JSONFILE=$${GOTESTSUM_JSONFILE:+$${GOTESTSUM_JSONFILE%.json}-model.json} $(GOTESTSUM) -- -timeout 30m ./pkg/lifecycle/model

.PHONY: test-unit
test-unit: ## Only the tests that need no control plane.
	@go test -shuffle=on -run '$(RUN)' $(PKGS)

.PHONY: e2e
e2e: controlplane servers build $(GOTESTSUM) ## The chart's rights and real servers. RUN= narrows them down.
	@echo "e2e: tests against real servers"
	@$(GOTESTSUM) -- -timeout 60m -p 1 -tags e2e -run '$(RUN)' $(E2E_PKGS)

.PHONY: test-crash
test-crash: controlplane $(GOTESTSUM) ## Kill the operator at every point and at random, and break all around it. CRASH_LONG=1, CRASH_KILLS=, CRASH_SEED=.
	@echo "test-crash: about twenty minutes, with CRASH_LONG=1 about two hours"
	@$(GOTESTSUM) --format standard-verbose -- -count=1 -timeout 180m -tags crash -run '$(RUN)' ./e2e/crash

.PHONY: test-security
test-security: controlplane build ## Attack an installed operator: namespaces, injection, addresses, hostile answers, planted secrets. RUN= narrows it down.
	@echo "test-security: about ten minutes"
	@go test -v -count=1 -timeout 30m -tags security -run '$(RUN)' ./e2e/security

.PHONY: e2e-images
e2e-images: ## Write the images of e2e-install into .cache/images, for `kind load image-archive` and the like.
	@nice -n 5 go run ./e2e/install/writeimages $(CACHE)/images

.PHONY: e2e-install
e2e-install: node e2e-images ## The chart on real nodes, as root; or on the cluster of INSTALL_KUBECONFIG=. RUN= narrows it down.
	@echo "e2e-install: installs, upgrades, crashes and uninstalls, five to ten minutes"
	@go test -v -count=1 -timeout 60m -tags install -run '$(RUN)' ./e2e/install

.PHONY: test-throttle
test-throttle: controlplane ## 500 custom resources while their server answers 429 for a minute: how many requests, and how long until all are in sync.
	@THROTTLE_LONG=1 go test -v -count=1 -timeout 15m -tags cluster -run TestAnOverloadedServer ./internal/operator

.PHONY: test-rotation
test-rotation: controlplane ## Rotate each kind of credential under 100 custom resources that are changed all the time, and revoke the old one.
	@ROTATE_LONG=1 go test -v -count=1 -timeout 30m -tags cluster -run TestACredentialIsRotated ./internal/operator

.PHONY: test-policies
test-policies: controlplane ## The policies of the chart and of docs/policies: by the API server's own CEL, and by OPA.
	@go test -count=1 -timeout 15m -tags cluster -run TestPolicies ./internal/charttest
	@cd e2e/policies && go test ./...

.PHONY: test-alerts
test-alerts: ## The chart's alert rules, by Prometheus' own engine: each fires for its fault. The first run builds it.
	@echo "test-alerts: rules of the chart"
	@cd e2e/alerts && go test -count=1 ./...

.PHONY: test-model
test-model: ## The long form of the model: every interleaving of two processes, and each safety rule switched off. Prints both tables.
	@go test ./pkg/lifecycle/parts/ -count=1 -v
	@go test ./pkg/lifecycle/model/ -count=1 -timeout 60m -v -args -model.long

.PHONY: bench
bench: controlplane build ## Measure the fixed scenarios and print the ratios.
	@go run ./e2e/bench $(BENCH_ARGS)

.PHONY: fuzz
fuzz: ## Run each fuzz test for FUZZTIME.
	@grep -rl --include='*_test.go' '^func Fuzz' . | while read -r file; do \
		for name in $$(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' "$$file"); do \
			echo "fuzz: $$name in $$(dirname "$$file") for $(FUZZTIME)"; \
			go test -run '^$$' -fuzz "^$$name\$$" -fuzztime $(FUZZTIME) "$$(dirname "$$file")"; \
		done; \
	done

.PHONY: cover
cover: controlplane ## Measure how much of the code the tests reach.
	@mkdir -p $(CACHE)
	@go test -tags cluster -coverpkg=./api/...,./cmd/...,./internal/controller/...,./pkg/... -coverprofile=$(CACHE)/cover.out $(PKGS)
	@go tool cover -html=$(CACHE)/cover.out -o $(CACHE)/cover.html
	@go tool cover -func=$(CACHE)/cover.out | tail -1
	@echo "cover: the lines are in .cache/cover.html"

.PHONY: golden
golden: ## Rewrite the golden files; read the difference before you commit it.
	@echo "golden: $(GOLDEN_PKGS)"
	@go test $(GOLDEN_PKGS) -update
	@git status --short

##@ Verify

.PHONY: verify
verify: controlplane ## Fail when generated files or go.mod are not up to date.
	@hack/verify.sh

.PHONY: vulncheck
vulncheck: $(GOVULNCHECK) ## Look for known vulnerabilities that the programs reach. VULNDB= is another database, such as file:///var/lib/vulndb.
	@$(GOVULNCHECK) -db $(VULNDB) ./cmd/...

.PHONY: helm-lint
helm-lint: controlplane ## Check the chart.
	@$(BIN)/helm lint --strict $(CHART)
	@$(BIN)/helm template restmapping-operator $(CHART) --namespace restmapping-system >/dev/null
	@echo "helm-lint: the chart renders"

.PHONY: lint-workflows
lint-workflows: $(ACTIONLINT) ## Check the workflows of CI and of releases.
	@$(ACTIONLINT)
	@echo "lint-workflows: the workflows are right"

.PHONY: helm-golden
helm-golden: controlplane ## Rewrite the golden files of the chart.
	@go test ./internal/charttest/... -update
	@git status --short -- internal/charttest $(CHART)

.PHONY: presubmit
presubmit: lint verify helm-lint test test-alerts e2e ## Everything that CI runs.

# Tools. They are installed into a folder of their own first, because go install knows no versions in names.
$(GOLANGCI_LINT): TOOL := github.com/golangci/golangci-lint/v2/cmd/golangci-lint
$(CONTROLLER_GEN): TOOL := sigs.k8s.io/controller-tools/cmd/controller-gen
$(GOTESTSUM): TOOL := gotest.tools/gotestsum
$(ACTIONLINT): TOOL := github.com/rhysd/actionlint/cmd/actionlint
$(GOVULNCHECK): TOOL := golang.org/x/vuln/cmd/govulncheck
$(GOLANGCI_LINT) $(CONTROLLER_GEN) $(GOTESTSUM) $(ACTIONLINT) $(GOVULNCHECK):
	@echo "tools: building $(notdir $@) (the first time takes minutes)"
	@mkdir -p $@.new
	@GOBIN=$@.new go install $(TOOL)@$(lastword $(subst -, ,$(notdir $@)))
	@mv $@.new/* $@
	@rmdir $@.new
