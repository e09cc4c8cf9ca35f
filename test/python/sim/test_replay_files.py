"""Files of counterexamples: what is wrong in one is an error that names it."""

import json

import pytest

from tilews import ir, sim
from tilews.sim import Counterexample

KERNEL = """
gpu.module @m {
  gpu.func @k(%a: memref<?x4xi8>, %n: i32, %b: memref<f32>) kernel
      attributes {tile.grid = affine_map<()[s0, s1] -> (1)>} {
    gpu.return
  }
}
"""
FILE = {"kernel": "k", "fault": "none", "inputs": [], "events": []}
FILL = {"name": "a", "kind": "fill", "argument": 0, "place": [], "value": 1}
ELEMENT = FILL | {"kind": "element", "place": [2, 3]}
EXTENT = FILL | {"kind": "extent", "place": [0]}
SCALAR = FILL | {"kind": "scalar", "argument": 1}
EVENT = {"task": 0, "op": 0, "text": "begins"}


def load(content, tmp_path):
    path = tmp_path / "counterexample.json"
    path.write_text(json.dumps(content))
    return Counterexample.load(path)


#: What is in a file, and what is said of it.
FILES = [
    ([], r"the file: expected an object, found \[\]"),
    ({"kernel": "k"}, "the file: expected a key 'fault'"),
    ({**FILE, "kernel": 5}, "'kernel' of the file: expected a text, found 5"),
    ({**FILE, "inputs": "abc"}, "'inputs' of the file: expected a list, found 'abc'"),
    ({**FILE, "inputs": [5]}, r"inputs\[0\]: expected an object, found 5"),
    ({**FILE, "inputs": [FILL, {}]}, r"inputs\[1\]: expected a key 'name'"),
    ({**FILE, "inputs": [FILL | {"kind": "x"}]}, r"'kind' of inputs\[0\]: expected sc"),
    ({**FILE, "inputs": [FILL | {"kind": []}]}, r"'kind' of inputs\[0\]: expected sc"),
    (
        {**FILE, "inputs": [FILL | {"argument": -1}]},
        "'argument' of .*: expected a count",
    ),
    ({**FILE, "inputs": [FILL | {"argument": True}]}, "'argument' of .*, found True"),
    ({**FILE, "inputs": [ELEMENT | {"place": [1.5]}]}, "'place' of .* list of counts"),
    ({**FILE, "inputs": [ELEMENT | {"place": [10**30, 0]}]}, "'place' of .* of counts"),
    ({**FILE, "inputs": [FILL | {"value": "1"}]}, "'value' of .* a number, found '1'"),
    ({**FILE, "events": [EVENT, 5]}, r"events\[1\]: expected an object, found 5"),
    ({**FILE, "events": [EVENT | {"task": 2**32}]}, r"'task' of .* count below 2\^32"),
    (
        {**FILE, "events": [EVENT | {"op": -1}]},
        r"'op' of events\[0\]: expected a count",
    ),
    ({**FILE, "schedule": 5}, "'schedule' of the file: expected a text or null"),
    ({**FILE, "grid": "123"}, "'grid' of the file: expected one to three counts"),
    (
        {**FILE, "grid": [1, 1, 1, 1]},
        "'grid' of the file: expected one to three counts",
    ),
    ({**FILE, "grid": [10**30]}, "'grid' of the file: expected one to three counts"),
]
#: Inputs that do not fit the kernel.
INPUTS = [
    (FILL | {"argument": 9}, "has an argument 9, the kernel 3 arguments"),
    (FILL | {"argument": 1}, r"has fill \[\] of argument 1, which is i32"),
    (SCALAR | {"argument": 0}, r"has scalar \[\] of argument 0, which is memref"),
    (SCALAR | {"value": 1.5}, "expected an integer, found '1.5'"),
    (SCALAR | {"value": 10**30}, "argument .*: expected an integer from"),
    (FILL | {"value": 10**30}, r"cannot make element \[\] of argument 0, int8"),
    (ELEMENT | {"value": 128}, r"cannot make element \[2, 3\] of argument 0, .*, 128"),
    (ELEMENT | {"place": [1]}, r"has element \[1\] of argument 0"),
    (ELEMENT | {"place": [10**13, 0]}, "cannot make element"),
    (ELEMENT | {"place": [2**62, 2**62]}, "cannot make element"),
    (EXTENT | {"place": []}, r"has extent \[\] of argument 0"),
    (EXTENT | {"place": [2]}, r"has extent \[2\] of argument 0"),
    (EXTENT | {"value": -5}, r"extent \[0\] of argument 0: expected a count, found -5"),
    (EXTENT | {"value": 1.5}, "expected a count, found 1.5"),
    (EXTENT | {"value": 10**14}, "does not fit the memory"),
]


@pytest.fixture
def module():
    with ir.Context(), ir.Location.unknown():
        yield ir.Module.parse(KERNEL)


@pytest.mark.parametrize("content, message", FILES, ids=range(len(FILES)))
def test_files_that_are_no_counterexamples(content, message, tmp_path):
    with pytest.raises(ValueError, match=f"json is no counterexample: {message}"):
        load(content, tmp_path)


@pytest.mark.parametrize("entry, message", INPUTS, ids=range(len(INPUTS)))
def test_inputs_that_do_not_fit_the_kernel(entry, message, module, tmp_path):
    found = load({**FILE, "inputs": [entry]}, tmp_path)
    with pytest.raises((ValueError, TypeError), match=message):
        sim.replay(module, found)


def test_inputs_that_fit_the_kernel(module, tmp_path):
    inputs = [SCALAR | {"value": 7}, EXTENT | {"value": 2}, FILL, ELEMENT]
    inputs.append(ELEMENT | {"place": [3, 0], "value": -128})
    inputs.append(ELEMENT | {"argument": 2, "place": [], "value": 0.5})
    array, number, scalar = sim.replay(
        module, load({**FILE, "inputs": inputs}, tmp_path)
    )
    assert array.tolist() == [[1] * 4, [1] * 4, [0, 0, 0, 1], [-128, 0, 0, 0]]
    assert (number, scalar) == (7, 0.5)
