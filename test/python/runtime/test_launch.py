"""Checks of arguments, evaluation of grids and packing of parameters, without a GPU."""

import struct
import subprocess
import sys
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.launches import (
    Device,
    FakeArray,
    buffer,
    make_manifest,
    prepare,
)
from tilews import runtime
from tilews.runtime import BackendError, LaunchError
from tilews.runtime.arrays import ArrayInfo, describe, row_major
from tilews.runtime.launch import Launcher, evaluate

CEIL_M = {"op": "ceildiv", "args": [{"extent": [0, 0]}, 128]}


# --- packing -------------------------------------------------------------------


def test_parameters_are_packed_in_order():
    manifest = make_manifest(
        [buffer("A"), {"name": "n", "kind": "scalar", "dtype": "i32"}, buffer("B")],
        grid=[CEIL_M, {"scalar": 1}, 1],
    )
    a, b = FakeArray(), FakeArray(pointer=1 << 21)
    plan = prepare(manifest, a, 7, b)
    assert list(plan.values) == [1 << 20, 256, 64, 7, 1 << 21, 256, 64]
    assert plan.grid == (2, 7, 1)
    assert plan.device == 0
    # The driver reads each value at the plan's offset.
    first = plan.parameters[0]
    assert [address - first for address in plan.parameters] == [8 * i for i in range(7)]


def test_plan_is_used_again_with_new_addresses_and_scalars():
    scalar = {"name": "x", "kind": "scalar", "dtype": "f32"}
    launcher = Launcher(make_manifest([buffer("A"), scalar]))
    first = launcher.prepare([FakeArray(), 1.0])
    second = launcher.prepare([FakeArray(pointer=1 << 22), 2.5])
    assert first is second
    assert second.values[0] == 1 << 22
    assert second.values[3] == struct.unpack("I", struct.pack("f", 2.5))[0]


def test_plan_depends_on_shape_grid_and_the_scalars_of_the_grid():
    scalar = {"name": "n", "kind": "scalar", "dtype": "i32"}
    manifest = make_manifest([buffer("A"), scalar], grid=[{"scalar": 1}, CEIL_M, 1])
    launcher = Launcher(manifest)
    assert launcher.prepare([FakeArray(), 3]).grid == (3, 2, 1)
    assert launcher.prepare([FakeArray(), 4]).grid == (4, 2, 1)
    assert launcher.prepare([FakeArray(shape=(1, 64)), 4]).grid == (4, 1, 1)
    assert launcher.prepare([FakeArray(), 4], grid=(9,)).grid == (9, 1, 1)


@pytest.mark.parametrize(
    ("dtype", "value", "packed"),
    [
        ("i32", -1, 0xFFFFFFFF),
        ("i8", -1, 255),
        ("i1", True, 1),
        ("i1", np.True_, 1),
        ("i64", -(2**63), 1 << 63),
        ("f16", 1.0, 0x3C00),
        ("bf16", 1.0, 0x3F80),
        ("f64", -2.0, 0xC000000000000000),
        ("f8E4M3FN", 1.0, 0x38),
        ("i32", np.int64(5), 5),
        ("f32", np.float32(0.5), 0x3F000000),
    ],
)
def test_scalars(dtype, value, packed):
    manifest = make_manifest([{"name": "x", "kind": "scalar", "dtype": dtype}])
    assert prepare(manifest, value).values[0] == packed


def test_strides_are_passed_where_the_kernel_takes_any():
    manifest = make_manifest([buffer("A", strides=[None, 1])])
    plan = prepare(manifest, FakeArray(strides=(512, 2)))
    assert list(plan.values)[1:] == [256, 64, 256]


def test_nothing_runs_for_an_empty_array():
    plan = prepare(make_manifest([buffer("A")], [CEIL_M, 1, 1]), FakeArray((0, 64)))
    assert plan.is_empty


# --- refusals ------------------------------------------------------------------

