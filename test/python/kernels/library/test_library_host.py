"""Checks of arguments, results like the input's, kernels that are public."""

import importlib
import pickle
import sys
import types
from pathlib import Path

import numpy as np
import pytest

import tilews.language as tl
from support import doc_examples
from tilews import kernels
from tilews.kernels import host
from tilews.runtime import LaunchError

DOCS = Path(__file__).parents[4] / "docs"
NAMES = sorted(set(kernels.__all__) - {"Operation"})
X = np.ones((2, 8), np.float32)


@pytest.fixture
def reference(monkeypatch):
    monkeypatch.syspath_prepend(DOCS)
    return importlib.import_module("reference")


@pytest.mark.parametrize("name", NAMES)
def test_example_and_docstring(name, reference, tmp_path):
    operation = getattr(kernels, name)
    parts = reference.sections(operation)
    named = [entry for entry, _ in reference.entries(parts["Args"])]
    function = operation.__wrapped__
    code = function.__code__
    count = code.co_argcount + code.co_kwonlyargcount
    assert {*named} == {*code.co_varnames[:count], "launch"}
    assert "LaunchError" in parts["Raises"] and "Returns" in parts
    code = f"from tilews import kernels\n{parts['Example']}"
    assert f"kernels.{name}(" in code
    doc_examples.run_program(code, tmp_path / "example.py")


def test_page_is_up_to_date(monkeypatch):
    monkeypatch.syspath_prepend(DOCS)
    page = importlib.import_module("library").render()
    found = (DOCS / "kernels.md").read_text()
    assert found == page, "docs/kernels.md is out of date: run `make docs`"
    for name in NAMES:
        assert f"\n## kernels.{name}\n" in page


@pytest.mark.parametrize("name", NAMES)
def test_operations_are_public_with_their_kernels(name):
    operation = getattr(kernels, name)
    assert operation.kernel.is_tilews_kernel
    assert pickle.loads(pickle.dumps(operation)) is operation
    assert repr(operation) == f"<tilews operation {name}>"
    assert operation.__doc__ == operation.__wrapped__.__doc__


def test_a_kernel_is_compiled_ahead_of_time():
    compiled = kernels.softmax.kernel.compile("gfx942", T=tl.bf16, ROWS=4, COLUMNS=512)
    assert "softmax_rows" in compiled.asm


@pytest.mark.parametrize(
    "call, message",
    [
        (
            lambda: kernels.softmax([1.0]),
            "softmax: 'x': expected an array of torch, CuPy, JAX or numpy, found a "
            "list",
        ),
        (
            lambda: kernels.softmax(X.astype(np.int32)),
            "softmax: 'x': expected one of f16, bf16, f32, found i32",
        ),
        (
            lambda: kernels.softmax(X.astype(np.complex64)),
            "softmax: 'x': expected one of f16, bf16, f32, found complex64",
        ),
        (
            lambda: kernels.softmax(np.float32(1)),
            r"softmax: 'x': expected shape (..., N), found ()",
        ),
        (
            lambda: kernels.softmax(X.T),
            "softmax: 'x': expected a row-major array, found another order of "
            "elements; pass a contiguous copy",
        ),
        (
            lambda: kernels.softmax(X, out=np.ones((8, 2), np.float32)),
            "softmax: 'out': expected shape (2, 8), found (8, 2)",
        ),
        (
            lambda: kernels.softmax(X, out=X.astype(np.float16)),
            "softmax: 'out': expected one of f32, found f16",
        ),
        (
            lambda: kernels.rms_norm(X, X[0, :4]),
            "rms_norm: 'weight': expected shape (8), found (4,)",
        ),
        (
            lambda: kernels.layer_norm(X, residual=X.astype(np.float16)),
            "layer_norm: 'residual': expected one of f32, found f16",
        ),
        (
            lambda: kernels.layer_norm(X, update_residual=True),
            "layer_norm: 'update_residual': there is no residual; pass residual=",
        ),
        (
            lambda: kernels.rms_norm(X, out_dtype=np.int8),
            "rms_norm: 'out_dtype': expected one of f16, bf16, f32, e4m3, e5m2, found "
            "i8",
        ),
        (
            lambda: kernels.rms_norm(X, out_dtype="half"),
            "rms_norm: 'out_dtype': expected one of f16, bf16, f32, e4m3, e5m2 of "
            "tilews.language, found the text 'half'",
        ),
        (
            lambda: kernels.rms_norm(np.ones((1, 40000), np.float16)),
            "rms_norm: expected rows of at most 32768 elements, found 40000",
        ),
        (
            lambda: kernels.gated(X[:, :7].copy()),
            "gated: 'x': expected an even number of columns, found 7",
        ),
        (
            lambda: kernels.gated(X, activation="swish"),
            "gated: 'activation': expected one of 'silu', 'gelu', 'gelu_tanh', 'relu', "
            "found 'swish'",
        ),
        (
            lambda: kernels.rope(X, X, X),
            "rope: 'x': expected shape (..., S, H, D), found (2, 8)",
        ),
        (
            lambda: kernels.rope(X.reshape(2, 2, 4), X, X),
            "rope: 'cos': expected 1 to 2 columns, half the elements of a head or "
            "less, found 8",
        ),
        (
            lambda: kernels.rope(X.reshape(4, 2, 2), X[:, :1].copy(), X[:, :1].copy()),
            "rope: 'cos': expected a row for each of 4 tokens, found 2",
        ),
        (
            lambda: kernels.cast_to_fp8(X, group=100),
            "cast_to_fp8: 'group': expected a power of two from 32 to 2048, found 100",
        ),
        (
            lambda: kernels.cross_entropy(X, np.zeros(3, np.int32)),
            "cross_entropy: 'targets': expected shape (2), found (3,)",
        ),
        (
            lambda: kernels.cross_entropy(X, np.zeros(2, int), label_smoothing=2),
            "cross_entropy: 'label_smoothing': expected a number from 0 to 1, found 2",
        ),
        (
            lambda: kernels.argmax(X[:, :0].copy()),
            "argmax: 'x': expected rows of at least 1 element, found 0",
        ),
        (
            lambda: kernels.top_k(X, 9),
            "top_k: 'k': expected an integer, from 1 to 8, found 9",
        ),
        (
            lambda: kernels.dropout(X, float("nan"), 0),
            "dropout: 'p': expected a number from 0 to 1, found nan",
        ),
    ],
)
def test_wrong_arguments(call, message):
    with pytest.raises(LaunchError) as error:
        call()
    assert str(error.value) == message


# --- Libraries ------------------------------------------------------------------------


class ForeignArray:
    """An array of a library that is not installed, on a GPU."""

    def __init__(self, shape, dtype, device):
        self.shape, self.dtype, self.device = shape, dtype, device

    def __dlpack_device__(self):
        return (2, 0)


class ForeignDevice:
    """A device of CuPy, which is entered."""

    entered = 0

    def __enter__(self):
        self.entered += 1

    def __exit__(self, *error):
        pass


def fake_library(monkeypatch, name, **names):
    """A module, and the class of its arrays."""
    module = types.ModuleType(name)
    vars(module).update(names)
    monkeypatch.setitem(sys.modules, name, module)
    return type("Array", (ForeignArray,), {"__module__": name})


def test_results_of_torch(monkeypatch):
    device = types.SimpleNamespace(type="cuda")
    array = fake_library(
        monkeypatch,
        "torch",
        float8_e4m3fn="torch.float8_e4m3fn",
        empty=lambda shape, dtype, device: (shape, dtype, device),
    )
    like = array((2,), "torch.float32", device)
    found = host.result("f", None, like, [3, 4], tl.e4m3)
    assert found == ((3, 4), "torch.float8_e4m3fn", device)


def test_results_of_cupy(monkeypatch):
    device = ForeignDevice()
    array = fake_library(monkeypatch, "cupy", empty=lambda shape, dtype: (shape, dtype))
    like = array((2,), "float32", device)
    assert host.result("f", None, like, [3], tl.i32) == ((3,), np.dtype(np.int32))
    assert device.entered == 1


def test_results_of_jax(monkeypatch):
    numpy = types.SimpleNamespace(
        empty=lambda shape, dtype, device: (shape, dtype, device)
    )
    array = fake_library(monkeypatch, "jax", numpy=numpy)
    like = array((2,), "float32", "gpu:0")
    found = host.result("f", None, like, [3], tl.f32)
    assert found == ((3,), np.dtype(np.float32), "gpu:0")


