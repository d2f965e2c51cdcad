SHELL := /bin/bash
BIN := bin
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
LDFLAGS := -s -w -X tend.dev/tend/internal/version.Version=$(VERSION)
PREFIX ?= /usr/local
export CGO_ENABLED ?= 0

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

.PHONY: build
build: ## build bin/tend, static and stripped
	go build -trimpath -ldflags '$(LDFLAGS)' -o $(BIN)/tend ./cmd/tend

.PHONY: demo
demo: build ## start a private Tend, deploy, heal, roll, clean up
	go run ./examples/hello/demo -tend $(BIN)/tend

GOTESTSUM := go run gotest.tools/gotestsum@v1.13.0 --format pkgname --format-hide-empty-pkg
GOLANGCI := go tool -modfile=tools/go.mod golangci-lint

# Stories on a real engine share it, and the machine, with each other: in these packages alone, up to 3 tests that fail
# run once more, and the summary names them as failures of the first run. A test that fails twice fails. Everywhere else a
# test that fails once has found a defect.
SECOND_TRY := ^$(shell go list -m)/internal/(e2e|runtime|cli|ingress|plugin|server|build|testimage)(/|$$)

.PHONY: test
test: ## run every test, those that need Docker included
	@status=0; \
	$(GOTESTSUM) --packages="$$(go list -tags integration ./... | grep -vE '$(SECOND_TRY)' | xargs)" \
		-- -p 1 -timeout 30m -tags integration || status=1; \
	$(GOTESTSUM) --packages="$$(go list -tags integration ./... | grep -E '$(SECOND_TRY)' | xargs)" \
		--rerun-fails=1 --rerun-fails-max-failures=3 -- -p 1 -timeout 30m -tags integration || status=1; \
	exit $$status

.PHONY: test-unit
test-unit: ## run the tests that need nothing but Go
	go test ./...

# The detector makes tests several times slower, so they try fewer cases under it (internal/race; properties by RAPID_CHECKS).
.PHONY: race
race: export CGO_ENABLED = 1
race: export RAPID_CHECKS ?= 25
race: ## run the tests that need no Docker under the race detector (needs gcc)
	go build -race ./... # in parallel, which -p 1 below isn't
	@status=0; \
	$(GOTESTSUM) --packages="$$(go list ./... | grep -vE '$(SECOND_TRY)' | xargs)" -- -race -vet=off -p 1 -timeout 30m || status=1; \
	$(GOTESTSUM) --packages="$$(go list ./... | grep -E '$(SECOND_TRY)' | xargs)" \
		--rerun-fails=1 --rerun-fails-max-failures=3 -- -race -vet=off -p 1 -timeout 30m || status=1; \
	exit $$status

# Fresh worlds are shared out over the processors: each process has seeds of its own.
SIMULATE := $(BIN)/simulate.test
.PHONY: simulate
simulate: export GOGC = 400
simulate: ## live through simulated worlds: TIME=10m of fresh ones, or SEED=kept, or the one of SEED=N
	go test -c -tags simulate -o $(SIMULATE) ./internal/simulation
ifeq ($(SEED),kept)
	cd internal/simulation && ../../$(SIMULATE) -test.run 'TestKeptSeeds$$' -test.v
else ifdef SEED
	cd internal/simulation && ../../$(SIMULATE) -test.run 'TestSeed$$' -test.v -seed $(SEED)
else
	@cd internal/simulation; for i in $$(seq $$(nproc)); do ../../$(SIMULATE) -test.run 'TestFresh$$' -test.v -time $(TIME) -from $$(date +%s%N) & \
		sleep 0.1; done; status=0; for job in $$(jobs -p); do wait $$job || status=1; done; exit $$status
endif

.PHONY: mutants
mutants: ## break Tend in each of the ways of internal/simulation/mutants, and demand that the simulation sees it
	go test -tags simulate ./internal/simulation -run 'TestMutants$$' -v -count=1 -timeout 3h

.PHONY: lint
lint: ## run golangci-lint, built from the version in tools/go.mod
	$(GOLANGCI) run

TIME ?= 1m

.PHONY: fuzz
fuzz: ## run each fuzz target for TIME (default 1m)
	@grep -roE --include='*_test.go' '^func Fuzz[A-Za-z0-9_]*' . | sed -E 's|/[^/]*:func | |' | sort | while read -r folder target; do \
		echo "$$folder $$target"; \
		go test "$$folder" -run '^$$' -fuzz "^$$target\$$" -fuzztime $(TIME) </dev/null || exit 1; \
	done

.PHONY: check
check: ## what CI runs: format, modules, vet, lint, the tests that need no Docker under the race detector, every test
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { echo 'not gofmt-ed:'; gofmt -l $$(git ls-files '*.go'); exit 1; }
	go mod tidy -diff
	go vet -tags integration ./...
	$(MAKE) lint
	$(MAKE) race
	$(MAKE) test

.PHONY: bench
bench: build ## measure against the raw Docker API and peers in the same run
	go run ./internal/bench -tend $(BIN)/tend

.PHONY: bench-tools
bench-tools: ## install what the ingress is measured against and with (Debian, as root)
	apt-get install -y --no-install-recommends nginx-light caddy wrk

.PHONY: generate
generate: ## rewrite generated files (JSON schema)
	go generate ./...

.PHONY: install
install: ## install what `make build` made, its docs and the systemd units (PREFIX, default /usr/local)
	@test -x $(BIN)/tend || { echo 'error: there is no $(BIN)/tend: run `make build` first, as a user who has Go'; exit 1; }
	install -D -m 0755 $(BIN)/tend $(DESTDIR)$(PREFIX)/bin/tend
	install -D -m 0644 -t $(DESTDIR)$(PREFIX)/share/doc/tend README.md CHANGELOG.md LICENSE
	find docs examples -type f -exec install -D -m 0644 {} $(DESTDIR)$(PREFIX)/share/doc/tend/{} \;
	install -d -m 0755 $(DESTDIR)/etc/systemd/system
	sed 's|/usr/local|$(PREFIX)|g' deploy/systemd/tend.service > $(DESTDIR)/etc/systemd/system/tend.service
	install -m 0644 deploy/systemd/tend.socket $(DESTDIR)/etc/systemd/system/tend.socket
	chmod 0644 $(DESTDIR)/etc/systemd/system/tend.service
	@echo "now: systemctl daemon-reload && systemctl enable --now tend"

.PHONY: uninstall
uninstall: ## remove what install put there; state stays
	rm -f $(DESTDIR)$(PREFIX)/bin/tend $(DESTDIR)/etc/systemd/system/tend.service $(DESTDIR)/etc/systemd/system/tend.socket
	rm -rf $(DESTDIR)$(PREFIX)/share/doc/tend

.PHONY: clean
clean: ## remove what was built
	rm -rf $(BIN)
