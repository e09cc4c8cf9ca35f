"""Arguments that no kernel takes: the same errors by launcher and interpreter."""

import enum
import itertools
import math

import numpy as np
import pytest

import tilews
import tilews.language as tl
from support.launches import FakeArray, buffer, make_manifest, prepare
from tilews import runtime, sim
from tilews.runtime import LaunchError, arrays, cuda
from tilews.runtime.launch import Launcher
from tilews.runtime.scalars import scalar_packer

I32 = "expected an integer from -2147483648 to 2147483647"
I64 = "expected an integer from -9223372036854775808 to 9223372036854775807"
A = buffer("A", shape=["M"], dtype="f32")
KERNEL = make_manifest(
    [
        A,
        {"name": "s", "kind": "scalar", "dtype": "f32"},
        {"name": "n", "kind": "scalar", "dtype": "i32"},
        {"name": "u", "kind": "scalar", "dtype": "i8", "unsigned": True},
        {"name": "w", "kind": "scalar", "dtype": "i64"},
        {"name": "v", "kind": "scalar", "dtype": "i64", "unsigned": True},
    ],
    grid=[1, 1, 1],
)


@tilews.kernel
def scale(
    A: tl.Tensor["M", tl.f32], s: tl.f32, n: tl.i32, u: tl.u8, w: tl.i64, v: tl.u64
):
    x = tl.grid(1)
    small = tl.load(A[x], (64,)) * s + n.to(tl.f32) + u.to(tl.f32)
    A[x] = small + w.to(tl.f32) + v.to(tl.f32)


class Unprintable:
    def __repr__(self):
        raise RuntimeError("no text")


class Changing:
    """A number that is another one each time."""

    def __init__(self):
        self.number = 0

    def __index__(self):
        self.number += 1
        return self.number


def launch(s=1.0, n=1, u=0, w=0, v=0, grid=None, **array):
    """The values of a launch without a GPU."""
    array = FakeArray(**{"shape": (64,), "typestr": "<f4", **array})
    return prepare(KERNEL, array, s, n, u, w, v, grid=grid)


def interpret(s=1.0, n=1, u=0, w=0, v=0, grid=None, array=None):
    array = np.ones(64, np.float32) if array is None else array
    scale(array, s, n, u, w, v, target="cpu", grid=grid)
    return array


@pytest.mark.parametrize("run", [launch, interpret])
@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"s": 1e39}, "'s': expected a number that f32 holds, found 1e\\+39"),
        ({"s": -3.4028235677973366e38}, "'s': expected a number that f32 holds"),
        ({"s": np.float64(1e300)}, "'s': expected a number that f32 holds"),
        ({"s": 10**400}, "'s': expected a number that f32 holds"),
        ({"s": 10**5000}, "'s': expected a number that f32 holds"),
        ({"s": "1"}, "'s': expected a number, found '1'"),
        ({"s": 1j}, "'s': expected a number, found 1j"),
        ({"s": np.complex64(1)}, r"'s': expected a number, found np.complex64"),
        ({"s": np.array(1 + 1j)}, r"'s': expected a number, found array"),
        ({"s": np.longdouble("1e4000")}, "'s': expected a number that f32 holds"),
        ({"s": None}, "'s': expected a number, found None"),
        ({"n": 2**31}, rf"'n': {I32} \(i32\), found 2147483648"),
        ({"n": np.uint32(2**32 - 1)}, rf"'n': {I32} \(i32\), found 4294967295"),
        ({"n": -(2**31) - 1}, f"'n': {I32}"),
        ({"n": 10**5000}, f"'n': {I32}"),
        ({"n": np.float32(1)}, r"'n': expected an integer, found np.float32\(1.0\)"),
        ({"n": math.nan}, "'n': expected an integer, found nan"),
        ({"u": -1}, r"'u': expected an integer from 0 to 255 \(u8\), found -1"),
        ({"u": 256}, r"'u': expected an integer from 0 to 255 \(u8\), found 256"),
        ({"w": 2**63}, rf"'w': {I64} \(i64\), found 9223372036854775808"),
        ({"w": np.uint64(2**64 - 1)}, f"'w': {I64}"),
        ({"w": -(2**63) - 1}, f"'w': {I64}"),
        ({"v": 2**64}, r"'v': .* from 0 to 18446744073709551615 \(u64\), found 1844"),
        ({"v": -1}, r"'v': .* from 0 to 18446744073709551615 \(u64\), found -1"),
        ({"n": 1.0}, r"'n': expected an integer, found 1\.0"),
        (
            {"grid": (1.5,)},
            r"a grid of one to three integers, found \(1\.5,\)",
        ),
        ({"grid": 1.5}, r"expected a grid of one to three integers, found 1\.5"),
        ({"grid": "1"}, "expected a grid of one to three integers"),
        ({"grid": ()}, r"expected a grid of one to three integers, found \(\)"),
        ({"grid": (1, 1, 1, 1)}, "expected a grid of one to three integers"),
        ({"grid": (-1,)}, r"expected a grid from 0 to .* found \(-1\)"),
        ({"grid": (10**5000,)}, "expected a grid from 0 to"),
        ({"grid": itertools.count()}, "a grid of one to three integers, found count"),
        ({"grid": {3, 2}}, "expected a grid of one to three integers, found {2, 3}"),
        ({"grid": {3: 2}}, "expected a grid of one to three integers"),
        ({"grid": b"\1\1"}, "expected a grid of one to three integers"),
        ({"grid": lambda: 1}, "expected a grid of one to three integers, found <func"),
        ({"grid": Unprintable()}, "found an object of 'Unprintable'"),
    ],
    ids=lambda value: None if isinstance(value, dict) else value[:50],
)
def test_refused_numbers(run, arguments, message):
    with pytest.raises(LaunchError, match=message):
        run(**arguments)


