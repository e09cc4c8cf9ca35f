"""The tensor maps of a launch: what the driver would encode for which array."""

import ctypes

import pytest

from support.launches import FakeArray, add_tensor_map, buffer, make_manifest
from tilews.runtime import LaunchError
from tilews.runtime.launch import Launcher


def tensor_map_manifest(argument, **recipe):
    """A kernel with one array and a tensor map of it, dimension 1 innermost."""
    return add_tensor_map(make_manifest([argument]), **recipe)


def encode(plan):
    """Encodes a plan's maps as their addresses; returns the encoder's arguments."""
    calls = []

    def fake(tensor_map, pointer):
        calls.append((tensor_map.extents, tensor_map.strides, pointer))
        return pointer.to_bytes(8, "little") * 16

    for tensor_map in plan.tensor_maps:
        tensor_map.update(plan.values[tensor_map.slot], fake)
    return calls


def test_tensor_maps_follow_the_array():
    launcher = Launcher(tensor_map_manifest(buffer("A")))
    plan = launcher.prepare([FakeArray(shape=(256, 64), pointer=0x1000)])
    assert encode(plan) == [([64, 256], [128], 0x1000)]
    address = plan.parameters[3]
    assert address % 64 == 0 and address == plan.tensor_maps[0].address
    assert ctypes.string_at(address, 128) == (0x1000).to_bytes(8, "little") * 16
    # Each map is encoded once.
    assert encode(plan) == []
    for pointer, encoded in ((0x2000, 1), (0x1000, 0)):
        again = launcher.prepare([FakeArray(shape=(256, 64), pointer=pointer)])
        assert again is plan
        assert len(encode(again)) == encoded
        assert ctypes.string_at(address, 8) == pointer.to_bytes(8, "little")


@pytest.mark.parametrize(
    ("array", "message"),
    [
        ({"shape": (256, 65)}, "multiples of 16 bytes.*found 130 bytes in dimension 0"),
        ({"shape": (256, 64), "pointer": 8}, "aligned to 16"),
        ({"shape": (2**31, 8)}, r"1 to 2\^31 - 1, .*, found 2147483648"),
    ],
)
def test_refused_tensor_maps(array, message):
    manifest = tensor_map_manifest(buffer("A", alignment=8))
    manifest["index_bitwidth"] = 64
    for parameter in manifest["parameters"]:
        if parameter["kind"] == "extent":
            parameter["dtype"] = "i64"
    launcher = Launcher(manifest)
    with pytest.raises(LaunchError, match=message):
        encode(launcher.prepare([FakeArray(**array)]))


def test_tensor_maps_of_arrays_without_elements_or_rows():
    launcher = Launcher(tensor_map_manifest(buffer("A")))
    empty = launcher.prepare([FakeArray(shape=(0, 64))])
    assert empty.tensor_maps[0].is_empty
    assert empty.tensor_maps[0].extents == [1, 1]
    # The stride of a dimension of one element is not used.
    row = launcher.prepare([FakeArray(shape=(1, 65))])
    assert row.tensor_maps[0].strides == [16]


def test_tensor_maps_of_rank_1():
    recipe = {
        "rank": 1,
        "dims": [0],
        "extents": [{"extent": [0, 0]}],
        "strides": [],
        "box": [64],
        "element_strides": [1],
    }
    manifest = tensor_map_manifest(buffer("A", shape=("M",)), **recipe)
    plan = Launcher(manifest).prepare([FakeArray(shape=(96,), pointer=0x1000)])
    # The driver refuses a map without strides, also where none is used.
    assert encode(plan) == [([96], [16], 0x1000)]


def test_tensor_maps_with_a_window():
    recipe = {"window": {"position": 1, "size": 128}}
    launcher = Launcher(tensor_map_manifest(buffer("A"), **recipe))
    plan = launcher.prepare([FakeArray(shape=(300, 64), pointer=0x10000)])
    # The window moves from the rows before the array to its last ones.
    expected = [64, 128, 301], [128, 128], 0x10000 - 128 * 128
    assert encode(plan) == [expected]
    assert plan.tensor_maps[0].box == [64, 128, 1]
    assert plan.tensor_maps[0].element_strides == [1, 1, 1]
    empty = launcher.prepare([FakeArray(shape=(0, 64), pointer=0x10000)])
    assert encode(empty) == [([1, 1, 1], [16, 16], 0x10000)]


def test_tensor_maps_of_boxes_outside():
    recipe = {"window": {"position": 1, "size": 128}, "outside": True}
    launcher = Launcher(tensor_map_manifest(buffer("A"), **recipe))
    plan = launcher.prepare([FakeArray(shape=(300, 64), pointer=0x10000)])
    # No part of a box lies in it, so one element of the array is enough.
    assert encode(plan) == [([1, 1, 1], [16, 16], 0x10000)]
    assert plan.tensor_maps[0].box == [64, 128, 1]
    assert not plan.tensor_maps[0].is_empty
    empty = launcher.prepare([FakeArray(shape=(300, 0), pointer=0x10000)])
    assert empty.tensor_maps[0].is_empty


def test_tensor_maps_that_would_start_before_all_memory():
    recipe = {"window": {"position": 1, "size": 128}}
    launcher = Launcher(tensor_map_manifest(buffer("A"), **recipe))
    encode(launcher.prepare([FakeArray(shape=(300, 64), pointer=128 * 128)]))
    plan = launcher.prepare([FakeArray(shape=(300, 64), pointer=128 * 128 - 16)])
    with pytest.raises(LaunchError, match=r"'A': expected an address of at least 0x40"):
        encode(plan)
