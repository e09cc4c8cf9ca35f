"""Operators of torch that are made of kernels and of functions."""

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

import tilews  # noqa: E402
import tilews.language as tl  # noqa: E402
from tilews.torch import op  # noqa: E402

FakeTensorMode = torch._subclasses.fake_tensor.FakeTensorMode


@tilews.kernel
def scale_rows(
    X: tl.Tensor["M, N", "T"],
    Factors: tl.Tensor["M", tl.f32] | None,
    Y: tl.Tensor["M, N", "T"],
    Sums: tl.Tensor["M", tl.f32],
    factor: tl.f32 = 2.0,
    offset: tl.i32 = 0,
    BLOCK: tl.constexpr = 64,
):
    row = tl.grid(X.shape[0])
    x = tl.load(X[row, 0], (1, BLOCK)).to(tl.f32) * factor + tl.cdiv(offset, 1).to(
        tl.f32
    )
    if Factors is not None:
        x *= tl.load(Factors[row], (1,))
    Y[row, 0] = x.to(Y.dtype)
    Sums[row] = tl.sum(x, axis=1)


@tilews.kernel
def add_into(X: tl.Tensor["N", "T"], Y: tl.Tensor["N", "T"], BLOCK: tl.constexpr):
    i = tl.grid(tl.cdiv(X.shape[0], BLOCK)) * BLOCK
    X[i] = tl.load(X[i], (BLOCK,)) + tl.load(Y[i], (BLOCK,))


@tilews.kernel
def add(X: tl.Tensor["N", "T"], Y: tl.Tensor["N", "T"], Z: tl.Tensor["N", "T"]):
    i = tl.grid(tl.cdiv(X.shape[0], 256)) * 256
    Z[i] = tl.load(X[i], (256,)) + tl.load(Y[i], (256,))


def _scale_backward(grad, factor):
    return {"X": (grad[0] + grad[1][:, None]) * factor}


scale = op(
    "tilews_test::scale",
    scale_rows,
    outputs=["Y", "Sums"],
    backward=_scale_backward,
)
accumulate = op(
    "tilews_test::accumulate", add_into, mutates=["X"], constants={"BLOCK": 32}
)
plus = op(
    "tilews_test::plus",
    add,
    outputs=["Z"],
    backward=lambda grad: {"X": grad, "Y": grad},
    vmap=lambda info, dims, x, y: (
        plus(x.reshape(-1), y.reshape(-1)).reshape(x.shape),
        0,
    ),
)
plain = op("tilews_test::plain", add, outputs=["Z"])


@op("tilews_test::square_add", fake="x", backward=lambda grad, x: {"x": 2 * grad * x})
def square_add(x: torch.Tensor, *, bias: float, times: int = 1) -> torch.Tensor:
    z, square = torch.empty(x.numel(), dtype=x.dtype), x.reshape(-1) * x.reshape(-1)
    for _ in range(times):
        add(square, torch.full_like(z, bias), z)
        square = z.clone()
    return z.reshape(x.shape)


def rows(dtype=torch.float32, **options):
    generator = torch.Generator().manual_seed(5)
    return torch.randn(3, 40, generator=generator, dtype=dtype, **options)


def test_results_of_a_kernel():
    x = rows()
    y, sums = scale(x, None)
    assert torch.equal(y, 2 * x) and torch.allclose(sums, y.sum(1), atol=1e-4)
    factors = torch.tensor([1.0, 2.0, 4.0])
    y, _ = torch.ops.tilews_test.scale(x, factors, 0.5, offset=1)
    assert torch.allclose(y, (x * 0.5 + 1) * factors[:, None])
    y, sums = scale(rows(torch.float16), None)
    assert y.dtype == torch.float16 and sums.dtype == torch.float32


def test_schemas():
    assert str(scale._schema) == (
        "tilews_test::scale(Tensor X, Tensor? Factors, float factor=2., SymInt "
        "offset=0, SymInt BLOCK=64) -> (Tensor, Tensor)"
    )
    assert str(accumulate._schema) == (
        "tilews_test::accumulate(Tensor(a0!) X, Tensor Y) -> ()"
    )
    assert str(square_add._schema) == (
        "tilews_test::square_add(Tensor x, float bias, SymInt times=1) -> Tensor"
    )


