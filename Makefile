# Everything below creates what it needs: a machine with Python 3.11 and make is enough.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
JOBS ?= auto

# Tests and benchmarks run side by side, so each process keeps to one thread of linear algebra.
export OPENBLAS_NUM_THREADS := 1
# Bytecode is kept whatever the environment says: the tests start many processes.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test crosscheck docs bench check format generate clean

demo: .venv/.installed
	@$(BIN)/python examples/demo.py

# Each worker begins with a part of the suite of its own: on a fresh machine it compiles other kernels than its neighbor.
test: .venv/.dev
	$(BIN)/pytest -n $(JOBS) --dist worksteal --ignore=tests/crosscheck

# Without the packages of the site, or those of Jupyter, their tests are skipped.
crosscheck: .venv/.peers
	-@$(MAKE) --no-print-directory .venv/.docs
	-@$(MAKE) --no-print-directory .venv/.jupyter
	$(BIN)/pytest -n $(JOBS) tests/crosscheck

docs: .venv/.docs
	$(BIN)/python -m mkdocs build --quiet

bench: .venv/.peers
	$(BIN)/python -m benchmarks

check: .venv/.dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/pytest -n $(JOBS) tests/test_surface.py tests/claims/test_repository.py tests/claims/test_generated.py \
		tests/claims/test_documents.py tests/claims/test_catalogue.py tests/claims/test_words.py \
		tests/crosscheck/test_documents.py tests/crosscheck/test_checkers.py

format: .venv/.dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

generate: .venv/.dev
	$(BIN)/python tools/generate.py

.venv/bin/python:
	$(PYTHON) -c 'import sys; sys.exit("sepset needs Python 3.11 or newer; found " + sys.version) if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip

.venv/.installed: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

.venv/.dev: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	@touch $@ .venv/.installed

.venv/.peers: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --editable '.[dev,peers]'
	@touch $@ .venv/.dev .venv/.installed

.venv/.docs: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --editable '.[docs]'
	@touch $@ .venv/.installed

.venv/.jupyter: pyproject.toml | .venv/bin/python
	$(BIN)/python -m pip install --quiet --editable '.[jupyter]'
	@touch $@ .venv/.installed

clean:
	rm -rf site .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis
