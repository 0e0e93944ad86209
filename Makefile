# Two commands for a newcomer: `make demo` and `make test`. Everything they need is set up here,
# inside this checkout (.venv, .cache) and your data directory (the pinned pi). `make help` lists all.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
WORKERS ?= 3
# The long tests stand together, and chunks of consecutive ones would all go to one worker.
PARALLEL = $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal
SHIM := .cache/shim
SHIM_SOURCES := $(wildcard src/pi_subagents/pi_extension/*.ts tests/fakes/*.ts)
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_CACHE_DIR ?= $(CURDIR)/.cache/pip
# pip asks rustc for its version, and rustup would then write to the home directory.
export RUSTUP_HOME ?= $(CURDIR)/.cache/rustup
export PIP_CONSTRAINT := $(CURDIR)/constraints.txt
# The tests start Python some thousand times: what is compiled once is kept, whoever forbade that.
export PYTHONDONTWRITEBYTECODE :=

.DEFAULT_GOAL := help
.PHONY: help demo test quick e2e-acp e2e-cluster e2e-mcp e2e-pi e2e-versions check-shim faults soak check format conformance bench screenshots dist setup clean

help: ## Show this list
	@sed -n 's/^\([a-z0-9-]*\):.*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | column -t -s '|' 2>/dev/null \
		|| grep '##' $(MAKEFILE_LIST)

demo: $(VENV)/.runtime ## Three real sub-agents on this checkout: no key, no account
	@$(BIN)/subagents demo

# What waits for a network, what uses one processor and what compiles goes on side by side.
test: $(VENV)/.dev ## Lint, types and the whole test suite, on the real pi
	@$(MAKE) --no-print-directory -j 3 setup check $(VENV)/.compiled
	@echo "==> Tests"
	@$(PARALLEL) $(PYTEST_ARGS)

# Nearly all of it keeps a processor busy; a third worker would only collect the tests once more.
quick: WORKERS := 2
quick: $(VENV)/.dev ## The daily loop: lint, types, rooms and the quick unit tests, in less than a minute
	@$(MAKE) --no-print-directory check
	@echo "==> Unit tests"
	@PROPERTY_EXAMPLES=10 $(PARALLEL) -m "not slow" tests/unit tests/test_architecture.py $(PYTEST_ARGS)

# Faults that live beside what they are about: of children, of hosts and projects that attack, with the real pi.
FAULTS := bad_bytes budgets checks child_endings crashes guards journal limits output_limits reuse rpc_children siblings starting \
	stopping values worktrees
FAULTS := $(FAULTS:%=integration/test_%.py) integration/test_mcp_http.py integration/test_project_definitions.py \
	unit/supervisor/test_control.py e2e/test_cleaning_with_pi.py e2e/test_planted_code.py

faults: setup $(VENV)/.dev ## Only the fault suite, in every child mode and with forked supervisors: crashes, full disks, bad children, hostile projects
	@EVERY_CHILD_MODE=1 $(PARALLEL) tests/faults $(FAULTS:%=tests/%) $(PYTEST_ARGS)
	@echo "==> The same with forked supervisors"
	@EVERY_CHILD_MODE=1 FORKED_SUPERVISORS=1 $(PARALLEL) tests/faults tests/integration/test_pool.py $(FAULTS:%=tests/%) $(PYTEST_ARGS)

e2e-acp: setup $(VENV)/.dev ## Other people's agents as sub-agents: opencode, Codex, Qwen Code, ... (from npm)
	@$(PARALLEL) tests/e2e_acp $(PYTEST_ARGS)

e2e-cluster: setup $(VENV)/.dev ## Three workers in a storm: killed, cut off, a full disk, a wrong clock, PostgreSQL restarted under 1,000 runs
	@$(BIN)/python -m pytest -o faulthandler_timeout=0 tests/e2e_cluster $(PYTEST_ARGS)

e2e-mcp: setup $(VENV)/.dev ## The MCP server with clients and agent hosts of other people (from npm)
	@$(BIN)/python -m pytest tests/e2e_mcp $(PYTEST_ARGS)

PROPERTIES := tests/unit

soak: $(VENV)/.dev ## The long versions, in every child mode: every write fails, 200 kills, a million damaged lines, 1,000 tasks, 2,000 examples of every property
	@$(PARALLEL) tests/soak/soak_*.py $(PYTEST_ARGS)
	@PROPERTY_EXAMPLES=2000 $(PARALLEL) $(PROPERTIES) -m hypothesis $(PYTEST_ARGS)

e2e-pi: setup $(VENV)/.dev check-shim ## The real pi as main agent: print, RPC and terminal (needs tmux, and npm)
	@$(PARALLEL) tests/e2e_pi/pi_*.py tests/e2e/test_pi_extension.py $(PYTEST_ARGS)

e2e-versions: $(VENV)/.dev ## Both on several versions of pi, in every child mode: VERSIONS="0.87.1 1.5.0" (needs tmux, and npm)
	@EVERY_CHILD_MODE=1 WORKERS=$(WORKERS) PYTEST_ARGS="$(PYTEST_ARGS)" $(BIN)/python -m scripts.e2e_versions $(VERSIONS)

# Their sources stay where they are: links make TypeScript look for packages beside them.
check-shim: $(SHIM)/.installed ## Types and style of the extension for pi (needs npm)
	@echo "==> The extension for pi"
	@ln -sfn $(CURDIR)/src/pi_subagents/pi_extension $(SHIM)/extension
	@ln -sfn $(CURDIR)/tests/fakes $(SHIM)/fakes
	@$(SHIM)/node_modules/.bin/tsc -p $(SHIM)
	@$(SHIM)/node_modules/.bin/biome check --config-path=scripts/shim $(SHIM_SOURCES)

$(SHIM)/.installed: $(wildcard scripts/shim/*.json) scripts/shim_packages.py | $(VENV)/.dev
	@mkdir -p $(SHIM)
	@cp scripts/shim/*.json $(SHIM)
	@$(BIN)/python -m scripts.shim_packages $(SHIM)
	@touch $@

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
	@$(BIN)/python benchmarks/run.py $(BENCH_ARGS)

screenshots: setup $(VENV)/.dev ## Take the pictures of the documents anew, from real runs in tmux
	@$(BIN)/python -m scripts.screenshots $(PICTURES)

dist: $(VENV)/.dev ## Build wheel and sdist, install the wheel into an empty environment and run the demo there
	@$(BIN)/python -m scripts.dist $(DIST)

setup: $(VENV)/.runtime ## Install the pinned pi into your data directory
	@$(BIN)/subagents setup

# Every worker would compile all tests by itself, at the same time. What is wrong with one is said when they run.
$(VENV)/.compiled: | $(VENV)/.dev
	@$(BIN)/python -m pytest --collect-only -q >/dev/null 2>&1 || true
	@touch $@

clean: ## Remove what make has set up in this checkout
	rm -rf $(VENV) .cache dist .mypy_cache .ruff_cache .pytest_cache .hypothesis

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
