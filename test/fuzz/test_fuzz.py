"""Short runs of the fuzzers; see fuzz.py and manifests.py for longer ones."""

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import manifests
from fuzz import DESCRIPTIONS, fuzz, watch
from text_mutator import Mutator, read_seeds

#: A minute of one processor, in parts that run side by side.
SHARES = [range(first, first + 1600) for first in range(0, 6400, 1600)]


@pytest.mark.parametrize("numbers", SHARES, ids=str)
def test_nothing_crashes(numbers):
    stages, findings = fuzz(numbers)
    assert not findings, "\n".join(
        f"// input {f.number}: {f.kind}\n{f.text}" for f in findings
    )
    assert sum(stages.values()) == len(numbers)
    # If all mutations failed to parse, or changed nothing, the fuzzer would be blind.
    assert all(stages[stage] > len(numbers) // 20 for stage in DESCRIPTIONS), stages


def test_seeds_as_they_are():
    seeds = sorted(set(read_seeds(Path(__file__).parent / "seeds")))
    kind, begun, _ = watch(seeds, timeout=20)
    assert kind is None, f"{kind}:\n{seeds[begun - 1]}"
    assert begun == len(seeds)


def test_inputs_are_repeatable():
    seeds = ["a %0 = 1 : i32\n", "b memref<4x?xf32>\n"]
    first = [Mutator(seeds).make(n) for n in range(50)]
    assert first == [Mutator(seeds).make(n) for n in range(50)]
    assert len(set(first)) > 25


@pytest.mark.parametrize("numbers", [range(10000), range(10000, 20000)], ids=str)
def test_manifests_are_refused_or_launched(numbers):
    outcomes, findings = manifests.fuzz(numbers)
    assert not findings, "\n".join(findings)
    for outcome in ("manifest", "arguments", "launched"):
        assert outcomes[outcome] > len(numbers) // 500, outcomes


def test_seeds_of_manifests_as_they_are():
    for seed in manifests.SEEDS:
        assert manifests.launch(json.loads(seed)) == "launched"
