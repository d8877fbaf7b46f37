# Every command of the project. `make` alone lists them.

PYTHON ?= python3
VENV := .venv
LOWEST := .venv-lowest
BIN := $(VENV)/bin
# -qq leaves errors only; the rest of pip's settings (registry, certificates, caches) are the machine's own.
PIP_INSTALL = -m pip install -qq --disable-pip-version-check

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help env demo test check format bench tables soak test-lowest clean

help: ## list the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

env: $(VENV)/.stamp ## make .venv from constraints.txt (again only when it or pyproject.toml changed)
	@:

# $(1): the folder of the environment, $(2): its constraints file
define make_env
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  found=$$($(PYTHON) --version 2>&1) || found="not there"; \
	  echo "weft needs Python 3.11 or newer; '$(PYTHON)' is $$found." >&2; \
	  echo "Hint: make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)" >&2; exit 1; }
	@echo "making $(1) from $(2) (a minute or two the first time)"
	@$(PYTHON) -m venv $(1)
	@# The build backend comes first and from the same file, so that no isolated build picks another version.
	@$(1)/bin/python $(PIP_INSTALL) -c $(2) hatchling editables setuptools wheel
	@$(1)/bin/python $(PIP_INSTALL) -c $(2) --no-build-isolation -e '.[dev]'
	@# Spark runs on Java 17 or 21: a machine without one gets one inside the environment.
	@$(1)/bin/python -m weft.spark.java 2>/dev/null || { \
	  echo "no Java 17 or 21 is here: adding one to $(1) (100 MB)"; \
	  $(1)/bin/python $(PIP_INSTALL) -c $(2) --no-build-isolation -e '.[java]' \
	  && $(1)/bin/python -m weft.spark.java; }
	@touch $(1)/.stamp
endef

$(VENV)/.stamp: pyproject.toml constraints.txt
	$(call make_env,$(VENV),constraints.txt)

$(LOWEST)/.stamp: pyproject.toml constraints-lowest.txt
	$(call make_env,$(LOWEST),constraints-lowest.txt)

demo: env ## a live join on Spark, drawn and checked: under a minute
	@$(BIN)/weft demo

test: env ## run the tests
	@$(BIN)/pytest

check: env ## style, types and the rules in scripts/check
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/mypy
	@$(BIN)/python -m scripts.check

format: env ## let ruff rewrite what it can
	@$(BIN)/ruff check --fix
	@$(BIN)/ruff format

bench: env ## rows/s beside the peers, every workload (or W="W1 W2")
	@$(BIN)/weft bench $(or $(W),--all)

tables: env ## rewrite the generated tables of the docs from bench/results
	@$(BIN)/python -m scripts.check.tables --write

soak: env ## long property runs
	@WEFT_SOAK=1 $(BIN)/pytest -m soak

test-lowest: $(LOWEST)/.stamp ## the tests with the oldest versions pyproject.toml allows
	@$(LOWEST)/bin/pytest

clean: ## remove the environments and every cache
	@rm -rf $(VENV) $(LOWEST) build dist .hypothesis .mypy_cache .pytest_cache .ruff_cache
	@find src tests bench scripts -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true
