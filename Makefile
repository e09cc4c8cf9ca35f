# From a fresh checkout to a result: `make demo`, `make test`.
# CONTRIBUTING.md has the commands for everyday work.

PYTHON ?= python3
PYTEST_ARGS ?= -n auto
BUILD := build/dev
SOURCES = $(shell find cmake dialect lib tools test/lib unittests -name '*.cpp' -o -name '*.h')

.PHONY: demo test test-assert build docs mutation random-mutation scaling verdicts lint format nightly
.DEFAULT_GOAL := build

demo: build
	PYTHONPATH=$(BUILD)/python_packages .venv/bin/python examples/demo.py

test: build
	.venv/bin/python -m pytest $(PYTEST_ARGS)

build: .venv/installed $(BUILD)/build.ninja
	cmake --build $(BUILD) --target tilews-all tilews-unittests

# The lit and unit tests with assertions in our code and in the headers of MLIR.
test-assert: .venv/installed
	cmake --preset assert
	cmake --build --preset assert --target tilews-all tilews-unittests
	TILEWS_BUILD_DIR=build/assert .venv/bin/python -m pytest \
	  test/lit test/python/package/test_unittests.py $(PYTEST_ARGS)

# The pages generated from the .td files and from the output of the compiler.
docs: build
	PYTHONPATH=$(BUILD)/python_packages .venv/bin/python docs/generate.py

# The table of mutants of schedules; takes minutes.
mutation: build
	PYTHONPATH=$(BUILD)/python_packages .venv/bin/python -m tilews.mutate \
	  test/python/kernels/mutation_corpus.py --table docs/mutation.md --jobs $$(nproc)

# More random mutants, and their outcomes in the page. Each run goes on where the last
# one ended.
COUNT ?= 10000
random-mutation: build
	PYTHONPATH=$(BUILD)/python_packages .venv/bin/python -m tilews.mutate \
	  test/python/kernels/mutation/mutation_seeds.py --random --count $(COUNT) \
	  --state docs/random-mutation.json --table docs/mutation.md --jobs $$(nproc)

# The table of exponents of compile times; needs valgrind, and takes most of an hour. An
# interrupted run goes on where it was.
scaling: build
	PYTHONPATH=$(BUILD)/python_packages .venv/bin/python -m benchmarks.scaling --table \
	  --times $(BUILD)/scaling-times.json --counts $(BUILD)/scaling-counts.json
	rm $(BUILD)/scaling-times.json $(BUILD)/scaling-counts.json

# The slowest verdicts on schedules; takes minutes.
verdicts: build
	PYTHONPATH=$(BUILD)/python_packages .venv/bin/python -m benchmarks.verdicts

$(BUILD)/build.ninja: | .venv/installed
	cmake --preset dev

# The environment has the packages that build, test and check tilews. tilews itself
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
	.venv/bin/python .ci/check_types.py
	.venv/bin/python .ci/check_prose.py
	.venv/bin/python .ci/check_house.py

format: .venv/installed
	@.venv/bin/clang-format -i $(SOURCES)
	.venv/bin/ruff check --fix
	.venv/bin/ruff format

# The checks that take hours, each also alone: make nightly-tidy.
NIGHTLY := tidy includes sanitizers valgrind mutation random-mutation enumeration spin scaling fuzz coverage
.PHONY: $(NIGHTLY:%=nightly-%)
nightly: $(NIGHTLY:%=nightly-%)

nightly-tidy: build
	.ci/clang-tidy --all

nightly-includes: .venv/installed
	.ci/check-includes

nightly-sanitizers: .venv/installed
	.ci/sanitizers

nightly-valgrind: build
	.ci/valgrind

# The table may not become worse; the difference is the result.
nightly-mutation: mutation
	git diff --exit-code docs/mutation.md

# Each day has inputs of its own.
FIRST_SEED ?= $(shell date +%y%j)00000

# Each night goes on where the last one ended. Where verifier and simulator disagree,
# one of them is wrong.
nightly-enumeration: build
	PYTHONPATH=$(BUILD)/python_packages .venv/bin/python -m tilews.enumerate \
	  --count 200000 --jobs $$(nproc) --state build/nightly/enumeration.json

# Spin on all kernels with a verdict of the verifier. A night that is too short for all
# of them is followed by one that goes on there.
nightly-spin: build
	PYTHONPATH=$(BUILD)/python_packages .venv/bin/python \
	  test/python/support/spin_corpus.py --jobs $$(nproc) --state build/nightly/spin.json

nightly-scaling: scaling
	mkdir -p build/nightly
	cp docs/scaling.md build/nightly

nightly-random-mutation: build
	mkdir -p build/nightly
	PYTHONPATH=$(BUILD)/python_packages .venv/bin/python -m tilews.mutate \
	  test/python/kernels/mutation/mutation_seeds.py --random --first $(FIRST_SEED) \
	  --count 50000 --jobs $$(nproc) --state build/nightly/random-mutation.json

nightly-fuzz: build
	mkdir -p build/nightly
	PYTHONPATH=$(BUILD)/python_packages TILEWS_BUILD_DIR=$(BUILD) .venv/bin/python \
	  test/fuzz/fuzz.py --first $(FIRST_SEED) --count 100000 --save build/nightly/fuzz
	TILEWS_BUILD_DIR=$(BUILD) .venv/bin/python \
	  test/fuzz/manifests.py --first $(FIRST_SEED) --count 1000000
	PYTHONPATH=$(BUILD)/python_packages .venv/bin/python \
	  test/fuzz/fuzz_api.py --count 50000 --state build/nightly/fuzz-api.json
	PYTHONPATH=$(BUILD)/python_packages .venv/bin/python -m tilews.fuzz --rotate \
	  --seeds $(FIRST_SEED):$$(($(FIRST_SEED) + 2000)) --save build/nightly/kernels \
	  | tee build/nightly/kernels.txt
	grep -qE 'findings: (none|[0-9]+ unverified)$$' build/nightly/kernels.txt

nightly-coverage: .venv/installed
	.ci/coverage
