# pgbox: two commands to know are `make run` and `make test`.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

GO      ?= go
BIN     := bin/pgbox
CACHE   := .cache
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
PACKAGES := ./...

# Tests are built as the binary is, so that each package is compiled once for both, and once more for the race detector. lint has run vet.
TEST := CGO_ENABLED=0 $(GO) test -trimpath -vet=off -count=1

# Tools have a module of their own, so that the product's holds what the product needs.
tool = $$($(GO) -C .ci/tools tool -n $(1))

.PHONY: help check runtimes run cluster test-cluster test build generate verify lint bench clean install unit functions oracle hostile postgres18 pooled bench-once

help: ## list the targets
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | while IFS=$$'\t' read -r t d; do printf '  %-12s %s\n' "$$t" "$$d"; done

run: build ## build and start everything; prints a URL, a token and curl lines (needs nothing; DATABASE_URL is used if set)
	@$(MAKE) --no-print-directory runtimes || echo 'sandboxes have no python3: see above' >&2
	@exec $(BIN) dev

cluster: ## three gateways on a replicated Postgres, PgBouncer and Redis, on loopback; prints URLs and a token
	@$(GO) run ./bench/cluster

# The short form; `go run ./bench/cluster check -duration 30m` is the long one.
test-cluster: build ## kill, freeze, cut and fail over that installation under load and check what clients saw; broken builds must be found
	PGBOX_BINARY=$(CURDIR)/$(BIN) $(GO) run ./bench/cluster check -duration 60s

build: ## bin/pgbox, one static binary
	@mkdir -p bin
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags "-s -w -X main.version=$(VERSION)" -o $(BIN) ./gateway/cmd/pgbox

STAGES := install build lint verify unit functions oracle hostile test-cluster postgres18 pooled bench-once

test: ## everything CI runs: lint, drift, race tests, Postgres 15 and 18, end to end, each benchmark once; all stages, also behind one that fails
	@failed=; for stage in $(STAGES); do echo "== make $$stage"; $(MAKE) --no-print-directory $$stage || failed+=" $$stage"; done; \
	if [ -n "$$failed" ]; then echo "failed:$$failed" >&2; exit 1; fi; echo "passed: $(STAGES)"

check: ## build, vet, and test the packages that the change since main touches; BASE=COMMIT compares with that
	@.ci/check $(BASE)

install: ## install the tools the tests need, where missing (root: with apt), and the interpreters
	@.ci/install
	@$(MAKE) --no-print-directory runtimes

runtimes: build ## fetch the interpreters that sandboxes can have (python3) with npm, where they are missing
	@$(BIN) runtimes install || { ! command -v npm >/dev/null || exit 1; echo 'there is no npm: the interpreters are not installed' >&2; }

# The SQL functions' tests have nothing for the race detector to see; they are a stage of their own. The shell, which takes longest, begins first: what
# comes last has no other package beside it.
unit: build
	PGBOX_BINARY=$(CURDIR)/$(BIN) $(GO) test -race -trimpath -vet=off -timeout 30m ./gateway/shell $$($(GO) list $(PACKAGES) | grep -vE '/sql/functions_test$$|/gateway/shell$$')

functions:
	$(TEST) -timeout 20m ./sql/functions_test

oracle: ## what the race detector leaves out of the shell's tests: limits, cancelling, and the recorded cases on the real tools
	$(TEST) -timeout 15m -parallel 4 -skip '^(TestCases|Fuzz.*)$$' ./gateway/shell

# Without the race detector, which makes the programs under test ten times slower, and after everything else: these tests measure times.
hostile: ## only the hostile scripts, and what they leave their neighbours
	$(TEST) -timeout 15m -run Hostile ./gateway/httpapi

postgres18: ## the SQL tests again, on Postgres 18
	PGBOX_TEST_POSTGRES_BIN=$$(.ci/postgres18) $(TEST) -timeout 15m -skip '^TestPermutations$$' ./sql/...

# Left out is what does not connect through the pooler, or has nothing to do with connections.
pooled: build ## the tests of the gateway again, through a PgBouncer that pools transactions
	PGBOX_TEST_POOLER=1 PGBOX_BINARY=$(CURDIR)/$(BIN) $(TEST) -timeout 15m -skip 'Hostile|TestStandby|TestCases|TestTenThousandOpen|TestExport_|TestTar_|TestDump_|TestCommandLine|TestNewcomer|Command$$|TestHousekeeping|TestSixteenAppenders|TestGatewayStopped|TestRedisDown|TestServeRefuses' ./gateway/store ./gateway/sandbox ./gateway/httpapi ./gateway/cmd/pgbox

bench-once:
	$(GO) run ./bench -quick

bench: build ## measure everything (an hour), write bench/README.md, fail when a bar is missed
	$(GO) run ./bench -save

lint: ## golangci-lint with the dependency rules
	$(call tool,golangci-lint) run $(PACKAGES)

generate: ## schema.sql, sqlcgen, and the pages that are made of tables in the code
	$(GO) run ./sql/migrate/dump -o sql/schema.sql
	$(call tool,sqlc) generate
	$(GO) run ./gateway/shell/command/page -o gateway/shell/COMMANDS.md
	$(GO) run ./gateway/config/page > gateway/CONFIGURATION.md
	$(GO) run ./bench -page

verify: ## fail when generated code, schema or formatting has drifted
	$(GO) run ./sql/migrate/dump -check sql/schema.sql
	$(call tool,sqlc) diff
	$(call tool,sqlc) vet
	$(GO) run ./gateway/shell/command/page -check gateway/shell/COMMANDS.md
	$(call tool,golangci-lint) fmt --diff $(PACKAGES)
	$(GO) mod tidy -diff
	$(GO) mod verify >/dev/null

clean: ## remove what the build and the tests made (not the data of `make run`)
	rm -rf bin $(CACHE)
