"""Compiling and calling kernels: specialisation, caching, checks of arguments."""

import importlib.util
import pathlib
import re

import ml_dtypes
import numpy as np
import pytest

import tilews
import tilews.language as tl
from tilews import sim
from tilews.runtime import LaunchError


@tilews.kernel
def scale(
    X: tl.Tensor["M, N", "T"],
    Y: tl.Tensor["M, N:4", "T"],
    a: tl.f32,
    BLOCK: tl.constexpr = 16,
):
    i, j = tl.grid(tl.cdiv(X.shape[0], BLOCK), tl.cdiv(X.shape[1], BLOCK))
    x = tl.load(X[i * BLOCK, j * BLOCK], (BLOCK, BLOCK))
    Y[i * BLOCK, j * BLOCK] = (x.to(tl.f32) * a).to(X.dtype)


def arrays(dtype=np.float32, shape=(20, 36)):
    x = np.random.default_rng(0).standard_normal(shape).astype(dtype)
    return x, np.zeros_like(x)


def compilations(kernel):
    return len(kernel._compiled)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("shape", [(20, 36), (1, 4), (16, 64), (33, 100)])
def test_element_types_and_shapes_come_from_the_arrays(dtype, shape):
    x, y = arrays(dtype, shape)
    scale(x, y, 0.5)
    np.testing.assert_array_equal(y, (x.astype(np.float32) * 0.5).astype(dtype))


def test_a_kernel_is_compiled_once_for_what_matters():
    kernel = tilews.kernel(scale.python)
    x, y = arrays()
    kernel(x, y, 2.0)
    kernel(x, y, 3.0)
    x2, y2 = arrays(shape=(7, 52))
    kernel(x2, y2, a=3.0)
    assert compilations(kernel) == 1
    kernel(x, y, 2.0, BLOCK=8)  # a constexpr parameter
    assert compilations(kernel) == 2
    kernel(x, y, 2.0, 8)  # the same
    assert compilations(kernel) == 2
    kernel(*arrays(shape=(7, 64)), 2.0)  # an extent that 16 divides
    assert compilations(kernel) == 3
    kernel(*arrays(np.float16), 2.0)
    assert compilations(kernel) == 4
    kernel(x, y, 2.0, N=36)  # a static extent
    assert compilations(kernel) == 5
    assert kernel.compile("cpu", T=tl.f32, N=36) is kernel.compile(
        "cpu", T=tl.f32, N=36
    )


def test_equal_constants_of_different_types_differ():
    @tilews.kernel
    def store(Y: tl.Tensor["N", "T"], value: tl.constexpr, T: tl.constexpr):
        x = value if tl.block_id() == 0 else value + 1
        Y[0] = x.to(T)

    for value, text in ((1, "index_cast"), (1.0, "truncf"), (1, "index_cast")):
        store(np.zeros(1, np.float16), value, tl.f16, grid=1)
        assert text in store.mlir(value=value, T=tl.f16)
    assert compilations(store) == 2


def test_divisors_of_a_call_are_in_the_kernel():
    kernel = tilews.kernel(scale.python)
    kernel(*arrays(shape=(7, 64)), 2.0)
    (compiled,) = kernel._compiled.values()
    assert compiled.mlir().count("tile.divisible = array<i64: 1, 16>") == 2


