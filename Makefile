.PHONY: install demo test test-long bench lint format docs

install: ## .venv with the colleague command
	@scripts/setup

demo: install ## the main job, end to end, no key needed
	@.venv/bin/colleague demo

lint: install
	.venv/bin/ruff format --check .
	.venv/bin/ruff check .
	.venv/bin/mypy

# Half of a test is waiting for processes and clocks, so two share a core.
WORKERS := $(shell expr 2 \* $$(nproc))

test: lint ## everything that must pass before a change lands
	.venv/bin/pytest -n $(WORKERS) --dist worksteal

test-long: install ## the long loops
	COLLEAGUE_LONG=1 .venv/bin/pytest -n $(WORKERS) --dist worksteal

bench: install ## figures, as ratios against a baseline in the same run
	@for file in tests/benchmarks/*.py; do .venv/bin/python $$file; done

format: install
	.venv/bin/ruff format .
	.venv/bin/ruff check --fix .

docs: install ## write docs/reference from the code
	.venv/bin/python scripts/reference.py
