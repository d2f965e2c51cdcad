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

# Stories on a real engine share the machine with it: up to 3 tests that fail are run once more, and the summary names them
# as failures of the first run. A test that fails twice fails.
GOTESTSUM := go run gotest.tools/gotestsum@v1.13.0

.PHONY: test
test: ## run every test, those that need Docker included
	$(GOTESTSUM) --format pkgname --format-hide-empty-pkg --rerun-fails=1 --rerun-fails-max-failures=3 \
		--packages=./... -- -p 1 -timeout 30m -tags integration

.PHONY: test-unit
test-unit: ## run the tests that need nothing but Go
	go test ./...

.PHONY: check
check: ## what CI runs: format, vet, every test
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { echo 'not gofmt-ed:'; gofmt -l $$(git ls-files '*.go'); exit 1; }
	go vet -tags integration ./...
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
	install -D -m 0644 -t $(DESTDIR)$(PREFIX)/share/doc/tend README.md docs/cli.md docs/operating.md
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
