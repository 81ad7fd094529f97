# Two commands do all the set-up: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
OLDEST := .venv-oldest
AUDIT := .venv-audit
BIN := $(VENV)/bin
# Processes that run tests; auto is one a core.
WORKERS ?= auto

# Each process has one thread for matrix products, and two that compiled loops may ask for (tests of
# threads do). Compiled loops and bytecode are kept between runs: tests start some fifty processes.
ENVIRONMENT = OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 NUMBA_NUM_THREADS=2 \
	PYTHONDONTWRITEBYTECODE=
LOOPS = NUMBA_CACHE_DIR=$(CURDIR)/$(VENV)/numba
PYTEST = pytest --numprocesses $(WORKERS) --maxprocesses 8 --dist worksteal

.PHONY: demo test suite test-slow test-oldest lint style types compile public house bench soak docs look lock locked audit clean help

help:
	@echo "make demo   fit every basis on bundled data; table and pictures in demo/"
	@echo "make test   lint, types and the test suite"
	@echo "make lint | test-slow | test-oldest | public | house | bench | soak | docs | look | clean"
	@echo "make locked | lock | audit: exact versions for development"

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# One stamp for each set of extras: a second run installs nothing.
$(VENV)/.installed-%: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[$*]"
	@touch $@

demo: $(VENV)/.installed-plot
	$(BIN)/python -m kitchensinks.demo --out demo

lint: style types

style: $(VENV)/.installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(VENV)/.installed-test
	$(BIN)/mypy

# The loops that most tests need, before several processes would each compile them.
compile: $(VENV)/.installed-test
	$(ENVIRONMENT) $(LOOPS) $(BIN)/python -c "from kitchensinks.demo import warm_up; warm_up()"

# Types are checked by one process, beside the other core that compiles and begins with the suite.
test: style
	$(MAKE) --no-print-directory --jobs 2 types suite

suite: compile
	$(ENVIRONMENT) $(LOOPS) $(BIN)/python -m $(PYTEST) -m "not slow"

test-slow: $(VENV)/.installed-test
	$(ENVIRONMENT) $(LOOPS) $(BIN)/python -m $(PYTEST) -m slow

$(OLDEST)/.installed: pyproject.toml .ci/oldest.txt
	$(PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/python -m pip install --quiet --disable-pip-version-check \
		--constraint .ci/oldest.txt --editable ".[test]"
	@touch $@

test-oldest: $(OLDEST)/.installed
	$(ENVIRONMENT) NUMBA_CACHE_DIR=$(CURDIR)/$(OLDEST)/numba $(OLDEST)/bin/python -m $(PYTEST) \
		-m "not slow" -p no:cacheprovider

# The public names, parameters and defaults that tests/test_public.py compares with.
public: $(VENV)/.installed-test
	$(BIN)/python -m tests.public

# Of this tree alone, or beside another version: make house BEFORE=path/to/its/tree
house: $(VENV)/.installed-test
	$(BIN)/python -m benchmarks.house $(BEFORE) .

bench: $(VENV)/.installed-bench
	$(BIN)/python -m benchmarks
	for part in speed threads first_fit equal_error predictions growth pool \
		"out_of_core --command" report; do $(BIN)/python -m benchmarks.$$part || exit 1; done

# Faults and load for at most so many minutes; the counts go to results/soak.json.
MINUTES ?= 20
soak: $(VENV)/.installed-test
	$(ENVIRONMENT) $(BIN)/python -m benchmarks.soak --minutes $(MINUTES)

# An example shows features of aeon, which asks for older versions of Numba and pandas than it needs.
$(VENV)/.aeon: | $(VENV)/.installed-docs
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps aeon Deprecated wrapt
	@touch $@

# The exact versions that the suite last passed with, in place of the newest that are allowed.
locked: .ci/lock.txt | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement .ci/lock.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	@touch $(VENV)/.installed-test

lock: $(VENV)/.installed-test
	$(BIN)/python .ci/lock.py

# Known vulnerabilities of the locked versions. It needs pip-audit and a database that is online:
# where one of them cannot be had, it fails and says so.
audit: .ci/lock.txt
	$(PYTHON) -m venv $(AUDIT)
	$(AUDIT)/bin/python -m pip install --quiet --disable-pip-version-check pip-audit
	$(AUDIT)/bin/python -m pip_audit --strict --no-deps --disable-pip --requirement .ci/lock.txt

docs: $(VENV)/.installed-docs $(VENV)/.aeon
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html

# The pages and a report in a Chromium: errors of the console, what is cut off, accessibility.
look: docs $(VENV)/.installed-look
	$(BIN)/python docs/look.py

clean:
	rm -rf $(VENV) $(OLDEST) $(AUDIT) demo dist docs/_build docs/reference docs/gallery .pytest_cache .mypy_cache .ruff_cache
