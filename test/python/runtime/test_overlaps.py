"""Arrays that overlap: refused at launch if the kernel writes one of them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tilews
import tilews.language as tl
from tilews.runtime import LaunchError
from tilews.runtime.launch import Launcher
from tilews.runtime.overlaps import byte_span, describe_overlap, find_distances

BASE = 1 << 20


class DeviceArray:
    """Floats on an imaginary GPU, for __cuda_array_interface__."""

    def __init__(self, pointer, shape=(256,), strides=None):
        self.__cuda_array_interface__ = {
            "data": (pointer, False),
            "shape": shape,
            "strides": strides,
            "typestr": "<f4",
            "version": 3,
        }


@tilews.kernel
def add(
    A: tl.Tensor["M", tl.f32],
    B: tl.Tensor["N", tl.f32],
    C: tl.Tensor["L", tl.f32],
):
    x = tl.grid(1)
    C[x] = tl.load(A[x], (64,)) + tl.load(B[x], (64,))


@tilews.kernel
def add_in_place(
    A: tl.Tensor["M", tl.f32],
    B: tl.Tensor["N", tl.f32],
    C: tl.Tensor["L", tl.f32],
):
    tl.may_alias(A, C)
    x = tl.grid(1)
    C[x] = tl.load(A[x], (64,)) + tl.load(B[x], (64,))


@pytest.fixture(scope="module", params=["sm_90a", "gfx942"])
def launcher(request):
    return Launcher(_as_cuda(add.compile(request.param).manifest))


def _as_cuda(manifest):
    # DeviceArray has the interface of CUDA only.
    return {**manifest, "target": {**manifest["target"], "vendor": "nvidia"}}


def arrays(*pointers):
    return [DeviceArray(pointer) for pointer in pointers]


def test_the_kernel_says_which_arguments_are_disjoint(launcher):
    assert launcher.manifest["disjoint"] == [[2, 0], [2, 1]]


@pytest.mark.parametrize("pointers", [(0, 0, 1024), (0, 512, 1536), (0, 1024, 2048)])
def test_arrays_that_are_read_may_overlap(launcher, pointers):
    assert launcher.prepare(arrays(*(BASE + p for p in pointers)))


@pytest.mark.parametrize(
    ("pointers", "text"),
    [
        ((0, 4096, 0), r"'C' and 'A': .* 1024 common bytes, 0x100000 to 0x1003ff; "),
        ((0, 4096, 1008), r"'C' and 'A': .* 16 common bytes, 0x1003f0 to 0x1003ff; "),
        ((4096, 512, 0), r"'C' and 'B': .* 512 common bytes, 0x100200 to 0x1003ff; "),
    ],
)
def test_an_array_that_is_written_overlaps_no_other(launcher, pointers, text):
    with pytest.raises(LaunchError, match=f"^arguments {text}") as error:
        launcher.prepare(arrays(*(BASE + p for p in pointers)))
    assert "because the kernel writes 'C'" in str(error.value)
    assert "allow it with tl.may_alias(C, " in str(error.value)


def test_a_plan_that_is_used_again_is_checked_again(launcher):
    plan = launcher.prepare(arrays(BASE, BASE, BASE + 1024))
    with pytest.raises(LaunchError, match="'C' and 'A'"):
        launcher.prepare(arrays(BASE, BASE + 4096, BASE))
    assert launcher.prepare(arrays(BASE, BASE, BASE + 1024)) is plan


def test_arrays_without_elements_overlap_nothing(launcher):
    empty = DeviceArray(BASE, (0,))
    assert launcher.prepare([empty, empty, DeviceArray(BASE)])
    assert launcher.prepare([DeviceArray(BASE), DeviceArray(BASE), empty])


def test_manifests_without_the_list_are_not_checked():
    manifest = _as_cuda(add.compile("sm_90a").manifest)
    for without in (
        {key: manifest[key] for key in manifest if key != "disjoint"},
        {**manifest, "disjoint": None},
    ):
        assert Launcher(without).prepare(arrays(BASE, BASE, BASE))


def test_may_alias_allows_its_two_arguments_only():
    launcher = Launcher(_as_cuda(add_in_place.compile("sm_90a").manifest))
    assert launcher.manifest["disjoint"] == [[2, 1]]
    assert launcher.prepare(arrays(BASE, BASE + 4096, BASE))
    with pytest.raises(LaunchError, match="'C' and 'B'"):
        launcher.prepare(arrays(BASE, BASE + 512, BASE))


def test_views_with_strides():
    @tilews.kernel
    def columns(
        A: tl.Tensor["64, 4", tl.f32, "8, 1"],
        C: tl.Tensor["64, 4", tl.f32, "8, 1"],
    ):
        tl.grid(1)
        C[0, 0] = tl.load(A) + 1.0

    launcher = Launcher(_as_cuda(columns.compile("sm_90a").manifest))

    def view(pointer):
        return DeviceArray(pointer, (64, 4), (32, 4))

    # The columns of one matrix: no common element, but a common range of bytes.
    with pytest.raises(LaunchError, match=r"'C' and 'A': .* found 2016 common bytes"):
        launcher.prepare([view(BASE), view(BASE + 16)])
    assert launcher.prepare([view(BASE), view(BASE + 63 * 32 + 16)])


def test_other_writes_count():
    @tilews.kernel
    def kernel(
        A: tl.Tensor["64", tl.f32],
        B: tl.Tensor["64", tl.f32],
        C: tl.Tensor["64", tl.f32],
        D: tl.Tensor["64", tl.f32],
        E: tl.Tensor["E", tl.f32],
    ):
        tl.grid(1)
        tl.atomic_add(tl.load(A), B)
        tl.copy(A, C)
        tl.store(1.0, D[tl.cdiv(E.shape[0], 64)])

    # E is not accessed: only its extent is used.
    pairs = [[1, 0], [1, 2], [1, 3], [2, 0], [2, 3], [3, 0]]
    for target in ("sm_90a", "sm_80", "gfx942"):
        assert kernel.compile(target).manifest["disjoint"] == pairs


class HostTensor:
    """An array that has DLPack only."""

    def __init__(self, array):
        self._array = array

    def __dlpack__(self, **options):
        return self._array.__dlpack__()

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()


@pytest.mark.parametrize("wrap", [lambda array: array, HostTensor])
def test_arrays_of_other_libraries(wrap):
    memory = np.zeros(512, np.float32)
    # An array of 16-byte alignment, wherever NumPy allocates.
    memory = memory[-memory.ctypes.data % 16 // 4 :]
    launcher = Launcher(_as_cuda(add.compile("sm_90a").manifest), "cpu")
    a, b, c = memory[:64], memory[64:128], memory[128:192]
    assert launcher.prepare([wrap(a), wrap(b), wrap(c)])
    with pytest.raises(LaunchError, match="'C' and 'B'"):
        launcher.prepare([wrap(a), wrap(memory[64:144]), wrap(c)])


def test_torch_tensors():
    torch = pytest.importorskip("torch")
    memory = torch.zeros(512)
    launcher = Launcher(_as_cuda(add.compile("sm_90a").manifest), "cpu")
    assert launcher.prepare([memory[:64], memory[:64], memory[64:128]])
    with pytest.raises(LaunchError, match="'C' and 'A'"):
        launcher.prepare([memory[:80], memory[128:256], memory[64:128]])


# --- the interpreter -------------------------------------------------------------


def test_a_call_on_the_cpu_is_checked():
    x, y = np.arange(64, dtype="f4"), np.zeros(64, "f4")
    add(x, x, y)
    np.testing.assert_array_equal(y, 2 * x)
    with pytest.raises(LaunchError, match=r"'C' and 'A': .* 256 common bytes"):
        add(x, y, x)
    add_in_place(x, y, x)
    np.testing.assert_array_equal(x, 3 * np.arange(64))
    with pytest.raises(LaunchError, match="'C' and 'B'"):
        add_in_place(x, y, y)


# --- spans -----------------------------------------------------------------------


@given(
    shape=st.lists(st.integers(0, 3), max_size=3),
    strides=st.lists(st.integers(-5, 5), min_size=3, max_size=3),
    itemsize=st.sampled_from([1, 4]),
)
def test_span_has_all_elements(shape, strides, itemsize):
    strides = [stride * itemsize for stride in strides[: len(shape)]]
    places = [0]
    for extent, stride in zip(shape, strides, strict=True):
        places = [place + i * stride for place in places for i in range(extent)]
    expected = (min(places), max(places) + itemsize) if places else (0, 0)
    assert byte_span(shape, strides, itemsize) == expected


@given(
    spans=st.lists(
        st.tuples(st.integers(-9, 0), st.integers(0, 9)), min_size=2, max_size=2
    ),
    addresses=st.lists(st.integers(0, 40), min_size=2, max_size=2),
)
def test_distances_are_those_of_overlaps(spans, addresses):
    placed = [
        (address + begin, address + end)
        for address, (begin, end) in zip(addresses, spans, strict=True)
    ]
    distance = addresses[0] - addresses[1]
    distances = find_distances([(0, 1)], spans)
    found = any(low < distance < high for *_, low, high in distances)
    assert found == bool(describe_overlap([(0, 1)], placed, ["A", "B"]))
