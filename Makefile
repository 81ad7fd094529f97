# Two commands do all the set-up: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
THREADS ?= 2

.PHONY: demo test test-slow lint bench docs clean help

help:
	@echo "make demo   fit every basis on bundled data; table and pictures in demo/"
	@echo "make test   lint, types and the whole test suite"
	@echo "make lint | test-slow | bench | docs | clean"

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

# One stamp for each set of extras: a second run installs nothing.
$(VENV)/.installed-%: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[$*]"
	@touch $@

demo: $(VENV)/.installed-plot
	$(BIN)/python -m kitchensinks.demo --out demo

lint: $(VENV)/.installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test: lint
	$(BIN)/python -m pytest -m "not slow"

test-slow: $(VENV)/.installed-test
	$(BIN)/python -m pytest -m slow

bench: $(VENV)/.installed-bench
	$(BIN)/python -m benchmarks

docs: $(VENV)/.installed-docs
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html

clean:
	rm -rf $(VENV) demo docs/_build .pytest_cache .mypy_cache .ruff_cache