def test_results_of_unknown_libraries():
    like = ForeignArray((2,), "float32", None)
    message = f"f: cannot allocate a result like a {__name__}.ForeignArray; pass out="
    with pytest.raises(LaunchError, match=message):
        host.result("f", None, like, [3], tl.f32)


def test_arrays_of_torch_in_host_memory():
    torch = pytest.importorskip("torch")
    y = kernels.softmax(torch.zeros(2, 3, 4, dtype=torch.bfloat16))
    assert y.dtype == torch.bfloat16 and (y == 0.25).all()
    with pytest.raises(LaunchError, match="expected a row-major array"):
        kernels.softmax(torch.zeros(4, 4).T)


@pytest.mark.parametrize(
    "target, limit", [("gfx942", 240), ("gfx950", 448), (None, 448)]
)
def test_fp8_types(target, limit):
    assert host.largest(host.fp8_type(tl.e4m3, X, target)) == limit
    assert host.fp8_type(tl.f16, X, target) == tl.f16


def call_decode(**options):
    q, k = np.ones((1, 1, 2, 16), np.float16), np.ones((1, 8, 1, 16), np.float16)
    return kernels.decode_attention(q, k, k, np.array([8], np.int32), **options)


@pytest.mark.parametrize("value", ["x", 10**400, None, 1j, np.ones(2), 1e-46, -1.0, 0])
@pytest.mark.parametrize(
    "call",
    [
        lambda value: kernels.softmax(X, scale=value),
        lambda value: call_decode(scale=value),
        lambda value: call_decode(soft_cap=value),
    ],
)
def test_factors_are_positive_numbers_of_f32(call, value):
    if value is None and call.__code__.co_names[0] == "call_decode":
        value = np.nan  # None is the default.
    with pytest.raises(LaunchError, match="': expected a number above 0 in f32, found"):
        call(value)


@pytest.mark.parametrize("value", ["x", 10**400, None, 1j, np.ones(2)])
def test_numbers(value):
    a = np.ones((16, 16), np.float16)
    starts = np.array([0, 16], np.int32)
    for name, call in {
        "scale": lambda: kernels.matmul(a, a, scale=value),
        "grouped": lambda: kernels.grouped_matmul(a, a[None], starts, scale=value),
        "eps": lambda: kernels.layer_norm(X, eps=value),
        "p": lambda: kernels.dropout(X, value, seed=1),
    }.items():
        name = "scale" if name == "grouped" else name
        with pytest.raises(LaunchError, match=f"'{name}': expected a number"):
            call()


@pytest.mark.parametrize("value", ["x", -1, 1.5, 1j, np.ones(2)])
def test_integers(value):
    for name, call in {
        "longest": lambda: call_decode(longest=value),
        "window": lambda: call_decode(window=value),
        "k": lambda: kernels.top_k(X, value),
        "group": lambda: kernels.cast_to_fp8(X, group=value),
    }.items():
        with pytest.raises(LaunchError, match=f"'{name}': expected an integer"):
            call()


def test_results_are_writable():
    out = np.zeros_like(X)
    out.setflags(write=False)
    with pytest.raises(LaunchError, match="'out': expected an array to write"):
        kernels.softmax(X, out=out)


@pytest.mark.parametrize("option", ["grid", "threads", "zzz"])
def test_unknown_arguments(option):
    with pytest.raises(LaunchError, match=f"softmax: unknown argument '{option}'; of"):
        kernels.softmax(X, **{option: 64})


@pytest.mark.parametrize("target", [None, "gfx942"])
@pytest.mark.parametrize("paged", [False, True])
def test_lengths_beyond_the_cache_count_as_its_room(paged, target):
    random = np.random.default_rng(0)
    q = random.standard_normal((1, 1, 2, 16)).astype(np.float16)
    k = random.standard_normal((1, 8, 1, 16)).astype(np.float16)
    table = np.array([[1, 0]], np.int32) if paged else None
    k = k.reshape(2, 4, 1, 16) if paged else k
    launch = {"target": target, "run": "sim"} if target else {}

    def call(length):
        lengths = np.array([length], np.int32)
        return kernels.decode_attention(q, k, k, lengths, table=table, **launch)

    np.testing.assert_array_equal(call(2**31 - 1), call(8))
