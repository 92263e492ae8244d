# Everything installs into .venv, from a clean clone, by itself.
VENV := .venv
BIN := $(VENV)/bin
PYTHON ?= python3
DEMO := demo
# A file of tests is run by one process: what it trains once is trained once.
PYTEST := $(BIN)/pytest --numprocesses auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder

.PHONY: setup demo test check search fuzz bench clean

setup: $(VENV)/.installed

# Versions come from constraints.txt.
$(VENV)/.installed: pyproject.toml constraints.txt $(wildcard src/litmus/native/*.[ch])
	$(PYTHON) -m venv $(VENV)
	rm -f src/litmus/native/_kernels*.so  # an old one must not outlive a build that fails
	$(BIN)/pip install --quiet --constraint constraints.txt --editable '.[box2d,dev,ray,report,sb3,tensorboard]'
	touch $@

demo: setup
	rm -rf $(DEMO)
	$(BIN)/litmus train pssvf --task Swimmer-v5 --steps 500000 \
	  --evaluate-every 25000 --evaluate-episodes 5 --out $(DEMO)/swimmer
	$(BIN)/litmus evaluate $(DEMO)/swimmer --episodes 20
	$(BIN)/litmus report $(DEMO)/swimmer --out $(DEMO)/report.html

test: setup
	$(PYTEST)

check: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(PYTEST) --durations=10
	# And what the compiled kernels do elsewhere, without them.
	LITMUS_NATIVE=0 $(PYTEST) tests/contract/test_resume.py \
	  tests/contract/test_resume_with_transitions.py tests/learning \
	  tests/unit/policies tests/unit/tasks tests/unit/algorithms

# Property tests with thousands of random examples instead of the same hundred.
search: setup
	$(BIN)/pytest -m hypothesis --hypothesis-profile=search

# Ten thousand damaged runs, as many policy files, five hundred malformed command lines: not one may
# go wrong.
fuzz: setup
	cd tests && PYTHONPATH=. ../$(BIN)/python -m fuzz

bench: setup
	$(BIN)/python -m benchmarks

clean:
	rm -rf src/litmus/native/_kernels*.so $(VENV) $(DEMO) build dist .pytest_cache .mypy_cache .ruff_cache
