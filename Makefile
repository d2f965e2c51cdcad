SHELL := /bin/bash
BIN := bin
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS := -s -w -X tend.dev/tend/internal/platform/version.Version=$(VERSION)
PREFIX ?= /usr/local
export CGO_ENABLED ?= 0
# Paths of this machine stay out of binaries, and what was compiled in one clone serves every other one.
export GOFLAGS := $(filter-out -trimpath,$(GOFLAGS)) -trimpath

# The compiler and tests in memory leave much garbage: with fewer collections they take a third less of the processors.
GC_PERCENT := 400

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

# Manual pages and packages are dated by the commit, not by the build.
export SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null || echo 0)

.PHONY: build
build: binary man notices ## build what `make install` installs: bin/tend, static and stripped, man pages, notices

.PHONY: binary
binary:
	go build -ldflags '$(LDFLAGS)' -o $(BIN)/tend ./cmd/tend

.PHONY: man
man: ## write bin/man: a manual page for each command
	go run ./internal/ci/manpages -to $(BIN)/man -version $(VERSION)

.PHONY: notices
notices: ## write bin/THIRD-PARTY-NOTICES: the licences of what is linked into bin/tend
	@mkdir -p $(BIN)
	go run ./internal/ci/notices -to $(BIN)/THIRD-PARTY-NOTICES

.PHONY: demo
demo: binary ## start a private Tend, deploy, heal, roll, clean up
	go run ./examples/hello/demo -tend $(BIN)/tend

.PHONY: demo-cluster
demo-cluster: binary ## start three servers and three nodes, kill one of each under load
	go run ./examples/cluster -tend $(BIN)/tend

.PHONY: demo-kube
demo-kube: binary operator $(BIN)/kube-apiserver ## start Tend, a Kubernetes API server and the operator, apply, see its condition come back
	go run ./internal/operator/demo -tend $(BIN)/tend -operator $(BIN)/tend-operator

GOLANGCI := go tool -modfile=tools/go.mod golangci-lint

# Each step and each group of tests leaves here how long it took: make timings prints it.
comma := ,
RECORD := bin/timings
STEP := .ci/step

# gotestsum GROUP,PACKAGES,OPTIONS,FLAGS: runs the tests of a group, and keeps the summary with which the runner closes.
define gotestsum
set -o pipefail; mkdir -p $(RECORD); $(STEP) $(1) go run gotest.tools/gotestsum@v1.13.0 --format pkgname --format-hide-empty-pkg \
	--jsonfile $(RECORD)/$(1).json $(3) --packages="$(2)" -- -vet=off -ldflags=-w -timeout 30m $(4) | tee $(RECORD)/$(1).log
endef

# Five groups of packages. What is pure or in memory has no second try, in the first two groups: there a test that fails once has
# found a defect. Of what consists of connections and programs of this machine, and of what shares its Docker engine, hosts and
# disks, up to 3 tests that fail run once more, and the summary names them as failures of the first run; a test that fails twice
# fails. What shares this machine's engine runs one package at a time, beside the hosts that have engines of their own and the
# machine with systemd on which packages are installed.
#
# The first group (simulation, controllers, queue) links all that it tests, so Go may take its result from the cache where
# nothing has changed. All others run each time (-count=1): the cache doesn't know the programs that they run. internal/test/arch sees
# to it that tests which run a program stand in one of them.
MODULE := $(shell go list -m)
SHARED := ^$(MODULE)/(examples/cluster|internal/(test/(e2e|testimage)|node/runtime/docker))(/|$$)
HOSTS := ^$(MODULE)/internal/test/e2e/(hosts|packages)$$
MACHINE := ^$(MODULE)/internal/(server$$|(platform/(gitcmd|portowner|subprocess)|cli|compat/plugin|control/(messenger|syncer)|input/build|node/(host|ingress|member|netpolicy|nodeapi/remote|nodeapi/session|overlay|peer|resolver|runtime))(/|$$))
SECOND_TRY := --rerun-fails=1 --rerun-fails-max-failures=3
PROCESSES := ^$(MODULE)/(api/kube|cmd/tend-operator|internal/(ci/(inputs|manpages|notices|portable|vulncheck)|node/agent|operator|platform/procsession|server/(backup/restore|daemon)|store/etcd|test/(arch|fault|histories|mutants)))$$
# Packages that take longest begin first. The simulation uses one processor.
PURE_PACKAGES := $$({ echo $(MODULE)/internal/test/simulation; go list -tags integration ./... | grep -vE '$(SHARED)|$(MACHINE)|$(PROCESSES)'; } | awk '!seen[$$0]++' | xargs)
LONGEST := server/daemon test/histories store/etcd node/agent
MEMORY_PACKAGES := $$({ printf '$(MODULE)/internal/%s\n' $(LONGEST); go list -tags integration ./... | grep -E '$(PROCESSES)'; } | awk '!seen[$$0]++' | xargs)
MACHINE_PACKAGES := $$(go list -tags integration ./... | grep -vE '$(SHARED)' | grep -E '$(MACHINE)' | xargs)
SHARED_PACKAGES := $$(go list -tags integration ./... | grep -E '$(SHARED)' | grep -vE '$(HOSTS)' | xargs)
HOSTS_PACKAGES := $$(go list -tags integration ./... | grep -E '$(HOSTS)' | xargs)
# Stories wait more than they compute, so more of a package run at a time than there are processors; fewer of those with servers of
# their own, each with an etcd.
WAITING := -parallel 5
SERVERS := -parallel 4

