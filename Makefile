# Two commands for a newcomer: `make demo` and `make test`. Everything they need is set up here,
# inside this checkout (.venv, .cache) and your data directory (the pinned pi). `make help` lists all.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
WORKERS ?= 2
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_CACHE_DIR ?= $(CURDIR)/.cache/pip
# pip asks rustc for its version, and rustup would then write to the home directory.
export RUSTUP_HOME ?= $(CURDIR)/.cache/rustup
export PIP_CONSTRAINT := $(CURDIR)/constraints.txt

.DEFAULT_GOAL := help
.PHONY: help demo test faults soak check format conformance bench screenshots setup clean

help: ## Show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | column -t -s '|' 2>/dev/null \
		|| grep '##' $(MAKEFILE_LIST)

demo: $(VENV)/.runtime ## Three real sub-agents on this checkout: no key, no account
	@$(BIN)/subagents demo

test: setup $(VENV)/.dev ## Lint, types and the whole test suite, on the real pi
	@$(MAKE) --no-print-directory check
	@echo "==> Tests"
	@$(BIN)/python -m pytest -n $(WORKERS) $(PYTEST_ARGS)

faults: $(VENV)/.dev ## Only the fault suite: crashes, full disks, damaged records
	@$(BIN)/python -m pytest -n $(WORKERS) tests/faults $(PYTEST_ARGS)

soak: $(VENV)/.dev ## The long versions: every write fails, 200 kills, a million damaged lines
	@$(BIN)/python -m pytest -n $(WORKERS) tests/soak/soak_*.py $(PYTEST_ARGS)
	@PROPERTY_EXAMPLES=2000 $(BIN)/python -m pytest -n $(WORKERS) tests/unit/core $(PYTEST_ARGS)

check: $(VENV)/.dev ## Lint and types
	@echo "==> Lint and types"
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

format: $(VENV)/.dev ## Put the code in shape
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

conformance: $(BIN)/python ## What was specified, and the test that proves it
	@$(BIN)/python scripts/conformance.py

bench: setup $(VENV)/.dev ## Measure: start-up, imports, supervisor, delegation
	@$(BIN)/python benchmarks/run.py

screenshots: setup $(VENV)/.dev ## Take the pictures of the documents anew, from real runs in tmux
	@$(BIN)/python -m scripts.screenshots $(PICTURES)

setup: $(VENV)/.runtime ## Install the pinned pi into your data directory
	@$(BIN)/subagents setup

clean: ## Remove what make has set up in this checkout
	rm -rf $(VENV) .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "Python 3.11 or newer is needed; $(PYTHON) is $$($(PYTHON) --version 2>&1)." \
		"Say which one to use: make PYTHON=python3.12 ..." >&2; exit 1; }
	@echo "==> Creating $(VENV)"
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); \
		echo "venv failed; on Debian and Ubuntu: apt-get install python3-venv" >&2; exit 1; }

$(VENV)/.runtime: pyproject.toml constraints.txt | $(BIN)/python
	@echo "==> Installing pi-subagents into $(VENV)"
	@$(BIN)/python -m pip install --quiet --editable .
	@touch $@

$(VENV)/.dev: $(VENV)/.runtime
	@echo "==> Installing the test tools into $(VENV)"
	@$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $@
