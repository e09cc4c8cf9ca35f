# From a fresh checkout to a result: `make demo`, `make test`.
# See CONTRIBUTING.md for the commands of everyday work.

PYTHON ?= python3
PYTEST_ARGS ?= -n auto
BUILD := build/dev
SOURCES = $(shell find cmake dialect lib tools unittests -name '*.cpp' -o -name '*.h')

.PHONY: demo test build docs mutation lint format
.DEFAULT_GOAL := build

demo: build
	PYTHONPATH=$(BUILD)/python_packages .venv/bin/python examples/demo.py

test: build
	.venv/bin/python -m pytest $(PYTEST_ARGS)

build: .venv/installed $(BUILD)/build.ninja
	cmake --build $(BUILD) --target tilews-all tilews-unittests

# The pages that are made from the .td files and from what the compiler prints.
docs: build
	PYTHONPATH=$(BUILD)/python_packages .venv/bin/python docs/generate.py

# What finds broken synchronization; takes minutes.
mutation: build
	PYTHONPATH=$(BUILD)/python_packages .venv/bin/python -m tilews.mutate \
	  test/python/kernels/mutation_corpus.py --table docs/mutation.md

$(BUILD)/build.ninja: | .venv/installed
	cmake --preset dev

# The environment has all that builds, tests and checks tilews; tilews itself
# stays in the build tree.
.venv/installed: pyproject.toml .ci/requirements.py .ci/install-system-packages
	.ci/install-system-packages $(PYTHON)
	$(PYTHON) -m venv .venv
	.venv/bin/python .ci/requirements.py test lint | .venv/bin/python -m pip install -q -r /dev/stdin
	touch $@

lint: .venv/installed
	@.venv/bin/clang-format --dry-run --Werror $(SOURCES)
	.venv/bin/ruff check
	.venv/bin/ruff format --check

format: .venv/installed
	@.venv/bin/clang-format -i $(SOURCES)
	.venv/bin/ruff check --fix
	.venv/bin/ruff format
