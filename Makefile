# Two commands on a fresh machine with Python >= 3.11 and make:
#   make demo   sets up and shows the main job on a bundled example
#   make test   sets up and passes the tests
# Everything is installed into .venv inside this folder.

PYTHON ?= python3
VENV ?= .venv
CONSTRAINTS ?= constraints.txt
BIN := $(VENV)/bin
STAMPS := $(VENV)/.stamps
JOBS ?= auto
KERNEL_TESTS ?= tests/history/test_metrics.py tests/learners/test_dcg.py tests/review/test_features.py

# `make reproduce`: processes of its long steps, and where its testbeds, store and results go
PROCESSES ?= -1
TESTBEDS ?= reproduction
RESULTS ?= results
STARTED := $(shell date +%s)

# `make harden` and `make mutate`: how long or how much
SECONDS ?= 600
COUNT ?= 1000000
N ?= 20
SEED ?= 1
FILES ?=

.PHONY: help demo docs test test-research test-cluster coverage coverage-kernels lint types layers format clean test-oldest golden constraints reproduce harden mutate release-check
help:
	@sed -n '2,4s/^# \{0,1\}//p' Makefile

# the stamp comes last, so that a half-made environment is made again
$(STAMPS)/venv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "metaod needs Python >= 3.11; name one with: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 2; }
	$(PYTHON) -m venv --clear $(VENV)
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/run: pyproject.toml $(CONSTRAINTS) | $(STAMPS)/venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c $(CONSTRAINTS) -e ".[store]"
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/dev: pyproject.toml $(CONSTRAINTS) | $(STAMPS)/venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c $(CONSTRAINTS) -e ".[dev]"
	@mkdir -p $(STAMPS) && touch $@ $(STAMPS)/run $(STAMPS)/research

$(STAMPS)/research: pyproject.toml $(CONSTRAINTS) | $(STAMPS)/venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c $(CONSTRAINTS) -e ".[research]"
	@mkdir -p $(STAMPS) && touch $@ $(STAMPS)/run

$(STAMPS)/harden: pyproject.toml $(CONSTRAINTS) | $(STAMPS)/venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c $(CONSTRAINTS) -e ".[dev,harden]"
	@mkdir -p $(STAMPS) && touch $@ $(STAMPS)/run $(STAMPS)/research $(STAMPS)/dev

$(STAMPS)/release: pyproject.toml $(CONSTRAINTS) | $(STAMPS)/venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c $(CONSTRAINTS) -e ".[release]"
	@mkdir -p $(STAMPS) && touch $@ $(STAMPS)/run

$(STAMPS)/docs: pyproject.toml $(CONSTRAINTS) | $(STAMPS)/venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c $(CONSTRAINTS) -e ".[docs]"
	@mkdir -p $(STAMPS) && touch $@ $(STAMPS)/run $(STAMPS)/research

demo: $(STAMPS)/run
	@mkdir -p demo-output
	$(BIN)/metaod detect docs/tasks/orders-may.csv --top 12
	$(BIN)/metaod detect --example -o demo-output/scored.csv --report demo-output/report.html
	$(BIN)/metaod review --example --answers 40
	$(BIN)/metaod select --example --top 5
	$(BIN)/python -m research demo demo-output/own

# the site, from scratch: its pages of commands and functions change with the code
docs: $(STAMPS)/docs
	rm -rf site
	$(BIN)/python -m sphinx -q -E -W --keep-going -c docs -d build/doctrees . site
	@echo "the documentation is in site/index.html"

# one thread a process: workers whose threads compete for the cores take several times as long
test test-research test-cluster coverage: export OMP_NUM_THREADS = 1

test: $(STAMPS)/dev
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal

# testbeds, evaluations and measurements behind the product
test-research: $(STAMPS)/dev
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal research

# faults of clusters and database servers, with real processes: one test at a time
test-cluster: $(STAMPS)/dev
	$(BIN)/python -m pytest -m cluster

# apart from `make test`: tracing makes the tests half as slow again
coverage: $(STAMPS)/dev
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal --cov --cov-report=term

# lines of compiled functions too, which numba hides: the tests of these alone, without compilation
coverage-kernels: export NUMBA_DISABLE_JIT = 1
coverage-kernels: $(STAMPS)/dev
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal $(KERNEL_TESTS) --cov --cov-config=harden/kernels.coveragerc --cov-report=term

# attacks on what docs/promises.md promises, and its table; counts add up from run to run
harden: $(STAMPS)/harden
	$(BIN)/python -m harden all --seconds $(SECONDS) --count $(COUNT)

# N changes to the mathematics, each of which a test should notice
mutate: $(STAMPS)/dev
	$(BIN)/python -m harden mutate $(FILES) --count $(N) --seed $(SEED)

# what can be checked of a release without publishing it; the files are in build/release
release-check: $(STAMPS)/release
	PYTHON=$(BIN)/python harden/release.sh

lint: $(STAMPS)/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMPS)/dev
	$(BIN)/mypy

layers: $(STAMPS)/dev
	$(BIN)/lint-imports

format: $(STAMPS)/dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# the lower bounds of pyproject.toml; PYTHON=python3.11 makes it the oldest Python too
test-oldest:
	$(MAKE) test VENV=.venv-oldest CONSTRAINTS=constraints-oldest.txt

# every table and figure of the paper's two testbeds, from data:
#   make reproduce DATA=datasets MOTHERSETS=mothersets
# DATA holds the sets of ODDS and DAMI, MOTHERSETS the tables that childsets are drawn from, each
# with a catalog.csv (docs/testbeds.md). A run that was stopped goes on where it was.
reproduce: $(STAMPS)/research
	@test -n "$(DATA)" && test -n "$(MOTHERSETS)" || \
	  { echo "name two folders: make reproduce DATA=datasets MOTHERSETS=mothersets" >&2; exit 2; }
	$(BIN)/python -m research testbed poc --mothersets "$(MOTHERSETS)" --out "$(TESTBEDS)/poc"
	$(BIN)/python -m research testbed st --mothersets "$(MOTHERSETS)" --data "$(DATA)" --out "$(TESTBEDS)/st"
	test -e "$(TESTBEDS)/testbeds.db" || $(BIN)/metaod db init --store "$(TESTBEDS)/testbeds.db" --shipped
	$(BIN)/metaod build --store "$(TESTBEDS)/testbeds.db" --data "$(TESTBEDS)/poc" --data "$(TESTBEDS)/st" --jobs $(PROCESSES)
	$(BIN)/python -m research evaluate poc --store "$(TESTBEDS)/testbeds.db" --testbed "$(TESTBEDS)/poc" --out "$(RESULTS)/poc" --jobs $(PROCESSES)
	$(BIN)/python -m research evaluate st --store "$(TESTBEDS)/testbeds.db" --testbed "$(TESTBEDS)/st" --out "$(RESULTS)/st" --jobs $(PROCESSES)
	$(BIN)/python -m research draw-results --results "$(RESULTS)"
	$(BIN)/python -m research compare-with-paper --results "$(RESULTS)"
	@echo "reproduced in $$(( ($$(date +%s) - $(STARTED)) / 60 )) minutes; results are in $(RESULTS)"

# artifacts made with the oldest versions, which `make test` reads with the newest
golden:
	$(MAKE) .venv-oldest/.stamps/dev VENV=.venv-oldest CONSTRAINTS=constraints-oldest.txt
	.venv-oldest/bin/python -m research make-golden-artifact tests/artifacts/golden

# renews the versions that CI installs, from what is newest today
constraints:
	rm -rf .venv-newest && $(PYTHON) -m venv .venv-newest
	.venv-newest/bin/python -m pip install --quiet --disable-pip-version-check -e ".[dev,docs,harden,release]"
	{ sed -n '/^#/p' constraints.txt; .venv-newest/bin/python -m pip freeze --exclude-editable; } > constraints.new
	mv constraints.new constraints.txt && rm -rf .venv-newest

clean:
	rm -rf $(VENV) .venv-oldest .venv-newest build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis .coverage* htmlcov demo-output site jupyter_execute
