"""The interpreter on arrays of other libraries, in host memory."""

import array

import ml_dtypes
import numpy as np
import pytest

import tilews
import tilews.language as tl
from tilews.runtime import LaunchError


@tilews.kernel
def twice(X: tl.Tensor["M, N", "T", "s, t"], Y: tl.Tensor["M, N", "T"]):
    M, N = X.shape
    i, j = tl.grid(tl.cdiv(M, 8), tl.cdiv(N, 16))
    x = tl.load(X[i * 8, j * 16], (8, 16)).to(tl.f32)
    Y[i * 8, j * 16] = (x * 2.0).to(Y.dtype)


class Exchanged:
    """An array that has nothing but DLPack."""

    def __init__(self, array, device=1):
        self._array = array
        self._device = device
        self.dtype, self.shape = array.dtype, array.shape

    def __dlpack__(self, **options):
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._device, 0


def random(m=20, n=40):
    return np.random.default_rng(1).standard_normal((m, n)).astype(np.float32)


@pytest.mark.parametrize(
    "options",
    [{}, {"target": "cpu"}, {"backend": "cpu"}, {"backend": "cpu", "target": "cpu"}],
)
def test_arrays_with_dlpack(options):
    x, y = random(), np.zeros((20, 40), np.float32)
    twice(Exchanged(x), Exchanged(y), **options)
    np.testing.assert_array_equal(y, 2 * x)


def test_the_backend_says_what_runs_the_kernel():
    x, y = random(20, 41), np.zeros((20, 41), np.float32)
    assert twice.compile_for(x, y, backend="cpu") is twice.compile("cpu", T=tl.f32)
    assert twice.compile(backend="cpu", T=tl.f32).target == "cpu"
    with pytest.raises(TypeError, match=r"twice: expected backend='cpu', found 'cuda'"):
        twice(x, y, backend="cuda")
    with pytest.raises(TypeError, match="backend='cpu' and target='sm_90a'; give one"):
        twice.compile("sm_90a", backend="cpu", T=tl.f32)


class Interface:
    """An array that has nothing but NumPy's array interface."""

    def __init__(self, array):
        self.__array_interface__ = array.__array_interface__
        self._array = array


@pytest.mark.parametrize("run", [twice, twice.compile("cpu", T=tl.f32)])
def test_arrays_with_the_array_interface(run):
    x, y = random(), np.zeros((20, 40), np.float32)
    run(Interface(x), Interface(y))
    np.testing.assert_array_equal(y, 2 * x)


@tilews.kernel
def increment(X: tl.Tensor["N", "T"]):
    i = tl.grid(tl.cdiv(X.shape[0], 16)) * 16
    X[i] = tl.load(X[i], (16,)) + 1


def test_buffers_of_python():
    counts, data = array.array("i", range(20)), bytearray(range(20))
    for buffer in (counts, data, memoryview(data)[:10]):
        increment(buffer)
    assert [*counts] == [*range(1, 21)]
    assert [*data] == [*range(2, 12), *range(11, 21)]
    with pytest.raises(Exception, match="may be written, found a read-only one"):
        increment(bytes(20))


def test_elements_of_another_type_have_the_name_of_their_argument():
    @tilews.kernel
    def kernel(X: tl.Tensor["N", tl.f32], Y: tl.Tensor["N", tl.bf16]):
        Y[0] = tl.load(X[0], (16,)).to(tl.bf16)

    x = np.zeros(16, np.float32)
    with pytest.raises(
        LaunchError, match="'Y': expected elements of bf16, found float"
    ):
        kernel(x, x)


def test_lists_are_no_arrays():
    with pytest.raises(
        LaunchError, match=r"'X': expected an array .* found a builtins"
    ):
        increment.compile("cpu", T=tl.f32)([1.0, 2.0])


def test_strides():
    x, y = random(40, 20).T, np.zeros((20, 40), np.float32)
    twice(Exchanged(x), Exchanged(y))
    np.testing.assert_array_equal(y, 2 * x)


def test_empty_arrays():
    twice(Exchanged(random(0, 40)), Exchanged(random(0, 40)))


def test_arrays_on_a_gpu_are_not_interpreted():
    x = random()

    class OnDevice(Exchanged):
        @property
        def __cuda_array_interface__(self):
            data = (64, False)
            return {"shape": x.shape, "typestr": "<f4", "data": data, "version": 3}

    device = OnDevice(x, device=2)
    with pytest.raises(LaunchError, match=r"'X': the target 'cpu' takes .* on cuda:0"):
        twice(device, device, target="cpu")


def test_types_that_kernels_do_not_have():
    x = Exchanged(random().astype(np.complex64))
    with pytest.raises(Exception, match="arrays of complex64 are not supported"):
        twice(x, x)


@pytest.mark.parametrize(
    "name", ["float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2"]
)
def test_torch(name):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    x = torch.from_numpy(random()).to(getattr(torch, name))
    y = torch.zeros_like(x)
    twice(x, y)
    assert torch.equal(y.float(), (2 * x.float()).to(x.dtype).float())


def test_jax():
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    x = jax.numpy.asarray(random()).astype(jax.numpy.bfloat16)
    y = np.zeros(x.shape, ml_dtypes.bfloat16)
    twice(x, y)
    np.testing.assert_array_equal(y, 2 * np.asarray(x))
    with pytest.raises(Exception, match="may be written, found a read-only one"):
        twice(y, x)
