# The targets that people and CI use. `make test` is all of the tests; `make ci` is what a submission must pass.

GO        ?= go
FUZZTIME  ?= 15s
SEEDS     ?= 2000
MINUTES   ?= 30
SEED      ?=
STAGE     ?= 4
COVER_MIN ?= 95
PKGS      ?= ./...
BENCH     ?=

# The race detector needs a C compiler; Millrace itself does not.
RACE = $$(command -v $$($(GO) env CC) >/dev/null 2>&1 && echo -race)

# The tools live in a module of their own; go builds them once and keeps them in its cache.
TOOL = $$($(GO) -C tools tool -n $(1))
GOFILES = $$(git ls-files --cached --others --exclude-standard '*.go' | grep -v /testdata/)

.PHONY: test nightly short build lint fmt docs due bench bench-peers fleet fuzz cover sim crash chaos examples ci clean help

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## build bin/millrace
	CGO_ENABLED=0 $(GO) build -o bin/millrace ./cmd/millrace

test: ## all tests, with the race detector, the built binary and its crash test; installs PostgreSQL where it is not
	tools/postgres.sh
	$(GO) vet $(PKGS)
	@command -v $$($(GO) env CC) >/dev/null 2>&1 || echo "no C compiler here: the race detector needs one, so it is off" >&2
	MILLRACE_TEST_POSTGRES=require $(GO) test $(RACE) -timeout 20m $(PKGS)

nightly: ## what no submission waits for: the contract on PostgreSQL 18, its query plans at their full size, a long journal
	MILLRACE_TEST_JOURNAL=full $(GO) test -count=1 -run TestRebuildHoldsFew ./machine
	bin=$$(tools/postgres.sh 18) && MILLRACE_TEST_POSTGRES=require MILLRACE_TEST_POSTGRES_BIN="$$bin" MILLRACE_TEST_PLANS=full \
		$(GO) test -count=1 -timeout 40m ./store/postgres -rapid.checks=500

short: ## the tests, without the race detector and the long ones
	$(GO) test -short $(PKGS)

# The linter's cache is the checkout's own: it holds paths, and those of another checkout match no exception of the configuration.
lint: ## golangci-lint, go vet of the peers' bench, formatting, shell scripts and go.mod
	@lint=$(call TOOL,golangci-lint) && GOLANGCI_LINT_CACHE='$(CURDIR)/bin/lint' "$$lint" run $(PKGS)
	@$(GO) -C bench/peers vet ./...
	@unformatted=$$($(call TOOL,gofumpt) -l $(GOFILES)); \
	if [ -n "$$unformatted" ]; then printf 'not formatted (make fmt):\n%s\n' "$$unformatted"; exit 1; fi
	@$(GO) mod tidy -diff
	@if command -v shellcheck >/dev/null 2>&1; then shellcheck .ci/run $$(git ls-files --cached --others --exclude-standard '*.sh'); \
	else echo 'shellcheck is not installed: scripts are not checked'; fi

fmt: ## format all Go files
	@$(call TOOL,gofumpt) -w $(GOFILES)
	@$(call TOOL,gci) write --skip-generated -s standard -s default -s 'prefix(github.com/millrace-go/millrace)' $(GOFILES)

docs: ## write the generated parts of docs/ (tidy fails when they are old)
	$(GO) run ./internal/tidy/statements
	$(GO) test -count=1 ./workflow -run TestTheSchemaAndTheReferenceAreNotOld -update
	@mkdir -p docs/reference
	$(GO) run ./cmd/millrace/internal/reference docs/reference/cli.md

due: ## name the statements due by STAGE that no test holds
	$(GO) run ./internal/tidy/statements -due $(STAGE)

bench: ## the workloads of docs/performance.md with the ceiling beside them, verified
	$(GO) run ./bench/workloads $(BENCH)

# A module of its own, so that the peers stay out of this one's.
bench-peers: ## Millrace beside other engines on both databases: lines of JSON, a table and a chart in bin/bench
	@mkdir -p bin/bench
	$(GO) run -C bench/peers . -lines '$(CURDIR)/bin/bench/lines.jsonl' -table '$(CURDIR)/bin/bench/table.md' \
		-chart '$(CURDIR)/bin/bench/chart.svg' $(BENCH)

fleet: ## what 1, 2, 4 and 8 engine processes at one PostgreSQL do in a second, and what a run costs: busy, and nearly idle
	$(GO) test -run '^$$' -bench 'RunsOfThreeSteps|ALightLoad' -benchtime 1x -count 3 ./internal/fleet

fuzz: ## each fuzz target for FUZZTIME
	GO='$(GO)' FUZZTIME='$(FUZZTIME)' tools/fuzz.sh

cover: ## fails when expr, workflow or machine is covered less than COVER_MIN per cent
	GO='$(GO)' COVER_MIN='$(COVER_MIN)' tools/cover.sh expr workflow machine

sim: ## the simulation with SEEDS seeds, a 25th of them on each database, and the faults that are planted in the machine
	MILLRACE_SIM_SEEDS=$(SEEDS) MILLRACE_SIM_SQLITE=$$(($(SEEDS) / 25)) MILLRACE_SIM_POSTGRES=$$(($(SEEDS) / 25)) \
		$(GO) test -count=1 -timeout 0 -parallel 4 ./internal/sim
	$(GO) test -count=1 -timeout 20m -tags mutants -run PlantedFaultOfTheMachine ./internal/sim

crash: ## kills the built binary at random moments and resumes it
	$(GO) test -count=1 -timeout 10m -run Crash ./cmd/...

chaos: ## MINUTES of work while processes, PostgreSQL and the network break, drawn from SEED, and what was lost by it
	MILLRACE_TEST_POSTGRES=require MILLRACE_CHAOS_MINUTES=$(MINUTES) MILLRACE_CHAOS_SEED=$(SEED) \
	$(GO) test -count=1 -v -timeout 0 -run 'NothingIsLost' ./internal/chaos

examples: ## run each example through the built binary, and check what it gives
	$(GO) test -count=1 -v ./examples

ci: lint test cover sim fuzz ## all of it

clean: ## remove what builds left here
	rm -rf bin dist