# The stories run after the tests in memory: side by side they starve each other, and an etcd that gets no processor for seconds
# loses its leases. What computes takes what the second group leaves of the processors; what consists of connections and programs
# begins when the first of these two has ended.
.PHONY: test
test: ## run every test, those that need Docker included
	@$(STEP) compile-tests env GOGC=$(GC_PERCENT) go list -export -test -tags integration ./... >/dev/null
	@failed=$$(mktemp) && trap 'rm -f "$$failed"' EXIT; \
		group() { nice -n $$1 $(MAKE) --no-print-directory test-$$2 || echo $$2 >>$$failed; }; \
		group 10 pure & group 0 memory & wait -n; group 5 machine; wait; \
		group 0 hosts & group 0 shared; wait; \
		test ! -s $$failed || { echo "failed: $$(xargs <$$failed)"; exit 1; }

.PHONY: test-pure
test-pure: export GOGC = $(GC_PERCENT)
test-pure: ## run the tests that run no program, without a second try; unchanged ones from the cache
	@$(call gotestsum,test-pure,$(PURE_PACKAGES),,-p 2 -tags integration)

.PHONY: test-memory
test-memory: export GOGC = $(GC_PERCENT)
test-memory: ## run the tests of the server, the agent and the store, and those that run programs, without a second try
	@$(call gotestsum,test-memory,$(MEMORY_PACKAGES),,-p 2 -count=1 $(SERVERS) -tags integration)

.PHONY: test-machine
test-machine: ## run the tests that consist of connections and programs of this machine
	@$(call gotestsum,test-machine,$(MACHINE_PACKAGES),$(SECOND_TRY),-p 1 -count=1 -tags integration)

.PHONY: test-shared
test-shared: ## run the tests that share the Docker engine, hosts and disks of this machine, one package at a time
	@$(call gotestsum,test-shared,$(SHARED_PACKAGES),$(SECOND_TRY),-p 1 -count=1 $(WAITING) -tags integration)

.PHONY: test-hosts
test-hosts: ## run the tests whose hosts and engines are their own, in network namespaces
	@$(call gotestsum,test-hosts,$(HOSTS_PACKAGES),$(SECOND_TRY),-p 2 -count=1 $(WAITING) -tags integration)

# Stories that need much time, and the later parts of others.
LONG_PACKAGES := $$(git ls-files -z '*_test.go' | xargs -0 grep -lE '^//go:build .*\blong\b' | xargs -n 1 dirname | sort -u | sed 's|^|./|' | xargs)

.PHONY: test-long
test-long: ## run the packages that have tests with the build tag long, these included
	@$(call gotestsum,test-long,$(LONG_PACKAGES),$(SECOND_TRY),-p 1 -count=1 $(WAITING) -tags integration$(comma)long)