@pytest.mark.parametrize(
    "arguments",
    [
        {"s": np.array(2.0)},
        {"s": 3},
        {"n": np.array(3)},
        {"n": True},
        {"n": 2**31 - 1},
        {"w": -(2**63)},
        {"v": np.uint64(2**64 - 1)},
        {"u": 255},
        {"grid": 1},
        {"grid": np.array([1, 1])},
        {"grid": np.array(1)},
        {"grid": True},
        {"grid": (0, 3)},
        {"grid": range(1, 2)},
        {"s": math.inf},
        {"s": math.nan},
        {"s": np.longdouble("-inf")},
        {"s": np.array(math.inf, np.float32)},
    ],
    ids=str,
)
@pytest.mark.parametrize("run", [launch, interpret])
def test_numbers_that_fit(run, arguments):
    run(**arguments)


def test_a_number_that_changes_does_not_change_other_launches():
    number = KERNEL["arguments"][2]
    launcher = Launcher(make_manifest([number], grid=[{"scalar": 0}, 1, 1]))
    seen = {launcher.prepare([Changing()]).grid}
    for number in range(1, 6):
        seen.add(launcher.prepare([number]).grid)
        assert launcher.prepare([number]).grid == (number, 1, 1)
    assert len(seen) == 5


@pytest.mark.parametrize("grid", [1.5, "1", {1}, None], ids=str)
def test_the_simulator_refuses_grids_that_are_no_integers(grid):
    with pytest.raises(TypeError, match="grid: expected integers, found"):
        simulate(grid=(grid,) if grid is None else grid)


@pytest.mark.parametrize("grid", [2**64, (1, -(2**64)), (), itertools.count()], ids=str)
def test_the_simulator_refuses_grids_of_other_sizes(grid):
    with pytest.raises(ValueError, match="grid"):
        simulate(grid=grid)


@pytest.mark.parametrize("value", [1e39, np.longdouble("1e4000")], ids=str)
def test_the_simulator_refuses_numbers_that_become_infinite(value):
    with pytest.raises(TypeError, match="expected a number that f32 holds"):
        simulate(s=value)


@pytest.mark.parametrize("name, value", [("n", 2**31), ("w", 2**63), ("u", -1)])
def test_the_simulator_refuses_integers_that_wrap(name, value):
    with pytest.raises(TypeError, match=f"'{name}': expected an integer from"):
        simulate(**{name: value})


def simulate(s=1.0, n=1, u=0, w=0, v=0, grid=(1,)):
    array = np.ones(64, np.float32)
    sim.run(scale.build(), "scale", [array, s, n, u, w, v], grid)