CALLS = {
    "one name, two extents": (
        lambda x, y: scale(x, y[:, :32], 1.0),
        "argument 'Y': dimension 1 has extent 32, but N is 36 in 'X'",
    ),
    "divisor": (
        lambda x, y: scale(x[:, :35].copy(), y[:, :35].copy(), 1.0),
        "argument 'Y': dimension 1 has extent 35, expected a multiple of 4",
    ),
    "rank": (
        lambda x, y: scale(x, y.ravel(), 1.0),
        "argument 'Y': expected 2 dimensions, found 1",
    ),
    "strides": (
        lambda x, y: scale(x, np.repeat(y, 2, axis=1)[:, ::2], 1.0),
        "argument 'Y': expected strides (36, 1) (in elements), found (72, 2)",
    ),
    "no array": (
        lambda x, y: scale(x, [1], 1.0),
        "argument 'Y': expected an array (NumPy, torch, CuPy, JAX",
    ),
    "stream": (
        lambda x, y: scale(x, y, 1.0, stream=3),
        "the target 'cpu' has no streams",
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_arguments_are_checked(name):
    call, message = CALLS[name]
    x, y = arrays()
    with pytest.raises(LaunchError) as caught:
        call(x, y)
    assert message in str(caught.value)
    assert not y.any()


def test_element_types_of_one_name_agree():
    x, y = arrays()
    with pytest.raises(tilews.KernelError, match="type f16, but T is f32 in 'X'"):
        scale(x, y.astype(np.float16), 1.0)


def test_errors_of_the_interpreter_begin_with_their_place():
    @tilews.kernel
    def fail(X: tl.Tensor["N", tl.i32]):
        tl.device_assert(tl.load(X[0]) > 0, "too small")

    with pytest.raises(sim.SimulationError, match="too small") as caught:
        fail(np.zeros(4, np.int32))
    assert re.match(rf"{re.escape(__file__)}:\d+:\d+: error: ", str(caught.value))


def test_missing_arguments():
    with pytest.raises(TypeError, match="scale: missing a required argument: 'a'"):
        scale(*arrays())


def test_the_grid_of_a_call():
    @tilews.kernel
    def count(X: tl.Tensor["N", tl.i32]):
        tl.atomic_add(1, X[tl.block_id()])

    x = np.zeros(6, np.int32)
    count(x, grid=(4,))
    assert x.tolist() == [1, 1, 1, 1, 0, 0]


def test_what_the_interpreter_does_not_have():
    compiled = scale.compile("cpu", T=tl.f32)
    with pytest.raises(tilews.CompileError, match="the target 'cpu' has no ptx"):
        _ = compiled.ptx
    with pytest.raises(tilews.CompileError, match="no IR of the phase 'target'"):
        compiled.mlir("target")


def test_unhashable_constants():
    wrong = "'BLOCK' has to be hashable, found a Python list"
    for make in (scale.build, scale.mlir, scale.compile):
        with pytest.raises(tilews.KernelError, match=wrong):
            make("cpu", T=tl.f32, BLOCK=[16])
    x = np.zeros(6, np.float32)
    with pytest.raises(tilews.KernelError, match="have to be hashable"):
        scale(x, x, 2.0, BLOCK=[16])


@pytest.mark.parametrize("chip", ["sm_80", "sm_90a", "gfx942", "gfx1100"])
def test_device_code(chip):
    compiled = scale.compile(chip, T=tl.f16)
    assert "scale" in compiled.asm
    assert compiled.manifest["kernel"] == "scale"
    assert [a["name"] for a in compiled.manifest["arguments"]] == ["X", "Y", "a"]
    assert "gpu.func @scale" in compiled.mlir("tile")


def test_the_kernel_of_the_documentation_runs(tmp_path):
    page = pathlib.Path(__file__).parents[3] / "docs/language.md"
    code = page.read_text().split("```python\n")[1].split("\n\n\ngemm(")[0]
    path = tmp_path / "documented.py"
    path.write_text(code)
    spec = importlib.util.spec_from_file_location("documented", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    random = np.random.default_rng(0)
    a = random.integers(-3, 4, (130, 72)).astype(np.float16)
    b = random.integers(-3, 4, (140, 72)).astype(np.float16)
    c = np.zeros((130, 140), np.float32)
    module.gemm(a, b, c)
    np.testing.assert_array_equal(c, np.maximum(a.astype(np.float32) @ b.T, 0))


@pytest.mark.parametrize("chip", ["sm_80", "sm_90a", "gfx942", "gfx1100"])
def test_reductions_to_scalars_are_lowered(chip):
    @tilews.kernel
    def total(X: tl.Tensor["M, N:8", tl.f32], Y: tl.Tensor["M", tl.f32]):
        row = tl.grid(X.shape[0])
        x = tl.load(X[row, 0], (1, 256))
        Y[row] = x.sum() if x.max() > 0.0 else 0.0

    compiled = total.compile(chip)
    assert "tensor.extract" in compiled.mlir("tile")
    assert "vector.extract" not in compiled.mlir("target")
    assert "total" in compiled.asm


def test_an_endless_loop_ends_with_an_error(monkeypatch):
    @tilews.kernel(threads=32)
    def endless(X: tl.Tensor["N", tl.i32]):
        tl.grid(1)
        i = tl.load(X[0])
        while i >= 0:
            i += 0

    monkeypatch.setenv("TILEWS_MAX_STEPS", "10000")
    with pytest.raises(sim.SimulationError, match=r"number 10000.*TILEWS_MAX"):
        endless(np.zeros(1, np.int32))
    monkeypatch.setenv("TILEWS_MAX_STEPS", "many")
    with pytest.raises(LaunchError, match=r"found 'many'"):
        endless(np.zeros(1, np.int32))
