# Every target does its own set-up in .venv, from a bare clone with Python >= 3.11 and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SVM_PAGES := thesis cm_logistic scm_tables scm_curves private_lp_svc classifier fairness svm_audits
# What test-range tests: the lowest versions that pyproject.toml allows and the newest ones, each on a Python of its own.
RANGE ?= oldest-3.11 newest-3.13
# What test-install installs the wheel and the source distribution on.
INSTALL ?= 3.11 3.13
RESOLUTION_oldest := lowest-direct
RESOLUTION_newest := highest
# Two processes, each with tests of the same files for as long as there are some: these share what they prepared.
TOGETHER := -n 2 --dist worksteal
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet
# Modules are compiled once, not in each of the processes that tests start.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help everything demo docs test test-thorough test-browser test-range coverage lint types dist test-install fuzz planted stale bench bench-trust bench-covering bench-low-sensitivity bench-allocation bench-unknown bench-svm clean

help:  ## Show the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-22s %s\n", $$1, $$2}'

$(VENV)/python:
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/demo: $(VENV)/python pyproject.toml
	$(PIP) -e '.[demo]'
	@touch $@

$(VENV)/dev: $(VENV)/python pyproject.toml
	$(PIP) -e '.[dev]'
	@touch $(VENV)/demo $@

$(VENV)/docs: $(VENV)/python pyproject.toml
	$(PIP) -e '.[docs]'
	@touch $@

everything: $(VENV)/python pyproject.toml  ## Install what all targets need, at once
	$(PIP) -e '.[dev,docs]'
	@touch $(VENV)/demo $(VENV)/dev $(VENV)/docs

test test-thorough: export OPENBLAS_NUM_THREADS ?= 1

demo: $(VENV)/demo  ## Solve a linear program of 20,190 real people privately, and draw the result
	$(BIN)/privlp demo

test: $(VENV)/dev  ## Run the tests (two processes)
	$(BIN)/python -m pytest -q $(TOGETHER)

test-thorough: $(VENV)/dev  ## Run all tests, the slow ones too, with new examples of every property
	PRIVLP_THOROUGH=1 $(BIN)/python -m pytest -q $(TOGETHER)

test-range: $(RANGE:%=test-%)  ## Run the tests with the oldest and newest libraries; RANGE="oldest-3.11 newest-3.12" chooses

test-%: .venv-%/test
	.venv-$*/bin/python -m pytest -q $(TOGETHER)

.PRECIOUS: .venv-%/test
.venv-%/test: $(VENV)/uv pyproject.toml
	$(BIN)/uv venv --quiet --clear --no-python-downloads --python $(lastword $(subst -, ,$*)) $(@D)
	$(BIN)/uv pip install --quiet --python $(@D) --resolution $(RESOLUTION_$(firstword $(subst -, ,$*))) \
		--only-binary :all: --no-binary privlp -e '.[test]'
	@touch $@

$(VENV)/uv: $(VENV)/python
	$(PIP) uv
	@touch $@

test-browser: $(VENV)/dev  ## Test the page of privlp explore in a headless Chromium, which must be installed
	$(PIP) -e '.[browser]'
	$(BIN)/python -m pytest -q -rs tests/test_explore_browser.py

coverage: $(VENV)/dev  ## Run the tests with line and branch coverage
	$(BIN)/python -m pytest -q $(TOGETHER) --cov --cov-report=term-missing:skip-covered

fuzz: $(VENV)/dev  ## Throw odd input at everything that takes some: over 100,000 cases, watched (15 minutes)
	cd tests && ../$(BIN)/python -m fuzz

lint: $(VENV)/dev  ## Style
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/dev  ## Static types, of a user's script too
	$(BIN)/mypy
	$(BIN)/mypy tests/user_script.py

dist: $(VENV)/dev  ## Build the source distribution, and the wheel from it, into dist/
	rm -rf dist
	$(BIN)/python -m build --outdir dist . >/dev/null

test-install: dist $(INSTALL:%=install-%)  ## Install both in clean environments, run and type-check a script; INSTALL="3.11 3.13" chooses

install-%: dist
	for file in dist/*.whl dist/*.tar.gz; do \
		rm -rf .venv-install-$* && python$* -m venv .venv-install-$* || exit 1; \
		.venv-install-$*/bin/python -m pip --disable-pip-version-check install --quiet --no-compile $$file mypy || exit 1; \
		cp tests/user_script.py .venv-install-$*/ && cd .venv-install-$* || exit 1; \
		bin/privlp --version && bin/python -W error user_script.py && bin/mypy --strict user_script.py || exit 1; \
		cd ..; \
	done

docs: $(VENV)/docs  ## Build the documentation, run its notebooks, check its links: docs/_build/html/index.html
	rm -rf docs/_build/html docs/reference/generated
	$(BIN)/sphinx-build -W --keep-going -n -E -q docs docs/_build/html
	$(BIN)/python docs/check_site.py docs/_build/html

planted: $(VENV)/dev  ## Search every known path for planted private numbers
	$(BIN)/python -m benchmarks.planted

stale: $(VENV)/dev  ## List the pages of results whose draws or prices have changed since they were measured
	$(BIN)/python -m benchmarks.stale

bench-trust: $(VENV)/dev planted  ## Which faults the audits catch, what exact noise costs (an hour)
	$(BIN)/python -m benchmarks.trust
	$(BIN)/python -m benchmarks.exact_noise

bench: $(VENV)/dev  ## The quick benchmarks: prices of noise, times of plans and solves (some minutes)
	$(BIN)/python -m benchmarks.accounting
	$(BIN)/python -m benchmarks.speed

bench-covering: $(VENV)/dev  ## The default against published and tight multiplicative weights on the covering program (resumable)
	$(BIN)/python -m benchmarks.covering

bench-low-sensitivity: $(VENV)/dev  ## Private numbers: multiplicative weights against direct noise; rows that are never violated
	$(BIN)/python -m benchmarks.low_sensitivity
	$(BIN)/python -m benchmarks.never_violated
	$(BIN)/python -m benchmarks.feasible

bench-allocation: $(VENV)/dev  ## Supplies shared by private prices: welfare and supply used
	$(BIN)/python -m benchmarks.allocation

bench-unknown: $(VENV)/dev  ## Programs whose optimum nobody knows: cost, rows missed, success (resumable)
	$(BIN)/python -m benchmarks.unknown

bench-svm: $(VENV)/dev  ## Published tables and figures of private classifiers, re-run, and our own (hours; resumable; needs the data)
	$(PIP) -e '.[bench]'
	for page in $(SVM_PAGES); do $(BIN)/python -m benchmarks.$$page || exit 1; done

clean:  ## Remove everything that was made here
	rm -rf docs/_build docs/reference/generated docs/proofs docs/tutorial/*.ipynb docs/tutorial/kitchen.html
	rm -rf $(VENV) .venv-* dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage
