.PHONY: install venv dev programs mcp-servers demo test types suite test-long bench lint format docs site pictures

install: venv ## .venv with the colleague command, without the tools for development
	@echo 'Next: make demo, or type .venv/bin/colleague init'

venv:
	@scripts/setup

dev: ## .venv with the tools for development as well
	@scripts/setup dev

demo: venv ## the main job, end to end, no key needed
	@.venv/bin/colleague demo

lint: dev
	.venv/bin/ruff format --check .
	.venv/bin/ruff check .

# Much of a test is waiting for processes and clocks, so three share a core; a file stays in one worker, since its
# tests often look at something that is made once; the long ones come first.
WORKERS := $(shell expr 3 \* $$(nproc))
PYTEST := .venv/bin/pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder

test: lint ## everything that must pass before a change lands
	@$(MAKE) --no-print-directory -j 2 types suite

types: dev
	.venv/bin/mypy

programs: dev
	@scripts/programs

mcp-servers: dev
	@scripts/mcp-servers

# Collected once before, with what Python and pytest compile kept: else each worker would do that anew.
suite: programs mcp-servers
	@PYTHONDONTWRITEBYTECODE= .venv/bin/pytest --collect-only -qq >/dev/null || true
	$(PYTEST)

test-long: programs mcp-servers ## the long loops
	COLLEAGUE_LONG=1 $(PYTEST)

# Every benchmark runs, whatever becomes of the others. AgentDojo has an environment of its own; where it cannot be
# installed, its benchmark says so.
bench: dev ## figures, as ratios against a baseline in the same run
	@scripts/setup-agentdojo || echo "AgentDojo could not be installed" >&2
	@failed=; for file in tests/benchmarks/*.py; do .venv/bin/python $$file || failed="$$failed $$file"; done; \
	if [ -n "$$failed" ]; then echo "failed:$$failed" >&2; exit 1; fi

format: dev
	.venv/bin/ruff format .
	.venv/bin/ruff check --fix .

site: dev ## the documentation as HTML files, in build/site
	.venv/bin/python scripts/site.py

pictures: programs ## write docs/images with the browser tests
	COLLEAGUE_PICTURES=docs/images .venv/bin/pytest -q tests/browser/test_first_visit.py

docs: dev ## write docs/reference from the code
	.venv/bin/python scripts/reference.py
