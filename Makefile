# Two commands for a newcomer: `make demo` and `make test`. The rest is for contributors.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export PYTHONHASHSEED = 0

.PHONY: demo test test-all slow lint attack papers report speed clean

demo: $(VENV)/.installed
	$(BIN)/weakly demo

test: lint
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 -q  # two processes, one core each

test-all: test slow

slow: $(VENV)/.installed-dev  # further settings through scikit-learn's checks, and the installed wheel
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 -q -m slow

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell
	$(BIN)/mypy

attack: $(VENV)/.installed-dev
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 -q tests/attack -m attack

papers: $(VENV)/.installed-dev
	$(BIN)/python -m benchmarks.papers run all --quick --results build/papers

report: $(VENV)/.installed-dev
	$(BIN)/python -m benchmarks.papers report

speed: $(VENV)/.installed-dev
	$(BIN)/python -m benchmarks.speed.run

clean:
	rm -rf $(VENV) dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis

# An environment with what a user installs, and one with the developers' tools on top.
$(VENV)/.installed: pyproject.toml
	test -d $(VENV) || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable '.[plot,cli]'
	touch $@

$(VENV)/.installed-dev: pyproject.toml
	test -d $(VENV) || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $@ $(VENV)/.installed