.PHONY: test-unit
test-unit: ## run the tests that need nothing but Go
	go test ./...

# Neither group vets: make lint does so once, for all packages and with more checks.
# The detector makes tests several times slower, so they try fewer cases under it (internal/test/race; properties by RAPID_CHECKS).
# CI watches where goroutines live, with the store in memory. make race watches every package that has goroutines: it leaves out
# those that only run programs, which are built without it, and what links Kubernetes' libraries, which make test-kube tests.
RACE_CI := control(/(calls|verbs|watcher))?|reconciler|kinds/owner|node/(agent|agent/prober|ingress|ingress/edge|nodeapi/(local|remote|session))|server|server/controlplane|store/(eventlog|memory|view)
NO_RACE := ^$(MODULE)/(api/kube|cmd/tend-operator|internal/(ci|core|input/build/(recipe|tree)|server/backup|test/(arch|e2e|testimage))|internal/operator$$|internal/operator/(apply|bounds|clusterid|downstream|engine|identity|link|instance|kubetest|operation|window))(/|$$)
# What these try goes one after the other, or is large: under the detector they took half of its time.
RACE_LATER := TestADeployerDecidesNotWhatRunsOnAHost TestAnAnswerWithoutAnEnd TestApplyTooLargeForACommit \
	TestEveryCredentialAtEveryListener TestHostileAnswers TestLargeBodies TestOverTheWire TestTheRateOfReports
space := $(subst ,, )
RACE_SKIP := $(if $(QUICK),-skip '^($(subst $(space),|,$(strip $(RACE_LATER))))$$')
RACE := $$(go list ./... | $(if $(QUICK),grep -E '/internal/($(RACE_CI))$$',grep -vE '$(NO_RACE)') | xargs)

.PHONY: race-packages
race-packages: export CGO_ENABLED = 1
race-packages:
	$(STEP) compile-race env GOGC=$(GC_PERCENT) go list -race -export -test $(RACE) >/dev/null

.PHONY: race
race: export CGO_ENABLED = 1
race: export RAPID_CHECKS ?= 25
race: export GOGC = $(GC_PERCENT)
race: race-packages ## run the tests that need no Docker under the race detector (needs gcc): QUICK=1 for those of CI
	@status=0; \
	{ $(call gotestsum,race,$$(printf '%s\n' $(RACE) | tr ' ' '\n' | grep -vE '$(MACHINE)' | xargs),,-race -p 2 -count=1 $(RACE_SKIP)); } || status=1; \
	{ $(call gotestsum,race-machine,$$(printf '%s\n' $(RACE) | tr ' ' '\n' | grep -E '$(MACHINE)' | xargs),$(SECOND_TRY),-race -p 2 -count=1 $(RACE_SKIP)); } || status=1; \
	exit $$status

# Fresh worlds are shared out over the processors: each process has seeds of its own.
SIMULATE := $(BIN)/simulate.test
.PHONY: simulate
simulate: export GOGC = $(GC_PERCENT)
simulate: ## live through simulated worlds: TIME=10m of fresh ones, or SEED=kept, or the one of SEED=N
	go test -c -tags simulate -o $(SIMULATE) ./internal/test/simulation
ifeq ($(SEED),kept)
	cd internal/test/simulation && ../../../$(SIMULATE) -test.run 'TestKeptSeeds$$' -test.v
else ifdef SEED
	cd internal/test/simulation && ../../../$(SIMULATE) -test.run 'TestSeed$$' -test.v -seed $(SEED)
else
	@cd internal/test/simulation; for i in $$(seq $$(nproc)); do ../../../$(SIMULATE) -test.run 'TestFresh$$' -test.v -time $(TIME) -from $$(date +%s%N) & \
		sleep 0.1; done; status=0; for job in $$(jobs -p); do wait $$job || status=1; done; exit $$status
endif

SIMULATE_CLUSTER := $(BIN)/simulate-cluster.test
.PHONY: simulate-cluster
simulate-cluster: ## live through simulated clusters with an operator: TIME=10m of fresh ones, or SEED=kept, or the one of SEED=N
	go test -c -tags simulate -o $(SIMULATE_CLUSTER) ./internal/operator/simulation
