PYTHON ?= python3
BIN := .venv/bin
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: demo test bench quality store peer clean

demo: .venv/runs ## search the built-in sample workspace; needs no token
	@$(BIN)/notion-search --demo --local "AI agents"

test: .venv/checks ## everything CI runs
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pytest
	$(BIN)/pytest --without anthropic,rich

bench: .venv/checks ## time whole runs against loopback servers; about four minutes
	$(BIN)/python -m benchmarks.latency

quality: .venv/checks ## measure --local and --vault over labelled queries: make quality DATA=folder
	$(BIN)/python -m benchmarks.quality $(DATA)

store: .venv/checks ## time searches of ten thousand generated notes; about two minutes
	$(BIN)/python -m benchmarks.store

peer: .venv/checks ## run the tests that need the real claude program, installed from npm
	$(BIN)/pytest -m peer -n 0

.venv/runs: pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "notion-search needs Python 3.11 or newer")'
	@echo "setting up .venv (once; about a minute)"
	@$(PYTHON) -m venv .venv
	@$(BIN)/pip install --quiet --editable .
	@touch $@

.venv/checks: pyproject.toml .venv/runs
	@$(BIN)/pip install --quiet --editable '.[dev]'
	@touch $@

clean: ## remove what make made
	rm -rf .venv build *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
