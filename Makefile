# Two commands set everything up on a fresh machine: `make demo` and `make test`. Both may be repeated.

SHELL := /bin/bash
.DELETE_ON_ERROR:
.PHONY: demo test lint editable wheel clean

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
WHEEL_VENV := build/venv
WHEEL_TESTS := build/wheel-tests
PIP_FLAGS := --quiet --disable-pip-version-check
WORKERS ?= auto

# The pins hold for the build's own environment (hatchling) too.
export PIP_CONSTRAINT := $(CURDIR)/constraints.txt
export RLCOMPARE_SHARED ?= $(abspath $(CURDIR)/../shared)

demo: $(VENV)/.installed-run
	@rm -rf demo
	@echo; echo '$$ rlcompare run -o demo/baseline'
	@$(BIN)/rlcompare run -q -o demo/baseline
	@echo; echo '$$ rlcompare run -o demo/new actor_rollout_ref.actor.ppo_epochs=2'
	@$(BIN)/rlcompare run -q -o demo/new actor_rollout_ref.actor.ppo_epochs=2
	@echo; echo '$$ rlcompare diff -d demo/new -bp demo/baseline -o demo/report'
	@$(BIN)/rlcompare diff -d demo/new -bp demo/baseline -o demo/report
	@echo; echo '$$ rlcompare gate demo/report/diff.json'
	@$(BIN)/rlcompare gate demo/report/diff.json; code=$$?; \
	  if [ $$code -gt 1 ]; then echo "the gate ended with $$code, and should have ended with 0 or 1"; exit 1; fi; \
	  echo; echo "The gate ended with $$code: a CI job would have $$([ $$code -eq 0 ] && echo passed || echo failed) here."
	@echo "Open the report: $(CURDIR)/demo/report/report.html"

# Lint and types see the checkout; the suite runs once, against the wheel that users get.
test: lint editable wheel

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/mypy

# An editable install finds sql/ and report_templates/ elsewhere than a wheel does.
editable: $(VENV)/.installed-dev
	$(BIN)/pytest tests/cli/test_installation.py

wheel: $(WHEEL_VENV)/.installed
	rm -rf $(WHEEL_TESTS)
	mkdir -p $(WHEEL_TESTS)
	cp -R tests golden benchmarks pyproject.toml README.md $(WHEEL_TESTS)
	cd $(WHEEL_TESTS) && RLCOMPARE_TEST_INSTALLED=1 $(CURDIR)/$(WHEEL_VENV)/bin/pytest -n $(WORKERS)

$(VENV)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install $(PIP_FLAGS) -e .
	@touch $@

$(VENV)/.installed-run: $(VENV)/.installed
	$(BIN)/python -m pip install $(PIP_FLAGS) -e '.[collect]'
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	$(BIN)/python -m pip install $(PIP_FLAGS) -e '.[dev]'
	@touch $@

PACKAGED := $(shell find rlcompare sql report_templates -type f -not -name '*.pyc' 2>/dev/null)

$(WHEEL_VENV)/.installed: pyproject.toml constraints.txt README.md LICENSE rlcompare-probe.pth $(PACKAGED)
	$(PYTHON) -m venv $(WHEEL_VENV)
	rm -rf build/dist
	$(WHEEL_VENV)/bin/python -m pip wheel $(PIP_FLAGS) --no-deps --wheel-dir build/dist .
	wheel=$$(echo build/dist/rlcompare-*.whl) && \
	  $(WHEEL_VENV)/bin/python -m pip install $(PIP_FLAGS) "$$wheel[dev]" && \
	  $(WHEEL_VENV)/bin/python -m pip install $(PIP_FLAGS) --no-deps --force-reinstall "$$wheel"
	@touch $@

clean:
	rm -rf $(VENV) build demo rlcompare-out .mypy_cache .ruff_cache .pytest_cache .hypothesis
