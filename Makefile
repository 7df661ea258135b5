# Every target does its own set-up in .venv, from a bare clone with Python >= 3.11 and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
SVM_PAGES := thesis_table1 thesis_figures cm_logistic scm_tables scm_curves scm_kernel methods_over_eps private_lp_svc lp_svm svm_audits
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet

.PHONY: help demo test coverage lint types wheel bench bench-step bench-covering bench-family bench-low-sensitivity bench-svm clean

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

demo: $(VENV)/demo  ## Solve a linear program privately on real records, and draw the result
	$(BIN)/privlp demo

test: $(VENV)/dev  ## Run the tests (two processes)
	$(BIN)/python -m pytest -q -n 2

coverage: $(VENV)/dev  ## Run the tests with line and branch coverage
	$(BIN)/python -m pytest -q -n 2 --cov --cov-report=term-missing:skip-covered

lint: $(VENV)/dev  ## Style
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/dev  ## Static types
	$(BIN)/mypy

wheel: $(VENV)/dev  ## Build the wheel into dist/
	$(BIN)/python -m build --wheel --outdir dist . >/dev/null

bench: $(VENV)/dev  ## All quick benchmarks: reading, accounting, one round
	$(BIN)/python -m benchmarks.exact
	$(BIN)/python -m benchmarks.accounting
	$(BIN)/python -m benchmarks.rounds

bench-step: $(VENV)/dev  ## The step size, tried on four families of programs
	$(BIN)/python -m benchmarks.step

bench-covering: $(VENV)/dev  ## The default against published and tight multiplicative weights on the covering program (resumable)
	$(BIN)/python -m benchmarks.covering

bench-family: $(VENV)/dev  ## All constraint-private methods on families of programs (resumable); small real programs without noise
	$(BIN)/python -m benchmarks.family
	$(BIN)/python -m benchmarks.ftpl

bench-low-sensitivity: $(VENV)/dev  ## Private numbers: multiplicative weights against direct noise; rows that are never violated
	$(BIN)/python -m benchmarks.low_sensitivity
	$(BIN)/python -m benchmarks.never_violated

bench-svm: $(VENV)/dev  ## Published tables and figures of private support vector machines, re-run (hours; resumable; needs the data)
	for page in $(SVM_PAGES); do $(BIN)/python -m benchmarks.$$page || exit 1; done

clean:  ## Remove everything that was made here
	rm -rf $(VENV) dist build .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage
