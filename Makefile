# Every target does its own set-up: `make demo` and `make test` are the only commands a fresh clone needs.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

# Seconds the demo streams for: make demo SECONDS=20
SECONDS = 60
# Further arguments: make test ARGS="-k tokeniser", make demo ARGS=--json, make bench ARGS=--quick
ARGS =
# Benchmarks that `make bench` runs
BENCH = tokenise pipeline

# Two processes share the tests without Spark: from compiled kernels, file by file. Those with Spark share one session.
FAST = -m "not spark and not slow and not cluster" -n 2 --dist loadfile
# A part of the tests may have none of one kind, which pytest calls 5
PART = $(if $(ARGS),|| [ $$? = 5 ])
# Set by `make coverage`
COVER =

STAMP := .venv/.sightline-setup
RUN := scripts/in-venv

.PHONY: help setup demo kernels test test-fast coverage test-slow test-cluster lint bench docs lock clean

help: ## List the targets
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(STAMP) ## Create .venv/, install the locked dependencies, find or install Java
	@scripts/find-java > .venv/.java-home
	@echo "Ready. Python: .venv/bin/python  Java: $$(cat .venv/.java-home)"

$(STAMP): requirements.lock pyproject.toml scripts/setup
	@scripts/setup
	@touch $@

demo: setup ## Stream synthetic posts through Spark for a minute (SECONDS=60)
	@$(RUN) sightline demo --seconds $(SECONDS) $(ARGS)

test: setup ## Run every check and every test but the slow ones and those on a cluster
	@$(MAKE) --no-print-directory -j2 lint kernels
	@$(RUN) pytest $(FAST) $(COVER) $(ARGS) $(PART)
	@$(RUN) pytest -m "spark and not slow and not cluster" $(addsuffix -append,$(filter --cov,$(COVER))) $(COVER) $(ARGS) $(PART)

test-fast: setup kernels ## Run the tests that need no Spark, on two cores
	@$(RUN) pytest $(FAST) $(ARGS)

coverage: COVER = --cov --cov-report= --cov-fail-under=0
coverage: test ## As `make test`, then say which lines and branches no test reached; fails below the floor
	@$(RUN) coverage report

test-slow: setup ## Run the slow tests (checked indices, a cold kernel cache, Ctrl-C)
	@$(RUN) pytest -m "slow and not cluster" $(ARGS)

test-cluster: setup ## Run the tests on a Spark cluster of three hosts (namespaces where root allows them)
	@$(RUN) pytest tests/cluster -m cluster --durations=0 --durations-min=0.5 $(ARGS)

lint: setup ## Check style, types and layers
	@$(RUN) ruff check .
	@$(RUN) ruff format --check --quiet .
	@$(RUN) mypy
	@$(RUN) lint-imports

kernels: setup ## Compile the kernels that a pipeline needs, once per version and user
	@$(RUN) python -c "from sightline.stages.warm import warm; warm()"

bench: setup ## Run the benchmarks (BENCH="tokenise pipeline")
	@for name in $(BENCH); do $(RUN) sightline bench $$name $(ARGS); done

docs: setup ## Check that every link and module named in the documentation exists
	@$(RUN) pytest tests/architecture/test_docs.py $(ARGS)

lock: ## Resolve the dependencies anew into requirements.lock (needs uv)
	@scripts/lock

clean: ## Remove the virtual environment and caches
	@rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache build dist