ifeq ($(SEED),kept)
	cd internal/operator/simulation && ../../../$(SIMULATE_CLUSTER) -test.run 'TestKeptSeeds$$|TestWorlds$$' -test.v
else ifdef SEED
	cd internal/operator/simulation && ../../../$(SIMULATE_CLUSTER) -test.run 'TestSeed$$' -test.v -seed $(SEED)
else
	cd internal/operator/simulation && ../../../$(SIMULATE_CLUSTER) -test.run 'TestFresh$$' -test.v -test.timeout 0 -time $(TIME)
endif

.PHONY: mutants
mutants: ## break Tend in each of the ways of internal/test/mutants, and demand that a test sees it: MUTANT=lab for those named so
	go test -tags mutants ./internal/test/mutants -run 'TestMutants$$' -v -count=1 -timeout 9h -mutant '$(MUTANT)' $(if $(REWRITE),-rewrite)

N ?= 1000
.PHONY: histories
histories: ## record N histories (default 1000) of three servers under kills and cuts, and check that each is linearizable: SEED=1
	go test -tags integration ./internal/test/histories -run 'TestHistories$$' -v -count=1 -timeout 3h -histories $(N) -seed $(or $(SEED),1)

.PHONY: lint
lint: ## run golangci-lint, built from the version in tools/go.mod
	env GOGC=$(GC_PERCENT) $(GOLANGCI) run

TIME ?= 1m

.PHONY: fuzz
fuzz: ## run each fuzz target for TIME (default 1m)
	@grep -roE --include='*_test.go' '^func Fuzz[A-Za-z0-9_]*' . | sed -E 's|/[^/]*:func | |' | sort | while read -r folder target; do \
		echo "$$folder $$target"; \
		go test "$$folder" -run '^$$' -fuzz "^$$target\$$" -fuzztime $(TIME) </dev/null || exit 1; \
	done

# Modules of their own, so that neither Prometheus nor the collector gets into Tend's. -count=1: what they test is outside of them.
.PHONY: test-monitoring
test-monitoring: ## test the alert rules and the dashboard of deploy/ with Prometheus' own engine
	cd tools/promcheck && go test -vet=off -count=1 ./...

.PHONY: test-otlp
test-otlp: binary ## test that a trace leads from tend apply to a container's start, with a receiver of OpenTelemetry's collector
	cd tools/otlpcheck && go test -vet=off -count=1 ./... -args -tend "$(abspath $(BIN)/tend)"

# Built from Kubernetes' own module in a module of its own: some minutes of both processors the first time.
$(BIN)/kube-apiserver: tools/kube-apiserver/go.mod tools/kube-apiserver/go.sum
	version="$$(go list -C tools/kube-apiserver -m -f '{{.Version}}' k8s.io/kubernetes)" && \
		GOGC=$(GC_PERCENT) CGO_ENABLED=0 go build -C tools/kube-apiserver -ldflags "-s -w -X k8s.io/component-base/version.gitVersion=$$version" \
		-o "$(abspath $(BIN)/kube-apiserver)" k8s.io/kubernetes/cmd/kube-apiserver

.PHONY: kube-apiserver
kube-apiserver: $(BIN)/kube-apiserver ## build bin/kube-apiserver, which the operator's tests run on

# Flux's controllers are built from their modules in a module of their own: a quarter of an hour the first time, then from Go's cache.
FLUX := $(BIN)/flux/helm-controller $(BIN)/flux/source-controller
$(FLUX): tools/flux/go.mod tools/flux/go.sum
	GOGC=$(GC_PERCENT) CGO_ENABLED=0 go build -C tools/flux -ldflags '-s -w' -o "$(abspath $@)" github.com/fluxcd/$(notdir $@)

.PHONY: flux-controllers
flux-controllers: $(FLUX) ## build bin/flux/helm-controller and source-controller, which the operator's stories run on

.PHONY: test-flux
test-flux: $(BIN)/kube-apiserver $(FLUX) ## test the operator with Flux's own controllers, on a real Kubernetes API server
	@$(call gotestsum,test-flux,./internal/operator/fluxtest,,-tags flux -count=1)