CALLS = {
    "results of a kernel": (scale, lambda: (rows(requires_grad=True), None, 3.0)),
    "mutated argument": (accumulate, lambda: (rows()[0], rows()[1].clone())),
    "two inputs": (plus, lambda: tuple(rows(requires_grad=True)[:2].unbind())),
    "function": (square_add, lambda: (rows(requires_grad=True), 0.5, 2)),
}


@pytest.mark.parametrize("what", CALLS)
def test_torch_accepts_the_operator(what):
    """Its schema, its fake, and what torch.compile makes of it are right."""
    made, arguments = CALLS[what]
    torch.library.opcheck(made, arguments())


def test_torch_finds_a_change_that_is_not_declared():
    wrong = op("tilews_test::undeclared", scale_rows, outputs=["Y"])
    with pytest.raises(Exception, match="Sums is not defined as mutable"):
        torch.library.opcheck(wrong, (rows(), None, torch.zeros(3)))


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("what", CALLS)
def test_compiled(what, dynamic):
    made, arguments = CALLS[what]

    def run(*args):
        result = made(*args)
        return args[0].sin() if result is None else result

    compiled = torch.compile(run, fullgraph=True, dynamic=dynamic, backend="aot_eager")
    expected = run(*arguments())
    found = compiled(*arguments())
    torch.testing.assert_close(found, expected)


def test_exported():
    class Model(torch.nn.Module):
        def forward(self, x):
            y, sums = scale(x, None)
            return y + sums[:, None]

    batch = torch.export.Dim("batch", min=2, max=64)
    exported = torch.export.export(Model(), (rows(),), dynamic_shapes={"x": {0: batch}})
    names = [str(node.target) for node in exported.graph.nodes]
    assert "tilews_test.scale.default" in names
    x = torch.cat([rows(), rows()])
    torch.testing.assert_close(exported.module()(x), Model()(x))


def test_fake_tensors_compile_nothing(monkeypatch):
    def refuse(*args, **options):
        raise AssertionError("a kernel was called")

    monkeypatch.setattr(type(scale_rows), "_call_anew", refuse)
    with FakeTensorMode():
        x = torch.empty(5, 40, dtype=torch.bfloat16, device="cuda")
        y, sums = scale(x, None)
        assert y.shape == (5, 40) and y.dtype == torch.bfloat16
        assert sums.shape == (5,) and sums.dtype == torch.float32
        assert y.device == sums.device == x.device
        row = torch.empty(40, dtype=torch.bfloat16, device="cuda")
        assert accumulate(row, row.new_empty(40)) is None
        assert square_add(x, 1.0).shape == x.shape
    y, _ = scale(torch.empty(7, 40, device="meta"), None)
    assert y.shape == (7, 40) and y.device.type == "meta"


def test_gradients():
    x = rows(requires_grad=True)
    y, sums = scale(x, None, 3.0)
    (y * y.detach() + sums[:, None]).sum().backward()
    torch.testing.assert_close(x.grad, 3 * (3 * x.detach() + 40))
    x = rows(torch.float64, requires_grad=True)[:, :4]
    assert torch.autograd.gradcheck(lambda x: square_add(x, 0.0), x)


def test_a_changed_argument_is_known_to_autograd():
    x, y = rows()[0].clone(), rows()[1].clone()
    weight = torch.ones(40, requires_grad=True)
    product = weight * x
    accumulate(x, y)
    assert torch.equal(x, rows()[0] + rows()[1])
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.sum().backward()


def test_without_a_rule_there_is_no_gradient():
    x = rows()[0].clone().requires_grad_()
    with torch.no_grad():
        plain(x, x)
    y = plain(x, x)
    with pytest.raises(RuntimeError, match="tilews_test::plain has no backward rule"):
        y.sum().backward()


def test_an_argument_without_a_gradient():
    x, factors = rows(), torch.ones(3, requires_grad=True)
    y, _ = scale(x, factors)
    with pytest.raises(RuntimeError, match="has no gradient for 'Factors': detach"):
        y.sum().backward()


def test_vmap():
    x, y = rows(), rows() + 1
    torch.testing.assert_close(torch.vmap(plus)(x, y), x + y)