A = buffer("A")
SCALAR = {"name": "n", "kind": "scalar", "dtype": "i8"}
REFUSED = {
    "count": ([A], [], r"expected 1 arguments \(A\), found 0"),
    "no array": ([A], [3], "'A': expected an array .* found a builtins.int"),
    "dtype": ([A], [FakeArray(typestr="<f4")], "expected elements of f16, found f32"),
    "rank": ([A], [FakeArray((4,))], r"expected 2 dimensions, found shape \(4,\)"),
    "extent": (
        [buffer("A", shape=("M", 128))],
        [FakeArray()],
        r"expected extent 128 in dimension 1, found shape \(256, 64\)",
    ),
    "divisible": (
        [buffer("A", divisible=[1, 128])],
        [FakeArray()],
        r"expected a multiple of 128 in dimension 1, found shape \(256, 64\)",
    ),
    "symbol": (
        [A, buffer("B", shape=("K", "N"))],
        [FakeArray(), FakeArray((63, 8))],
        r"'B': expected extent K = 64 in dimension 0, as in argument 'A', found",
    ),
    "strides": (
        [A],
        [FakeArray(strides=(2, 512))],
        r"expected strides \(64, 1\) \(in elements\), found \(1, 256\)",
    ),
    "alignment": (
        [A],
        [FakeArray(pointer=(1 << 20) + 8)],
        "expected an address aligned to 16 bytes, found 0x100008",
    ),
    "host": (
        [A],
        [np.zeros((256, 64), np.float16)],
        "expected an array on a cuda device, found one on cpu; move it there",
    ),
    "devices": (
        [A, buffer("B")],
        [FakeArray(), FakeArray(device=Device(1))],
        "'B': expected an array on device 0 like the others, found one on device 1",
    ),
    "large": (
        [A],
        [FakeArray((65537, 32768))],
        "32-bit indices do .compile with index_bitwidth=64., found 2147516416",
    ),
    "reach": (
        [buffer("A", reach=[128, 64])],
        [FakeArray((100, 1 << 24))],
        "fewer than 2147483648 bytes between elements of one region, .*, found 4261",
    ),
    "reach with strides": (
        [buffer("A", strides=[None, 1], reach=[0, 64])],
        [FakeArray((8193, 64), strides=(1 << 17, 2))],
        "fewer than 1073741824 bytes between .*, found 1073741950",
    ),
    "packed": ([buffer("A", dtype="i4")], [FakeArray()], "arrays of i4 cannot be"),
    "integer": ([SCALAR], [1.5], "'n': expected an integer, found 1.5"),
    "range": (
        [SCALAR],
        [256],
        r"expected an integer from -128 to 127 \(i8\), found 256",
    ),
    "number": (
        [{"name": "x", "kind": "scalar", "dtype": "f32"}],
        ["one"],
        "'x': expected a number, found 'one'",
    ),
    "overflow": (
        [{"name": "x", "kind": "scalar", "dtype": "f16"}],
        [1e6],
        "expected a number that f16 holds",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(case):
    arguments, args, message = REFUSED[case]
    with pytest.raises(LaunchError, match=message):
        prepare(make_manifest(arguments), *args)


def test_large_arrays_within_reach():
    manifest = make_manifest([buffer("A", reach=[128, 64])])
    prepare(manifest, FakeArray((100, 1 << 23)))
    manifest = make_manifest([buffer("A", strides=[None, 1], reach=[0, 64])])
    prepare(manifest, FakeArray((8192, 64), strides=(1 << 17, 2)))


def test_a_stride_of_an_extent_of_one_does_not_count():
    prepare(make_manifest([A]), FakeArray((1, 64), strides=(2, 2)))


def test_a_large_array_is_fine_with_wide_indices():
    manifest = make_manifest([A], index_bitwidth=64)
    assert prepare(manifest, FakeArray((65537, 32768))).values[1] == 65537


@pytest.mark.parametrize(
    ("options", "grid", "message"),
    [
        ({"grid": None}, None, "has no grid of its own"),
        ({}, (1, 70000), "expected a grid from 0 to"),
        ({}, (1, 1, 1, 1), "expected a grid of one to three integers"),
        ({"cluster": [2, 1, 1]}, (3,), r"whole clusters of \(2, 1, 1\) blocks"),
    ],
)
def test_refused_grids(options, grid, message):
    with pytest.raises(LaunchError, match=message):
        prepare(make_manifest([A], **options), FakeArray(), grid=grid)


def test_refused_manifests():
    with pytest.raises(LaunchError):
        Launcher(make_manifest([A], format=2))


# --- grid expressions ----------------------------------------------------------

LEAVES = st.one_of(
    st.integers(0, 1000),
    st.sampled_from([{"extent": [0, 0]}, {"extent": [0, 1]}, {"scalar": 1}]),
)
TREES = st.recursive(
    LEAVES,
    lambda children: st.fixed_dictionaries(
        {
            "op": st.sampled_from(["add", "mul", "mod", "floordiv", "ceildiv"]),
            "args": st.lists(children, min_size=2, max_size=2),
        }
    ),
    max_leaves=12,
)


def as_python(tree):
    """The expression as Python source."""
    if isinstance(tree, int):
        return str(tree)
    if "extent" in tree:
        return f"shapes[{tree['extent'][0]}][{tree['extent'][1]}]"
    if "scalar" in tree:
        return f"scalars[{tree['scalar']}]"
    a, b = map(as_python, tree["args"])
    operators = {"add": "+", "mul": "*", "mod": "%", "floordiv": "//"}
    if tree["op"] == "ceildiv":
        return f"(({a} + {b} - 1) // {b})"
    return f"({a} {operators[tree['op']]} {b})"


@given(TREES, st.integers(0, 9999), st.integers(1, 9999), st.integers(0, 9999))
def test_grid_expression_equals_python(tree, m, n, s):
    names = {"shapes": {0: (m, n)}, "scalars": {1: s}}
    try:
        expected = eval(as_python(tree), {}, names)
    except ZeroDivisionError:
        with pytest.raises(LaunchError, match="divides by zero"):
            evaluate(tree, **names)
    else:
        assert evaluate(tree, **names) == expected


# --- reading arrays ------------------------------------------------------------


@given(st.lists(st.integers(1, 9), max_size=4))
def test_row_major_strides_equal_numpy(shape):
    array = np.zeros(shape, np.float32)
    assert row_major(array.shape) == tuple(s // 4 for s in array.strides)


class OnlyDLPack:
    """An array that supports DLPack only."""

    def __init__(self, array):
        self.__dlpack__ = array.__dlpack__
        self.__dlpack_device__ = array.__dlpack_device__


@pytest.mark.parametrize("dtype", ["float16", "float64", "int8", "uint32", "bool"])
def test_dlpack_reads_what_numpy_says(dtype):
    array = np.zeros((6, 8), dtype)[::2, 1:5]
    info = describe(array, "A")
    assert info == ArrayInfo(info.dtype, (3, 4), (16, 1), "cpu", 0)
    assert describe(OnlyDLPack(array), "A") == info


def test_ml_dtypes_are_known():
    import ml_dtypes

    for name, dtype in (
        ("bf16", ml_dtypes.bfloat16),
        ("f8E4M3FN", ml_dtypes.float8_e4m3fn),
        ("f8E5M2FNUZ", ml_dtypes.float8_e5m2fnuz),
    ):
        assert describe(np.zeros((2, 2), dtype), "A").dtype == name


# --- backends ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("vendor", "package", "extra"),
    [("nvidia", "cuda", r"tilews\[cuda\]"), ("amd", "hip", r"tilews\[hip\]")],
)
def test_missing_package_names_the_extra(monkeypatch, vendor, package, extra):
    monkeypatch.setitem(sys.modules, package, None)
    for name in ("cuda.bindings", "hip.hip"):
        monkeypatch.setitem(sys.modules, name, None)
    backend = runtime._backend(vendor)
    start = backend._driver if vendor == "nvidia" else backend._runtime
    start.cache_clear()
    kind = "cuda" if vendor == "nvidia" else "hip"
    manifest = make_manifest(
        [], target={"chip": "c", "vendor": vendor, "warp_size": 32}
    )
    with pytest.raises(BackendError, match=f"pip install '{extra}'"):
        runtime.LoadedKernel(manifest, b"")()
    assert kind in backend.__name__
    start.cache_clear()


def test_without_a_gpu_the_target_is_the_cpu(monkeypatch):
    monkeypatch.setitem(sys.modules, "cuda", None)
    monkeypatch.setitem(sys.modules, "cuda.bindings", None)
    monkeypatch.setitem(sys.modules, "hip", None)
    runtime._backend("nvidia")._driver.cache_clear()
    runtime._backend("amd")._runtime.cache_clear()
    assert runtime.device_target() == "cpu"


def test_unknown_stream_is_refused():
    with pytest.raises(LaunchError, match="expected a stream"):
        runtime.stream_handle("fast")


def test_the_runtime_needs_no_mlir():
    code = (
        "import sys, tilews.runtime; assert not any('_mlir' in m for m in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


class FakeFunction:
    """A stand-in for a kernel on a device that records its launches."""

    launches: ClassVar[list] = []
    images: ClassVar[list] = []

    def __init__(self, manifest, image, device):
        self.device = device
        self.images.append(image)

    def launch(self, plan, stream):
        self.launches.append((self.device, plan.grid, list(plan.values), stream))


def test_a_call_reaches_the_device_of_its_arrays(monkeypatch):
    kernel = runtime.LoadedKernel(make_manifest([A], [CEIL_M, 1, 1]), b"image")
    monkeypatch.setattr(kernel._backend, "load_function", FakeFunction)
    monkeypatch.setattr(FakeFunction, "launches", [])

    class Stream:
        cuda_stream = 77

    kernel(FakeArray(), stream=Stream())
    kernel(FakeArray(device=Device(2)))
    kernel(FakeArray((0, 64)))
    assert FakeFunction.launches == [
        (0, (2, 1, 1), [1 << 20, 256, 64], 77),
        (2, (2, 1, 1), [1 << 20, 256, 64], 0),
    ]


def test_ptx_may_be_text(monkeypatch):
    manifest = make_manifest([A], [CEIL_M, 1, 1])
    monkeypatch.setattr(FakeFunction, "launches", [])
    monkeypatch.setattr(FakeFunction, "images", [])
    for image in (".version 8.0 // \u00e9", ".version 8.0 // \u00e9".encode()):
        kernel = runtime.LoadedKernel(manifest, image)
        monkeypatch.setattr(kernel._backend, "load_function", FakeFunction)
        kernel(FakeArray())
    first, second = FakeFunction.images
    assert first == second == b".version 8.0 // \xc3\xa9"


@pytest.mark.parametrize("image", [None, 7, ["a"]])
def test_what_is_no_code_is_refused(image):
    manifest = make_manifest([A], [CEIL_M, 1, 1])
    with pytest.raises(LaunchError, match="expected bytes or the text of PTX, found"):
        runtime.LoadedKernel(manifest, image)