def test_manifests_say_which_integers_have_no_sign():
    for target in ("sm_90a", "gfx942"):
        arguments = scale.compile(target).manifest["arguments"]
        unsigned = [each["name"] for each in arguments if each.get("unsigned")]
        assert unsigned == ["u", "v"]


def test_defaults_of_integers_without_sign():
    def kernel(n: tl.u8 = -1): ...

    with pytest.raises(tilews.KernelError, match="'n'"):
        tilews.kernel(kernel)


@pytest.mark.parametrize(
    "dtype, largest", [("bf16", 3.3e38), ("f8E4M3FN", 448), ("f8E5M2FNUZ", 57344)]
)
def test_narrow_types(dtype, largest):
    pack = scalar_packer(dtype)
    assert pack(largest, "s") and pack(math.nan, "s")
    with pytest.raises(LaunchError, match=f"that {dtype} holds"):
        pack(largest * 2, "s")


# --- arrays --------------------------------------------------------------------


@pytest.mark.parametrize(
    "array, message",
    [
        ({"typestr": ">f4"}, "'A': .* byte-swapped"),
        ({"more": {"mask": FakeArray()}}, "'A': .* it has a mask"),
        ({"strides": (6,)}, "'A': .* multiples of the element size, 4 bytes"),
        ({"strides": (4, 4)}, "'A': .* expected 1 strides"),
        ({"pointer": 0}, "'A': .* is null"),
        ({"pointer": None}, "'A': .* is null"),
        ({"shape": (-64,)}, "'A': .* expected extents of at least 0"),
        ({"shape": (1.5,)}, "'A': expected an array"),
        ({"more": {"data": 5}}, "'A': expected an array"),
        ({"more": {"stream": 0}}, r"'A': .* a stream from 1 to 2\^64 - 1, found 0"),
        ({"more": {"stream": 2**64}}, r"'A': .* a stream from 1 to 2\^64 - 1, found"),
        ({"pointer": 2**64}, "'A': .* an address of 64 bits, found 0x1000000"),
        ({"pointer": -16}, "'A': .* an address of 64 bits, found -0x10"),
        ({"typestr": None}, "'A': .* a typestr such as '<f4', found None"),
        (
            {"shape": (10**5000,)},
            r"'A': .* extents below 2\^63, found 0x.{1,20}\.\.\.\)",
        ),
        ({"shape": (1,) * 10**6}, "'A': .{,400} 64 dimensions, found 1000000[)]$"),
        ({"more": {"data": b"ab"}}, "'A': .* as data a pair .* found b'ab'"),
        ({"strides": (4.0,)}, "'A': .* cannot be interpreted as an integer"),
        ({"strides": (10**5000,)}, "'A': .* strides of 64 bits, found 0x"),
        ({"strides": (2,) * 10**6}, "'A': .{,400}$"),
        ({"pointer": 2**64 - 252}, "'A': .* addresses of 64 bits, found an array of"),
        ({"pointer": 16, "strides": (-4,)}, "'A': .* addresses of 64 bits, found an"),
    ],
    ids=itertools.count(),
)
def test_refused_arrays(array, message):
    with pytest.raises(LaunchError, match=message):
        launch(**array)


@pytest.mark.parametrize("typestr", ["<f4", np.dtype(np.float32)], ids=str)
def test_typestr_or_type(typestr):
    # The text of a type of ml_dtypes does not name it, so the type itself is taken.
    launch(typestr=typestr)


def test_elements_of_several_lanes():
    class Vectors:
        def __dlpack_device__(self):
            return 2, 0

        def __dlpack__(self, stream):
            capsule = np.zeros(64, np.float32).__dlpack__()
            address = arrays._capsule_pointer(capsule, b"dltensor")
            tensor = arrays._DLTensor.from_address(address)
            tensor.device_type, tensor.lanes = 2, 4
            return capsule

    with pytest.raises(LaunchError, match="of one lane, found 4"):
        arrays.describe(Vectors(), "A")


def test_null_is_fine_without_elements():
    assert launch(shape=(0,), pointer=0).values[0] == 0


ODD = np.lib.stride_tricks.as_strided(np.zeros(99, np.float32), (64,), (6,))


