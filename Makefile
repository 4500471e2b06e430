.DEFAULT_GOAL := help
.PHONY: help setup web demo test suite check check-python check-page bench test-world pictures test-chaos wheel clean lock reference
BIN := .venv/bin
# Containers often set it: every process of the product would compile all that it imports once more.
unexport PYTHONDONTWRITEBYTECODE

help: ## Show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  \1\t\2/' | expand -t 16

setup: ## Install everything into .venv; quick when nothing changed
	@scripts/setup

web: ## Build the page into web/dist; quick when nothing changed
	@scripts/setup-web

demo: setup web ## Start the product and play a simulated match day through it; Ctrl-C stops it
	@scripts/setup-browser demo
	@$(BIN)/touchline demo

test: setup web ## Check and run the whole suite, side by side, with a sample of the chaos tests; SEED=7 chooses another
	@scripts/setup-debian
	@scripts/setup-browser test
	@$(MAKE) --no-print-directory --jobs 3 check-python check-page suite

suite:
	TOUCHLINE_CHAOS=sample TOUCHLINE_CHAOS_SEED=$${SEED:-$$(scripts/commit-seed)} \
	  $(BIN)/pytest --numprocesses 3 --dist loadscope --no-loadscope-reorder

test-world: setup ## Run the tests of the simulated world, world/tests
	@scripts/setup-browser test
	$(BIN)/pytest --numprocesses 3 --dist loadscope world/tests

pictures: setup web ## Play the demo and take the pictures of the README, docs/pictures
	@scripts/setup-browser demo
	@$(BIN)/python scripts/pictures.py

check: setup web ## Lint, format, types, import contracts, and the page's unit tests; quick when nothing changed
	@$(MAKE) --no-print-directory --jobs 2 check-python check-page

check-python check-page: check-%:
	@scripts/check $*

bench: setup ## Run every measurement in bench/
	@set -e; for script in bench/[a-z]*.py; do echo "== $$script" >&2; $(BIN)/python "$$script"; done

test-chaos: setup ## Run all chaos tests in full size; SHARD=1/4 and SEED=7 narrow and repeat
	@SHARD="$(SHARD)" SEED="$(SEED)" scripts/chaos

wheel: setup web ## Build dist/touchline-*.whl, the page inside, and dist/touchline_world-*.whl
	$(BIN)/python -m build --wheel --no-isolation --outdir dist
	$(BIN)/python -m build --wheel --no-isolation --outdir dist world

reference: setup ## Rewrite docs/reference from the code
	$(BIN)/python scripts/reference.py

lock: setup ## Resolve the dependencies again into requirements/ and the lock of the page
	@scripts/lock

clean: ## Remove what builds and tests left behind (.venv and your data stay)
	rm -rf build dist .cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis bench/results
	find src world tests scripts bench -name __pycache__ -type d -prune -exec rm -rf {} +
