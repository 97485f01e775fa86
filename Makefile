# What a developer of Vigil runs. `make` alone lists the targets.
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

UV_VERSION := 0.13.9
CACHE := $(or $(VIGIL_CACHE),$(or $(XDG_CACHE_HOME),$(HOME)/.cache)/vigil)
UV := $(CACHE)/uv-$(UV_VERSION)/bin/uv
RUN := $(UV) run --frozen --no-sync
SOURCES := operator/vigil kinds/vigil_kinds kinds/vigil_providers demo tests
export UV_LINK_MODE ?= copy
# Commands start several times faster, also where the environment keeps Python from caching what it compiled.
export UV_COMPILE_BYTECODE ?= 1

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-15s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(UV):
	@echo "installing uv $(UV_VERSION) into $(CACHE)"
	@python3 -m venv $(CACHE)/uv-$(UV_VERSION) || { echo "python3 cannot make a virtual environment: apt-get install python3-venv" >&2; exit 1; }
	@$(CACHE)/uv-$(UV_VERSION)/bin/pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)

.PHONY: setup
setup: $(UV) ## Make the locked environment in .venv
	@$(UV) sync --frozen --quiet

.PHONY: demo
demo: setup ## Watch something real change, with no cluster, in under a minute
	@$(RUN) python -m demo

.PHONY: test
test: setup ## Run every test, end-to-end included; the first run builds the control plane
	@$(RUN) pytest

.PHONY: test-fast
test-fast: setup ## Run the tests that need no control plane
	@$(RUN) pytest -m "not e2e and not bench" --ignore=tests/controlplane

.PHONY: coverage
coverage: setup ## Check that every branch of the decision and of the state is tested
	@$(RUN) pytest -q tests/unit/decision tests/unit/state --cov=vigil.decision --cov=vigil.state --cov-branch \
		--cov-config=/dev/null --cov-report=term-missing:skip-covered --cov-fail-under=100

.PHONY: bench
bench: setup ## Measure the engine, and write docs/benchmarks.md
	@$(RUN) pytest -q tests/bench -m bench --benchmark-disable-gc --benchmark-json=$(CACHE)/bench.json
	@$(RUN) python -m tests.bench.report $(CACHE)/bench.json docs/benchmarks.md

.PHONY: bench-fleet
bench-fleet: setup ## Watch a thousand pull requests under one credential for two virtual hours (about 5 minutes)
	@$(RUN) python -m tests.bench.fleet

.PHONY: check
check: lint types verify coverage test ## Do everything that CI does

.PHONY: lint
lint: setup ## Check style, layers and the shape of the tree
	@$(RUN) ruff format --check $(SOURCES)
	@$(RUN) ruff check $(SOURCES)
	@$(RUN) lint-imports
	@test ! -e operator/__init__.py || { echo "operator/__init__.py would shadow the standard library's operator" >&2; exit 1; }

.PHONY: types
types: setup ## Check types with mypy and pyright, both strict
	@$(RUN) mypy
	@$(RUN) pyright

.PHONY: format
format: setup ## Format the sources
	@$(RUN) ruff format $(SOURCES)
	@$(RUN) ruff check --fix --quiet $(SOURCES)

.PHONY: generate
generate: setup ## Write what is generated from types: the CRD, the kinds' schemas and tables
	@$(RUN) python -m vigil.api.crd crds/vigil.dev_watches.yaml helm/vigil/files/crds/vigil.dev_watches.yaml
	@$(RUN) python -m vigil.kind.generate kinds/vigil_kinds

.PHONY: verify
verify: setup ## Fail when something generated is stale, or the lock is
	@$(RUN) python -m vigil.api.crd --check crds/vigil.dev_watches.yaml helm/vigil/files/crds/vigil.dev_watches.yaml
	@$(RUN) python -m vigil.kind.generate --check kinds/vigil_kinds
	@$(UV) lock --check --quiet

.PHONY: control-plane
control-plane: setup ## Build the real control plane that the tests use, once (about 13 minutes)
	@$(RUN) python tests/controlplane/build.py
