"""Short runs of the fuzzers; see fuzz.py and manifests.py for longer ones."""

import json
import re
import sys
from collections import Counter
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import fuzz as fuzzer
import manifests
from fuzz import DESCRIPTIONS, fuzz
from text_mutator import Mutator, read_seeds
from tilews.fuzz import apart
from tilews.fuzz.long_run import LongRun

#: A minute of one processor, in parts that run side by side.
SHARES = [range(first, first + 1600) for first in range(0, 6400, 1600)]


@pytest.mark.parametrize("numbers", SHARES, ids=str)
def test_nothing_crashes(numbers):
    stages = Counter()
    for number, found in fuzz(numbers):
        assert not isinstance(found, apart.ProcessFailure), f"input {number}: {found}"
        stages[found] += 1
    assert stages.total() == len(numbers)
    # If all mutations failed to parse, or changed nothing, the fuzzer would be blind.
    assert all(stages[stage] > len(numbers) // 20 for stage in DESCRIPTIONS), stages


def test_seeds_as_they_are():
    seeds = sorted(set(read_seeds(Path(__file__).parent / "seeds")))
    results = dict(fuzz(seeds, timeout=20))
    assert results.keys() == set(seeds)
    for seed, found in results.items():
        assert not isinstance(found, apart.ProcessFailure), f"{found}:\n{seed}"


def test_a_slow_compilation_is_a_hang(monkeypatch):
    monkeypatch.setattr(fuzzer, "COMPILE_SECONDS", -1.0)
    seed = read_seeds(Path(__file__).parent / "seeds")[0]
    ((_, found),) = fuzz([seed])
    assert found.kind == "hang"
    assert re.fullmatch(r"tilews-to-\w+ takes \d+ seconds", found.message)


def test_an_interrupted_run_goes_on(tmp_path):
    state = tmp_path / "state.json"
    begun = []

    def run(count, order=sorted, stop=None):
        known = LongRun(state, 100)
        for number, found in known.run(count, lambda n: ((i, "ran") for i in order(n))):
            if number == stop:
                raise KeyboardInterrupt
            begun.append(number)
            known.outcomes[found] += 1

    with pytest.raises(KeyboardInterrupt):
        run(10, stop=104)
    assert LongRun(state).next == 104
    # Several processes have each done some inputs of their own.
    with pytest.raises(KeyboardInterrupt):
        run(10, order=lambda n: [*n[2:4], *n[:2]], stop=105)
    assert LongRun(state).next == 105
    run(3)
    known = LongRun(state)
    assert known.next == 108 and known.outcomes == {"ran": 8}
    assert known.describe("inputs").startswith("8 inputs")
    assert sorted(begun) == list(range(100, 108))


def test_a_complete_run_starts_anew(tmp_path):
    state = tmp_path / "state.json"

    def run(count, inputs="these"):
        known = LongRun(state, end=4, inputs=inputs)
        return [number for number, _ in known.run(count, lambda n: ((i, 0) for i in n))]

    assert run(3) == [0, 1, 2]
    assert run(3) == [3]
    assert run(3) == [0, 1, 2]
    assert run(3, inputs="others") == [0, 1, 2]


def test_inputs_are_repeatable():
    seeds = ["a %0 = 1 : i32\n", "b memref<4x?xf32>\n"]
    first = [Mutator(seeds).make(n) for n in range(50)]
    assert first == [Mutator(seeds).make(n) for n in range(50)]
    assert len(set(first)) > 25


@pytest.mark.parametrize("numbers", [range(10000), range(10000, 20000)], ids=str)
def test_manifests_are_refused_or_launched(numbers):
    outcomes = Counter()
    for number, found in manifests.fuzz(numbers):
        assert not isinstance(found, apart.ProcessFailure), f"{number}: {found}"
        outcomes[found] += 1
    assert outcomes.total() == len(numbers)
    for outcome in ("manifest", "arguments", "launched"):
        assert outcomes[outcome] > len(numbers) // 500, outcomes


def test_seeds_of_manifests_as_they_are():
    for seed in manifests.SEEDS:
        assert manifests.launch(json.loads(seed)) == "launched"
