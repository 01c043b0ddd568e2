# Two commands set everything up on a fresh machine: `make demo` and `make test`. Both may be repeated.

SHELL := /bin/bash
.DELETE_ON_ERROR:
.PHONY: demo test lint editable wheel verl-wheels clean

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
WHEEL_VENV := build/venv
WHEEL_TESTS := build/wheel-tests
PIP_FLAGS := --quiet --disable-pip-version-check
WORKERS ?= auto
VERL := build/verl
VERL_VERSIONS := 0.5.0 0.6.1 0.7.1 0.8.0 0.9.1
# verl composes its configuration with Hydra, which needs an older omegaconf than ours: it gets a folder of its own.
VERL_HYDRA := hydra-core==1.3.8 omegaconf==2.3.1 antlr4-python3-runtime==4.9.3 packaging==26.3 pyyaml==6.0.3

# The pins hold for the build's own environment (hatchling) too.
export PIP_CONSTRAINT := $(CURDIR)/constraints.txt
export RLCOMPARE_SHARED ?= $(abspath $(CURDIR)/../shared)
export RLCOMPARE_VERL ?= $(CURDIR)/$(VERL)

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

wheel: $(WHEEL_VENV)/.installed verl-wheels
	rm -rf $(WHEEL_TESTS)
	mkdir -p $(WHEEL_TESTS)
	cp -R tests golden benchmarks pyproject.toml README.md $(WHEEL_TESTS)
	cd $(WHEEL_TESTS) && RLCOMPARE_TEST_INSTALLED=1 $(CURDIR)/$(WHEEL_VENV)/bin/pytest -n $(WORKERS)

# The configuration that rlcompare's overrides are tried on. A registry without verl leaves its tests skipped.
verl-wheels: $(WHEEL_VENV)/.installed
	@for version in $(VERL_VERSIONS); do \
	  ls $(VERL)/wheels/verl-$$version-*.whl >/dev/null 2>&1 || \
	    $(WHEEL_VENV)/bin/python -m pip download $(PIP_FLAGS) --no-deps --ignore-requires-python \
	      --dest $(VERL)/wheels verl==$$version || echo "verl $$version is not to be had: its tests are skipped"; \
	done
	@test -f $(VERL)/hydra/.installed || { \
	  PIP_CONSTRAINT= $(WHEEL_VENV)/bin/python -m pip install $(PIP_FLAGS) --upgrade --target $(VERL)/hydra $(VERL_HYDRA) && \
	    touch $(VERL)/hydra/.installed; } || echo "Hydra is not to be had: the tests with verl's configuration are skipped"

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