def test_an_argument_is_no_result():
    @op("tilews_test::identity", fake="x")
    def identity(x: torch.Tensor) -> torch.Tensor:
        return x

    with pytest.raises(RuntimeError, match=r"expected new tensors .* its clone\(\)"):
        identity(rows())


@tilews.kernel
def odd(
    X: tl.Tensor["N", "T"],
    Y: tl.Tensor["K", "T"],
    F: tl.constexpr,
    Z: tl.Tensor["N", "U"],
):
    tl.grid(1)


def _of(**options):
    options.setdefault("constants", {"F": 1})
    return lambda: op("tilews_test::odd", odd, **options)


def _variadic(*x: torch.Tensor) -> torch.Tensor:
    return x[0]


def _unary(x: torch.Tensor) -> torch.Tensor:
    return x


ERRORS = {
    "expected the name of an operator such as 'mylib::scale', found 'scale'": (
        lambda: op("scale", add)
    ),
    "the operator tilews_test::plus exists already": (
        lambda: op("tilews_test::plus", add, outputs=["Z"])
    ),
    "no argument tells 'K' of the output 'Y'": _of(outputs=["Y"]),
    "no argument tells 'U' of the output 'Z'": _of(outputs=["Z"]),
    "outputs= names 'Q', expected tensors of the kernel: X, Y, Z": _of(outputs=["Q"]),
    "outputs= is a list of names, found 'Y'": _of(outputs="Y"),
    "'Y' is in outputs= and in mutates=": _of(
        outputs={"Y": lambda *_: None}, mutates=["Y"]
    ),
    "constants= names 'G', expected parameters": _of(constants={"G": 1}),
    "the parameter 'F' of the kernel is no tensor": _of(constants={}),
    "fake= is for functions, found a kernel": _of(fake="X"),
    "backward= asks for 'W', expected one of X, Z, result": _of(
        outputs={"Y": lambda *_: None}, backward=lambda grad, W: {}
    ),
    "expected an operator that returns or changes a tensor": _of(),
    "an operator that changes arguments has no backward=": _of(
        mutates=["X"], backward=lambda grad: {}
    ),
    "outputs= and constants= are for kernels": (
        lambda: op("tilews_test::odd", _unary, outputs=["x"])
    ),
    r"an operator cannot take \*x": lambda: op("tilews_test::odd", _variadic),
    "torch.compile asks for the shapes of results; give fake=": (
        lambda: op("tilews_test::odd", _unary)
    ),
    "expected a name of x, found 'y'": (
        lambda: op("tilews_test::odd", _unary, fake="y")
    ),
}


@pytest.mark.parametrize("message", ERRORS)
def test_wrong_operators(message):
    with pytest.raises((TypeError, ValueError), match=message):
        ERRORS[message]()


@tilews.kernel
def fill(
    N: tl.Tensor["8", tl.i32],
    Y: tl.Tensor["K, L", "U"],
    Z: tl.Tensor["2", tl.i4],
    K: tl.i32,
    L: tl.constexpr,
    U: tl.constexpr,
    *,
    how: tl.constexpr = "a 'text'",
):
    i = tl.grid(K)
    Y[i, 0] = tl.full((1, L), 3, U)


def test_numbers_and_constants_tell_shapes_and_types():
    made = op(
        "tilews_test::fill",
        fill,
        outputs={"Y": None, "Z": lambda *_: torch.zeros(1, dtype=torch.uint8)},
        constants={"L": 4, "U": tl.f16},
    )
    y, _ = made(torch.zeros(8, dtype=torch.int32), 3)
    assert torch.equal(y, torch.full((3, 4), 3.0, dtype=torch.float16))
    with pytest.raises(TypeError, match="no argument tells 'i4' of the output 'Z'"):
        op("tilews_test::odd", fill, outputs=["Z"], constants={"L": 4, "U": tl.f16})


def test_wrong_arguments():
    with pytest.raises(RuntimeError, match="'X': expected 2 dimensions, found 1"):
        scale(torch.ones(4), None)
    wrong = op("tilews_test::wrong", add, outputs=["Z"], backward=lambda g: {"W": g})
    x = torch.ones(4, requires_grad=True)
    with pytest.raises(RuntimeError, match="returns a gradient of 'W', expected"):
        wrong(x, x).sum().backward()
