# Every target works inside .venv, which `make setup` makes.  `make` alone lists the targets.
PYTEST = . .venv/environment && .venv/bin/python -m pytest

.DEFAULT_GOAL := help
.PHONY: help setup check format test test-unit test-spark chaos bench demo docs

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-12s %s\n", $$1, $$2}' Makefile

setup: ## make or update .venv and find a Java
	@scripts/setup

check: setup ## ruff, formatting, types and the layers' import rules; no tests
	.venv/bin/ruff check
	.venv/bin/ruff format --check
	.venv/bin/mypy --strict
	.venv/bin/lint-imports

format: setup ## let ruff format and fix what it can
	.venv/bin/ruff check --fix
	.venv/bin/ruff format

test: ## every check and every test, as CI does
	@./run-tests

test-unit: setup ## the tests that need no Spark
	$(PYTEST) -q tests/unit tests/architecture

test-spark: setup ## the tests on a real Spark
	$(PYTEST) -q tests/spark

chaos: setup ## the tests that kill workers, executors and drivers; longer: PENSTOCK_CHAOS_SECONDS=600 make chaos
	$(PYTEST) -q tests/chaos

bench: setup ## the benchmarks: a table on the screen and a JSON file
	. .venv/environment && .venv/bin/python -m benchmarks

demo: ## the water level monitor
	@./run-demo

docs: setup ## run every Python snippet of the README and the documentation
	$(PYTEST) -q tests/docs