.PHONY: record-flux
record-flux: $(BIN)/kube-apiserver $(FLUX) ## test-flux, and record what Flux says for the tests that play it
	go test -vet=off -tags flux -count=1 -timeout 30m ./internal/operator/fluxtest -args -record

KUBE := ./api/kube/... ./internal/operator/... ./cmd/tend-operator/...

.PHONY: test-kube
test-kube: $(BIN)/kube-apiserver ## test the operator on a real Kubernetes API server
	@$(call gotestsum,test-kube,$(KUBE),,-tags kube -p 1 -count=1)

.PHONY: test-helm
test-helm: ## test with Helm's own library that the operator reads releases as Helm does
	cd tools/helmrelease && go test -vet=off -count=1 ./...

.PHONY: bench-kube
bench-kube: $(BIN)/kube-apiserver ## measure the operator with 1,000 instances on a real Kubernetes API server
	go test -vet=off -tags kube -run '^$$' -bench Instances -benchtime 1x ./cmd/tend-operator

.PHONY: test-openapi
test-openapi: ## test that a Go and a TypeScript client can be generated from the OpenAPI document; needs node and tsc
	@mkdir -p $(BIN)
	go test -vet=off -count=1 -run TestEveryOperationIsDescribed ./internal/server -args -document $(abspath $(BIN))/openapi.json
	OPENAPI=$(abspath $(BIN))/openapi.json go -C tools/apiclient test -vet=off -count=1 ./...

# These two look at all sources: whoever changes one runs them before the commit that CI sees (make if-changed-lint if-changed-cross).
BESIDE := lint cross

# Many tests wait: beside them, lint, the compiler and the race detector take what is left of the processors.
.PHONY: beside-tests
beside-tests:
	nice -n 19 $(MAKE) $(BESIDE:%=if-changed-%)
	nice -n 19 $(MAKE) race-packages QUICK=1
	nice -n 5 $(MAKE) race QUICK=1
	nice -n 19 $(MAKE) vulncheck

.PHONY: vulncheck
vulncheck: ## look for known vulnerabilities in what the binaries call (govulncheck, from tools/govulncheck/go.mod)
	@tool="$$(go tool -modfile=tools/govulncheck/go.mod -n govulncheck)" && $(STEP) vulncheck go run ./internal/ci/vulncheck "$$tool" ./cmd/...

# Nothing of the command line may need Linux: people deploy from their laptops. To compile all it is made of for another system
# takes minutes of both processors, so CI checks its types.
TARGETS := darwin/arm64 linux/arm64

.PHONY: cross
cross: ## type-check the command line for macOS and Linux on arm64
	go run ./internal/ci/portable $(TARGETS)

.PHONY: cross-build
cross-build: ## build the command line for macOS and Linux on arm64, and throw it away
	@for target in $(TARGETS); do \
		$(STEP) cross-build-$$target env GOOS=$${target%/*} GOARCH=$${target#*/} go build -o /dev/null ./cmd/tend || exit 1; done

.PHONY: format
format:
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { echo 'not gofmt-ed:'; gofmt -l $$(git ls-files '*.go'); exit 1; }
	@$(STEP) tidy go mod tidy -diff

.PHONY: tidy-tools
tidy-tools: ## check that the modules of tools/ are tidy
	@for module in promcheck otlpcheck helmrelease kubegen kuberender kube-apiserver govulncheck apiclient; do go -C tools/$$module mod tidy -diff || exit 1; done

# These build large trees of dependencies. In CI each runs only if its inputs (internal/ci/inputs) differ from those that it
# last passed with, which .ci/verified records; commit the record with the change.
KEYED := tidy-tools test-monitoring test-helm test-otlp test-openapi test-kube

.PHONY: $(KEYED:%=if-changed-%) $(BESIDE:%=if-changed-%)
$(KEYED:%=if-changed-%) $(BESIDE:%=if-changed-%): if-changed-%:
	@state="$$(go run ./internal/ci/inputs state $*)" && if [ "$$state" = unchanged ]; then \
		echo '$*: unchanged since it passed, see .ci/verified (to run it: make $*)'; \
	else $(STEP) $* $(MAKE) $* && go run ./internal/ci/inputs record $*; fi

