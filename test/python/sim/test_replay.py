"""What the verifier finds goes wrong in the simulator, too."""

import dataclasses
import itertools
import json
import pathlib
import re

import numpy as np
import pytest
from click.testing import CliRunner

from kernels import mutation_corpus
from support import edited_kernels
from tilews import errors, ir, passes, sim
from tilews.mutate import mutants
from tilews.sim.__main__ import main

CORPUS = pathlib.Path(__file__).parents[2] / "lit/Verifier"
#: What a run says that cannot follow a counterexample.
DEPARTURE = "of the order that the run follows"


def wrong_kernels() -> list[str]:
    """The wrong kernels that are tests of the verifier."""
    files = sorted(CORPUS.rglob("*.edits"))
    cases = [case for path in files for case in edited_kernels.read(path).values()]
    return [case.text() for case in cases if case.is_wrong]


def goes_wrong(module: ir.Module, found: sim.Counterexample) -> bool:
    """Whether a replay stops at a fault; it may not depart from what it follows."""
    try:
        sim.replay(module, found)
    except sim.SimulationError as error:
        assert DEPARTURE not in str(error)
        return True
    return False


def test_faults_written_by_hand():
    """Most faults stop the replay.

    The others have no effect within the few iterations of their counterexamples.
    """
    replayed = wrong = 0
    for text in wrong_kernels():
        with ir.Context(), ir.Location.unknown():
            try:
                module = ir.Module.parse(text)
            except ir.MLIRError:
                continue
            found = sim.find_counterexample(module)
            if found is not None and found.events:
                replayed += 1
                wrong += goes_wrong(module, found)
    assert replayed >= 90
    assert wrong >= 0.75 * replayed


@pytest.mark.parametrize("kernel", ["gemm", "guarded", "attention", "nested"])
def test_mutants_with_barriers(kernel):
    """Most faults that the verifier finds occur in the iterations of its example."""
    subject = next(
        each
        for each in mutation_corpus.SUBJECTS
        if (each.name, each.target) == (kernel, "sm_90a")
    )
    original = subject.forms()["barriers"]
    replayed = wrong = 0
    for mutant in itertools.islice(mutants(original), 0, None, 7):
        found = sim.find_counterexample(mutant.module)
        if found is None or not found.events:
            continue
        replayed += 1
        wrong += goes_wrong(mutant.module, found) or differs(
            original, mutant.module, found
        )
    assert replayed >= 8
    assert wrong >= 0.8 * replayed


def differs(original, mutant, found) -> bool:
    """Whether a mutant computes something else than the original."""
    expected = sim.replay(original, dataclasses.replace(found, events=()))
    return any(
        isinstance(a, np.ndarray) and not np.array_equal(a, b)
        for a, b in zip(expected, sim.replay(mutant, found), strict=True)
    )


@pytest.fixture
def wrong(tmp_path):
    """A wrong kernel, and the counterexample that the pass writes, as files."""
    cases = edited_kernels.read(CORPUS / "channels/deadlocks.edits")
    text = cases["consumer_waits_ahead"].text()
    kernel = tmp_path / "wrong.mlir"
    kernel.write_text(text)
    found = tmp_path / "counterexample.json"
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        with pytest.raises(errors.CompileError, match="is wrong"):
            passes.verify_schedule(module, counterexample=str(found))
    return kernel, found


def test_command(wrong):
    kernel, found = wrong
    result = CliRunner().invoke(main, [str(kernel), "--replay", str(found)])
    read = json.loads(found.read_text())
    assert result.exit_code == 1
    assert read["fault"] in result.output
    assert "never returns: nothing can happen any more" in result.output


def test_other_arguments_are_noticed(wrong):
    kernel, path = wrong
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.parseFile(str(kernel))
        found = sim.Counterexample.load(path)
        others = tuple(
            {**each, "value": 0} if each["kind"] == "scalar" else each
            for each in found.inputs
        )
        with pytest.raises(sim.SimulationError, match=DEPARTURE):
            sim.replay(module, dataclasses.replace(found, inputs=others))
        many = ({"task": 0, "op": 10**6, "text": ""},)
        with pytest.raises(sim.SimulationError, match=r"has \d+ operations"):
            sim.replay(module, dataclasses.replace(found, events=many))


def test_what_is_no_counterexample(tmp_path):
    path = tmp_path / "no.json"
    path.write_text('{"kernel": "gemm"}')
    with pytest.raises(ValueError, match=re.escape(f"{path} is no counterexample")):
        sim.Counterexample.load(path)


def test_right_kernels_have_none():
    text = (CORPUS / "Inputs/two_channels.mlir").read_text()
    with ir.Context(), ir.Location.unknown():
        assert sim.find_counterexample(ir.Module.parse(text)) is None


def test_memory_that_has_one_number_everywhere():
    text = """
      gpu.module @m {
        gpu.func @k(%a: memref<2x?xf16>, %b: memref<4xi32>) kernel {
          gpu.return
        }
      }"""
    inputs = (
        {"name": "", "kind": "extent", "argument": 0, "place": [1], "value": 3},
        {"name": "", "kind": "fill", "argument": 0, "place": [], "value": 5},
        {"name": "", "kind": "element", "argument": 1, "place": [2], "value": 7},
    )
    found = sim.Counterexample("k", "a fault", inputs, ())
    with ir.Context():
        module = ir.Module.parse(text)
        kernel = module.body.operations[0].regions[0].blocks[0].operations[0]
        a, b = found.make_arguments(kernel)
    np.testing.assert_array_equal(a, np.full((2, 3), 5, np.float16))
    assert b[2] == 7
