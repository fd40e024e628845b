# Everything that is done with a checkout. `make` lists the targets.

PYTHON ?= python3
VENV ?= .venv
EXTRAS_VENV ?= .venv-extras
# Folders are made absolute so that VENV may lie anywhere.
BIN := $(abspath $(VENV))/bin
PIP_INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check
DEPENDENCIES := $(VENV)/.dependencies
PROJECT := $(VENV)/.project
LOCKER := $(VENV)/.locker
# One set of pins for every supported Python and platform. The files name no index: pip asks the one it is set up for.
COMPILE := $(BIN)/uv pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes --no-header \
    --no-annotate --no-emit-index-url --no-emit-find-links --no-config

.DEFAULT_GOAL := help
.PHONY: help setup demo test lint format types contracts rules unit extras bench docs lock clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo
	@echo "PYTHON=$(PYTHON) makes the virtual environment, VENV=$(VENV) is where it lies."

setup: $(PROJECT) ## create the virtual environment; instant when nothing changed

# CPython 3.13 dropped a function that the C code of durable-rules calls; the define puts its successor in place. pip
# may hold a build made without it, which fails only at import, so that one is dropped first.
$(DEPENDENCIES): requirements/build.txt requirements/dev.txt
	@$(PYTHON) tools/preflight.py
	@echo "Creating $(VENV) with $$($(PYTHON) --version) and installing the pinned requirements: one to three minutes"
	@$(PYTHON) -m venv --clear $(VENV)
	@$(PIP_INSTALL) --require-hashes -r requirements/build.txt
	@if $(BIN)/python -c 'import sys; sys.exit(sys.version_info < (3, 13))'; then \
	    export CPPFLAGS="$$CPPFLAGS -DPyEval_CallObject=PyObject_CallObject"; \
	    $(BIN)/python -m pip --quiet cache remove durable_rules 2>/dev/null || true; \
	fi; \
	$(PIP_INSTALL) --require-hashes --no-build-isolation -r requirements/dev.txt
	@$(BIN)/python -c 'import durable.lang'
	@touch $@

$(PROJECT): $(DEPENDENCIES) pyproject.toml hatch_build.py diagnose/__init__.py
	@$(PIP_INSTALL) --no-deps --no-build-isolation --editable .
	@touch $@

demo: setup ## diagnose the sample that comes with the project
	@$(BIN)/diagnose analyze fixtures/demo || test $$? -eq 1 # 1 says that causes were found

test: lint types contracts rules unit ## everything that must hold before a change lands

lint: setup ## formatting and lint
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

format: setup ## format the code and apply the linter's safe fixes
	$(BIN)/ruff check --fix-only --quiet .
	$(BIN)/ruff format .

types: setup ## strict type check
	$(BIN)/mypy

contracts: setup ## which package may import which
	$(BIN)/lint-imports

rules: setup ## check the rule files, run their examples, and see that documents show what they say
	$(BIN)/diagnose rules lint
	$(BIN)/diagnose rules test
	$(BIN)/python tools/reference_pages.py --check
	$(BIN)/python tools/readme_output.py --check
	$(BIN)/python tools/screenshots.py --check

unit: setup ## the tests
	$(BIN)/pytest -n auto

extras: ## the tests that need torch, onnx and pyarrow, in an environment of their own
	@$(MAKE) --no-print-directory setup VENV=$(EXTRAS_VENV)
	@$(MAKE) --no-print-directory $(EXTRAS_VENV)/.extras
	$(abspath $(EXTRAS_VENV))/bin/pytest -m extras

$(EXTRAS_VENV)/.extras: requirements/extras.txt
	@echo "Installing PyTorch and other optional dependencies into $(EXTRAS_VENV)"
	@$(abspath $(EXTRAS_VENV))/bin/python -m pip install --quiet --disable-pip-version-check -r requirements/extras.txt
	@touch $@

bench: setup ## print figures: accuracy on the cases at hand, speed of the engine and of reading
	$(BIN)/python benchmarks/cases.py
	$(BIN)/python benchmarks/lowbit_accuracy.py
	$(BIN)/python benchmarks/scenarios.py
	$(BIN)/python benchmarks/serving_scenarios.py
	$(BIN)/python benchmarks/engine_speed.py
	$(BIN)/python benchmarks/scan_speed.py
	$(BIN)/python benchmarks/latency_speed.py
	$(BIN)/python benchmarks/trace_breakdown.py
	$(BIN)/python benchmarks/checkpoint_speed.py
	$(BIN)/python benchmarks/recording_overhead.py
	$(BIN)/python benchmarks/tui_speed.py

docs: setup ## write the reference pages, and the output and pictures that documents show
	$(BIN)/python tools/reference_pages.py
	$(BIN)/python tools/readme_output.py
	$(BIN)/python tools/screenshots.py

$(LOCKER): $(DEPENDENCIES) requirements/lock.txt
	@$(PIP_INSTALL) --require-hashes -r requirements/lock.txt
	@touch $@

lock: $(LOCKER) ## resolve the requirements anew and pin them with hashes
	@$(COMPILE) -o requirements/lock.txt --group lock
	@$(COMPILE) -o requirements/build.txt --group pyproject.toml:build
	@$(COMPILE) -o requirements/runtime.txt pyproject.toml
	@$(COMPILE) -o requirements/dev.txt -c requirements/runtime.txt -c requirements/build.txt pyproject.toml --group dev

clean: ## remove the virtual environment, build results and caches
	rm -rf $(VENV) .venv-newer $(EXTRAS_VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
