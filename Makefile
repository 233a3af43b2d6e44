# The way in: `make demo` and `make test` set everything up by themselves on a machine that has
# Python 3.11, make and a package registry. Each target calls the real tool; no logic lives here.
PYTHON ?= python3.11
VENV ?= .venv
OUT ?= out/demo
# `make test ARGS="tests/protocol -k seeds"` runs a part, and leaves the coverage gate out.
ARGS ?= --cov
# The same for `make test-api` and `make test-e2e`.
TIER_ARGS ?=
UV_VERSION := 0.13.9
# Written when the environment is as uv.lock says; made anew when that file or pyproject.toml changes.
STAMP ?= $(VENV)/.synced
BIN := $(VENV)/bin
.DEFAULT_GOAL := help

.PHONY: help
help: ## Print this list
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

.PHONY: setup
setup: $(STAMP) ## Make the virtual environment with everything that uv.lock names

# A Python without ensurepip (Debian splits it off) makes the environment bare and fills it from its own pip.
$(STAMP): pyproject.toml uv.lock
	$(PYTHON) -m venv $(VENV) || $(PYTHON) -m venv --without-pip $(VENV)
	$(BIN)/python -m pip --version || $(PYTHON) -m pip --python $(BIN)/python install pip
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)
	UV_PROJECT_ENVIRONMENT=$(VENV) $(BIN)/uv sync --locked --all-extras
	touch $@

.PHONY: demo
demo: $(STAMP) ## Measure examples/strawman.yaml; print the report's path and the verdict (a minute)
	$(BIN)/equipoise run examples/strawman.yaml --out $(OUT)

.PHONY: examples
examples: $(STAMP) ## Measure every example, one after the other
	for file in examples/*.yaml; do $(BIN)/equipoise run $$file --out out/$$(basename $$file .yaml) || exit; done

.PHONY: test
test: $(STAMP) ## Run the tests, with the coverage gate of the protocol
	$(BIN)/python -m pytest $(ARGS)

.PHONY: test-api
test-api: $(STAMP) ## Run the tests that want a real API server (built with Go, once)
	$(BIN)/python -m pytest tests/api $(TIER_ARGS)

.PHONY: test-e2e
test-e2e: $(STAMP) ## Run the tests that want pods on a real kubelet (root; minutes the first time)
	$(BIN)/python -m pytest tests/e2e $(TIER_ARGS)

.PHONY: cluster
cluster: $(STAMP) ## Start a whole cluster on this machine; print the next two commands (root)
	PYTHONPATH=tests $(BIN)/python -m cluster.up

.PHONY: cluster-down
cluster-down: $(STAMP) ## End the cluster of `make cluster`
	PYTHONPATH=tests $(BIN)/python -m cluster.down

.PHONY: check
check: lint types test ## Everything that must hold before a commit

.PHONY: lint
lint: $(STAMP) ## Style, spelling, import contracts, generated files unchanged
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/codespell
	$(BIN)/lint-imports
	$(BIN)/python -m equipoise_operator.generate --check
	$(BIN)/python -m equipoise_operator.protocol_digest

.PHONY: types
types: $(STAMP) ## mypy, strict
	$(BIN)/mypy

.PHONY: format
format: $(STAMP) ## Put code into the one format; fix what can be fixed by itself
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

.PHONY: generate
generate: $(STAMP) ## Write the published JSON schemas anew
	$(BIN)/python -m equipoise_operator.generate

.PHONY: bench
bench: $(STAMP) ## Benchmarks beside their peers, one after the other (tests/performance; minutes)
	for script in tests/performance/*.py; do $(BIN)/python $$script || exit; done