@pytest.mark.parametrize(
    "array, message",
    [
        (np.ones(64, ">f4"), "'A': its elements are byte-swapped"),
        (np.ma.masked_array(np.ones(64, np.float32), True), "'A': it has a mask"),
        (ODD, "'A': expected 1 strides that are multiples"),
    ],
    ids=["swapped", "masked", "odd"],
)
def test_refused_arrays_of_numpy(array, message):
    with pytest.raises(LaunchError, match=message):
        interpret(array=array)


def test_read_only_arrays_are_read():
    manifest = make_manifest([A, buffer("B", shape=["M"])], disjoint=[[0, 1]])
    read_only = {"more": {"data": (1 << 30, True)}}
    prepare(manifest, FakeArray((64,), "<f4"), FakeArray((64,), **read_only))
    with pytest.raises(LaunchError, match=r"'A': .* may be written, found a read"):
        prepare(manifest, FakeArray((64,), "<f4", **read_only), FakeArray((64,)))


# --- streams -------------------------------------------------------------------


def test_a_launch_waits_for_the_streams_of_producers():
    assert launch().producers == []
    assert launch(more={"stream": 7}).producers == [7]


class FakeDriver:
    """Writes down what it is asked to do."""

    class CUevent_flags:
        CU_EVENT_DISABLE_TIMING = 2

    def __init__(self):
        self.calls = []

    def __getattr__(self, name):
        def call(*arguments):
            self.calls.append((name, *arguments))
            return (0, "event") if name == "cuEventCreate" else (0,)

        return call


@pytest.mark.parametrize("stream, producer", [(5, 5), (0, 1), (1, 1)])
def test_nothing_waits_for_its_own_stream(stream, producer):
    function = object.__new__(cuda.CudaFunction)
    function._driver = FakeDriver()
    function._wait_for(producer, stream)
    assert not function._driver.calls


def test_a_stream_waits_for_another_by_an_event():
    function = object.__new__(cuda.CudaFunction)
    function._driver = FakeDriver()
    function._wait_for(7, 5)
    assert function._driver.calls == [
        ("cuEventCreate", 2),
        ("cuEventRecord", "event", 7),
        ("cuStreamWaitEvent", 5, "event", 0),
        ("cuEventDestroy", "event"),
    ]


# --- failures of kernels ---------------------------------------------------------


class Status(enum.IntEnum):
    CUDA_ERROR_INVALID_VALUE = 1
    CUDA_ERROR_LAUNCH_FAILED = 719


@pytest.mark.parametrize("status", Status)
def test_an_error_of_an_earlier_kernel_is_explained(monkeypatch, status):
    class Driver:
        def cuGetErrorString(self, status):
            return 0, b"in words"

    monkeypatch.setattr(cuda, "_driver", Driver)
    text = f"the launch failed: {status.name} in words"
    explained = "; a kernel that was started before failed, .* reported no assertion"
    expected = explained if status == Status.CUDA_ERROR_LAUNCH_FAILED else "$"
    with pytest.raises(runtime.BackendError, match=text + expected):
        cuda._check("the launch", (status,))


def test_assertions_on_a_gpu_have_the_line():
    @tilews.kernel
    def kernel(n: tl.i32):
        tl.device_assert(n > 0, "n is positive")
        assert n < 9

    first = kernel.python.__code__.co_firstlineno
    name = "test_argument_values.py"
    on_gpu = kernel.mlir("sm_90a")
    assert f'"n is positive ({name}:{first + 2})"' in on_gpu
    assert f'"n < 9 ({name}:{first + 3})"' in on_gpu
    assert '"n is positive"' in kernel.mlir()


# --- loops ---------------------------------------------------------------------


@pytest.mark.parametrize("stop", [2**63, 2**64, -(2**63) - 1])
def test_bounds_beyond_index(stop):
    @tilews.kernel
    def count(A: tl.Tensor["M", tl.f32]):
        x = tl.grid(1)
        for _ in tl.range(0, stop):
            A[x] = tl.load(A[x], (64,))

    with pytest.raises(tilews.CompileError, match=f"{stop} does not fit index"):
        count.build()


def test_grids_of_a_loaded_kernel():
    kernel = runtime.LoadedKernel(KERNEL, b"image")
    with pytest.raises(LaunchError, match="one to three integers"):
        kernel(FakeArray((64,), "<f4"), 1.0, 1, 1, 1, 1, grid=(1.5,))