.PHONY: check
check: ## what CI runs: format, modules, every test, lint, the race detector, and the checks whose inputs have changed
	@rm -rf $(RECORD)
	@$(MAKE) format
	@$(MAKE) -j 2 test beside-tests
	@$(MAKE) $(KEYED:%=if-changed-%)
	@$(MAKE) -s timings
	@grep -h '^DONE ' $(RECORD)/*.log

.PHONY: check-all
check-all: ## check, and everything that CI leaves out: hours
	rm -f .ci/verified
	$(MAKE) check
	$(MAKE) test-flux cross-build test-long race mutants histories fuzz
	$(MAKE) simulate SEED=kept
	$(MAKE) simulate TIME=10m
	$(MAKE) simulate-cluster SEED=kept
	$(MAKE) simulate-cluster TIME=10m

.PHONY: timings
timings: ## print where the time of the last make check or make test went, as tables
	@go run ./internal/ci/timings -from $(RECORD)

.PHONY: bench
bench: binary ## measure against the raw Docker API and peers in the same run
	go run ./bench -tend $(BIN)/tend

.PHONY: bench-tools
bench-tools: ## install what the ingress is measured against and with (Debian, as root)
	apt-get install -y --no-install-recommends nginx-light caddy haproxy wrk nghttp2-client

.PHONY: generate
generate: ## rewrite generated files (JSON schema, deep copies, CRDs and roles of the operator)
	go generate ./...

UNITDIR ?= /etc/systemd/system
UNITS := tend.service tend-agent.service

.PHONY: install
install: ## install what `make build` made, its docs and the systemd units (PREFIX, default /usr/local)
	@test -x $(BIN)/tend -a -d $(BIN)/man -a -f $(BIN)/THIRD-PARTY-NOTICES || \
		{ echo 'error: $(BIN) lacks tend, man or THIRD-PARTY-NOTICES: run `make build` first, as a user who has Go'; exit 1; }
	install -D -m 0755 $(BIN)/tend $(DESTDIR)$(PREFIX)/bin/tend
	install -D -m 0644 -t $(DESTDIR)$(PREFIX)/share/doc/tend README.md CHANGELOG.md LICENSE $(BIN)/THIRD-PARTY-NOTICES
	find -L docs examples deploy/prometheus deploy/grafana deploy/operator deploy/operator-logs deploy/operator-health deploy/operator-webhooks -type f -exec install -D -m 0644 {} $(DESTDIR)$(PREFIX)/share/doc/tend/{} \;
	install -D -m 0644 -t $(DESTDIR)$(PREFIX)/share/man/man1 $(BIN)/man/*.1
	install -d -m 0755 $(DESTDIR)$(UNITDIR) $(DESTDIR)/etc/tend
	for unit in $(UNITS); do sed 's|/usr/local|$(PREFIX)|g' deploy/systemd/$$unit > $(DESTDIR)$(UNITDIR)/$$unit || exit 1; \
		chmod 0644 $(DESTDIR)$(UNITDIR)/$$unit; done
	for file in server.env agent.env; do test -e $(DESTDIR)/etc/tend/$$file || \
		install -m 0600 deploy/systemd/$$file $(DESTDIR)/etc/tend/$$file || exit 1; done
	@echo "now: systemctl daemon-reload && systemctl enable --now tend"

.PHONY: uninstall
uninstall: ## remove what install put there; state and /etc/tend stay
	rm -f $(DESTDIR)$(PREFIX)/bin/tend $(UNITS:%=$(DESTDIR)$(UNITDIR)/%)
	rm -f $(DESTDIR)$(PREFIX)/share/man/man1/tend.1 $(DESTDIR)$(PREFIX)/share/man/man1/tend-*.1
	rm -rf $(DESTDIR)$(PREFIX)/share/doc/tend

# A version as packages order it: v1.2.0-rc1 is 1.2.0~rc1, before 1.2.0; v1.2.0-4-gabc, four commits after it, is
# 1.2.0+4.gabc; without a tag it is 0 and the number of commits.
PACKAGE_VERSION ?= $(shell echo '$(VERSION)' | grep -E '^v[0-9]' | sed -E 's/^v//; s/-([0-9]+)-(g[0-9a-f]+)/+\1.\2/; s/-dirty$$/+dirty/; s/-/~/g' \
	| grep . || echo "0.0.0+$$(git rev-list --count HEAD 2>/dev/null || echo 0).$$(echo '$(VERSION)' | tr -c 'A-Za-z0-9\n' .)")
PACKAGE_ARCH := $(shell go env GOARCH 2>/dev/null)
STAGE := $(BIN)/stage

.PHONY: package
package: export PACKAGE_VERSION := $(PACKAGE_VERSION)
package: export PACKAGE_ARCH := $(PACKAGE_ARCH)
package: build ## build a deb and an rpm for this machine's architecture in bin/ (nfpm, built from tools/nfpm/go.mod)
	rm -rf $(STAGE) $(BIN)/tend_*.deb $(BIN)/tend-*.rpm
	$(MAKE) -s install DESTDIR=$(abspath $(STAGE))/root PREFIX=/usr UNITDIR=/usr/lib/systemd/system >/dev/null
	gzip -9 -n $(STAGE)/root/usr/share/man/man1/*.1
	cp -r deploy/package $(STAGE)/package
	nfpm="$$(go tool -modfile=tools/nfpm/go.mod -n nfpm)" && out="$$(realpath $(BIN))" && cd $(STAGE) && \
		"$$nfpm" package -f package/nfpm.yaml -p deb -t "$$out" && "$$nfpm" package -f package/nfpm.yaml -p rpm -t "$$out"
	rm -rf $(STAGE)

IMAGE ?= tend:$(VERSION)
CA_FILES := /etc/ssl/certs/ca-certificates.crt /etc/pki/tls/certs/ca-bundle.crt /etc/ssl/cert.pem

.PHONY: image
image: binary notices ## build the container image IMAGE (default tend:VERSION) from nothing but the binary and CA certificates
	rm -rf $(STAGE)
	install -D -m 0755 $(BIN)/tend $(STAGE)/usr/bin/tend
	install -D -m 0644 -t $(STAGE)/usr/share/doc/tend LICENSE $(BIN)/THIRD-PARTY-NOTICES
	ca="$$(ls $(CA_FILES) 2>/dev/null | head -1)"; test -n "$$ca" || { echo 'error: this machine has no CA certificates (Debian: ca-certificates)'; exit 1; }; \
		install -D -m 0644 "$$ca" $(STAGE)/etc/ssl/certs/ca-certificates.crt
	install -d -m 1777 $(STAGE)/tmp
	docker build -q -t $(IMAGE) -f deploy/image/Dockerfile $(STAGE)
	rm -rf $(STAGE)

.PHONY: operator
operator: ## build bin/tend-operator, static and stripped
	go build -ldflags '$(LDFLAGS)' -o $(BIN)/tend-operator ./cmd/tend-operator

OPERATOR_IMAGE ?= tend-operator:$(VERSION)

.PHONY: operator-image
operator-image: operator ## build the container image OPERATOR_IMAGE (default tend-operator:VERSION) from the binary and CA certificates
	rm -rf $(STAGE)-operator
	install -D -m 0755 $(BIN)/tend-operator $(STAGE)-operator/usr/bin/tend-operator
	go run ./internal/ci/notices -of ./cmd/tend-operator -to $(STAGE)-operator/THIRD-PARTY-NOTICES
	install -D -m 0644 -t $(STAGE)-operator/usr/share/doc/tend-operator LICENSE $(STAGE)-operator/THIRD-PARTY-NOTICES
	rm $(STAGE)-operator/THIRD-PARTY-NOTICES
	ca="$$(ls $(CA_FILES) 2>/dev/null | head -1)"; test -n "$$ca" || { echo 'error: this machine has no CA certificates (Debian: ca-certificates)'; exit 1; }; \
		install -D -m 0644 "$$ca" $(STAGE)-operator/etc/ssl/certs/ca-certificates.crt
	docker build -q -t $(OPERATOR_IMAGE) -f deploy/operator/Dockerfile $(STAGE)-operator
	rm -rf $(STAGE)-operator

.PHONY: clean
clean: ## remove what was built
	rm -rf $(BIN)
