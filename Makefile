# One command for each thing. Every target first makes what it needs: a `.venv` of its own, with this package and its
# development tools in it. Nothing outside the working tree is changed.
#
#   make demo [ARGS=--once]   the main job in a minute, on a throw-away store
#   make test                 every check, then every test
#   make check                formatting, lint, types, import rules, templates, generated pages
#   make soak                 long random walks (100,000 steps) and the largest exploration
#   make faults [ARGS=…]      the fault campaigns at the size that every run has
#   make campaign [ARGS=…]    the same at full size (specs/faults.toml): hours, a report at the end
#   make conformance          which spec ids have a test that executed them, and which changes to the code the tests notice
#   make rules                which spec ids no test has executed, by the last run over just this tree
#   make bench [ARGS=…]       the PERF figures, each beside its floor
#   make screenshots          draws docs/screenshots/ anew, in the system's Chromium
#   make docs                 writes docs/machines.md and docs/reference/ anew
#   make clean                removes everything that these targets made

SHELL := /bin/sh
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

# The first of these that runs and is new enough; `make PYTHON=… test` chooses another.
NEW_ENOUGH := import sys; sys.exit(sys.version_info < (3, 11))
PYTHON ?= $(shell for name in python3.11 python3 python3.13 python3.12; do \
	"$$name" -c '$(NEW_ENOUGH)' >/dev/null 2>&1 && { echo "$$name"; break; }; done)

# Workers for the tests. The live tests share one worker whatever their number (tests/conftest.py).
JOBS ?= $(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
PYTEST := $(BIN)/python -m pytest -n $(JOBS) --dist loadgroup --spec-record

.PHONY: demo test screenshots soak faults campaign rules check lint format types imports templates docs-check docs conformance bench clean

demo: $(STAMP)
	@$(BIN)/relaybay demo $(ARGS)

test: check
	$(PYTEST) $(ARGS)

# Another draw each time; a failure prints what reproduces it.
soak: $(STAMP)
	RELAYBAY_SOAK=1 $(BIN)/python -m pytest -p no:cacheprovider -s tests/stateful tests/explore $(ARGS)

faults: $(STAMP)
	$(BIN)/python -m pytest -n $(JOBS) --dist loadgroup tests/faults $(ARGS)

# One after the other, and with what each counted: it is a report, and a failure prints what plays it again.
campaign: $(STAMP)
	RELAYBAY_CAMPAIGN=1 $(BIN)/python -m pytest -p no:cacheprovider -s tests/faults $(ARGS)

check: lint format types imports templates docs-check

lint: $(STAMP)
	$(BIN)/ruff check .

format: $(STAMP)
	$(BIN)/ruff format --check .

types: $(STAMP)
	$(BIN)/mypy

imports: $(STAMP)
	$(BIN)/lint-imports

templates: $(STAMP)
	$(BIN)/djlint --lint relaybay/ui

docs-check: $(STAMP)
	$(BIN)/python -m docs.generate --check
	$(BIN)/python -m tests.conformance.report --check

docs: $(STAMP)
	$(BIN)/python -m docs.generate

# By the record of the last run over just this tree.
rules: $(STAMP)
	@$(BIN)/python -m tests.conformance.report

# How many changes to the code are tried, always the same ones; 0 for all of them, which takes half an hour.
MUTANTS ?= 0

# Counted in this run alone: the tests, then every change to the core's code. The last line is the result.
conformance: $(STAMP)
	@$(BIN)/python -m tests.conformance.report --run --write --jobs $(JOBS) --mutants $(MUTANTS)

bench: $(STAMP)
	@$(BIN)/python -m bench $(ARGS)

screenshots: $(STAMP)
	$(BIN)/python -m tools.screenshots

clean:
	rm -rf $(VENV) .relaybay-executed.json .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis dist
	find relaybay tests bench docs -name __pycache__ -type d -prune -exec rm -rf {} +

$(STAMP): pyproject.toml
	@test -n "$(PYTHON)" || { echo "make: Python 3.11 or newer is needed and none was found on PATH; install it, or name one: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@"$(PYTHON)" -c '$(NEW_ENOUGH)' || { echo "make: $(PYTHON) does not run, or is older than Python 3.11; name another: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@$(BIN)/python -c '$(NEW_ENOUGH)' 2>/dev/null || { rm -rf $(VENV); "$(PYTHON)" -m venv $(VENV); } || { \
		rm -rf $(VENV); \
		echo "make: $(PYTHON) cannot make a virtual environment; on Debian and Ubuntu install the package python3-venv" >&2; exit 1; }
	@echo "installing relaybay and its tools into $(VENV) (once)" >&2
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dev]'
	@touch $@
