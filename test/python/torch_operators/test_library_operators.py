"""The operations of tilews.kernels as operators: fakes, results and gradients."""

import os
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

import tilews.torch  # noqa: E402, F401
from tilews import kernels  # noqa: E402

ops = torch.ops.tilews
F = torch.nn.functional


def make(*shape, dtype=torch.float32, seed=0, grad=False):
    generator = torch.Generator().manual_seed(seed + len(shape))
    made = torch.randn(shape, generator=generator).to(dtype)
    return made.requires_grad_(grad)


def integers(*values, dtype=torch.int32):
    return torch.tensor(values, dtype=dtype)


#: Operators with a backward rule: arguments, and the same by torch.
WITH_RULE = {
    "rms_norm": (
        lambda: (make(2, 3, 48, grad=True), make(48, seed=1, grad=True), 1e-3),
        lambda x, w, eps: x * torch.rsqrt((x * x).mean(-1, keepdim=True) + eps) * w,
    ),
    "rms_norm of a sum": (
        lambda: (make(3, 48, grad=True), None, 1e-3, make(3, 48, seed=2, grad=True)),
        lambda x, _, eps, r: F.rms_norm(x + r, (48,), None, eps),
    ),
    "layer_norm": (
        lambda: (
            make(3, 48, grad=True),
            make(48, seed=1, grad=True),
            make(48, seed=2, grad=True),
            1e-3,
            make(3, 48, seed=3, grad=True),
        ),
        lambda x, w, b, eps, r: F.layer_norm(x + r, (48,), w, b, eps),
    ),
    "softmax": (
        lambda: (make(3, 50, grad=True), 0.5),
        lambda x, scale: torch.softmax(x * scale, -1),
    ),
    "silu_and_mul": (
        lambda: (make(3, 2, 64, grad=True),),
        lambda x: F.silu(x[..., :32]) * x[..., 32:],
    ),
    "rope": (
        lambda: (
            make(1, 4, 2, 16, grad=True),
            make(5, 6),
            make(5, 6, seed=1),
            integers([3, 0, 4, 1]),
        ),
        lambda x, cos, sin, at: torch.cat(
            [
                x[..., :6] * cos[at][:, :, None] - x[..., 6:12] * sin[at][:, :, None],
                x[..., 6:12] * cos[at][:, :, None] + x[..., :6] * sin[at][:, :, None],
                x[..., 12:],
            ],
            -1,
        ),
    ),
    "cumsum": (
        lambda: (make(3, 40, grad=True), True, True),
        lambda x, *_: x.flip(-1).cumsum(-1).flip(-1) - x,
    ),
    "cross_entropy": (
        lambda: (make(4, 30, grad=True), integers(3, -100, 29, 0), -100, 0.1),
        lambda x, t, i, s: F.cross_entropy(
            x, t.long(), ignore_index=i, label_smoothing=s, reduction="none"
        ),
    ),
    "top_k": (
        lambda: (make(3, 40, grad=True), 5),
        lambda x, k: tuple(x.topk(k, -1)),
    ),
    "matmul": (
        lambda: (
            make(2, 20, 24, grad=True),
            make(24, 16, seed=1, grad=True),
            False,
            False,
            0.5,
            None,
            None,
            make(16, grad=True),
            None,
            make(2, 20, 16, seed=2, grad=True),
            False,
        ),
        lambda a, b, *o: a @ b * 0.5 + o[5] + o[7],
    ),
    "matmul of transposed operands": (
        lambda: (
            make(2, 24, 20, grad=True),
            make(2, 16, 24, seed=1, grad=True),
            True,
            True,
        ),
        lambda a, b, *_: a.mT @ b.mT,
    ),
}
#: Operators without one, and the results of the functions.
OTHERS = {
    "gelu_and_mul": (
        lambda: (make(3, 64), True),
        lambda x, a: kernels.gelu_and_mul(x, approximate=a),
    ),
    "gated": (
        lambda: (make(3, 64), "relu"),
        lambda x, a: kernels.gated(x, activation=a),
    ),
    "dropout": (lambda: (make(3, 64), 0.5, 7), kernels.dropout),
    "argmax": (lambda: (make(2, 3, 40),), kernels.argmax),
    "cast_to_fp8": (
        lambda: (make(3, 80), 32, torch.float8_e5m2),
        lambda x, g, d: kernels.cast_to_fp8(x, group=g, dtype=d),
    ),
    "matmul of bytes": (
        lambda: tuple(
            torch.arange(256, dtype=torch.int8).reshape(16, 16) for _ in range(2)
        ),
        kernels.matmul,
    ),
    "grouped_matmul": (
        lambda: (
            make(6, 32, dtype=torch.float16),
            make(2, 32, 16, dtype=torch.float16),
            integers(0, 2, 4),
            integers(5, 0, 3, 1),
        ),
        lambda a, b, starts, rows: kernels.grouped_matmul(a, b, starts, rows=rows),
    ),
    "attention": (
        lambda: tuple(
            make(1, 5, heads, 16, dtype=torch.float16, seed=heads)
            for heads in (2, 1, 1)
        ),
        kernels.attention,
    ),
    "decode_attention": (
        lambda: (
            make(2, 1, 2, 16, dtype=torch.float16),
            *(make(2, 8, 1, 16, dtype=torch.float16, seed=s) for s in (1, 2)),
            integers(3, 8),
        ),
        kernels.decode_attention,
    ),
    "mla_decode": (
        lambda: (
            make(2, 1, 2, 80, dtype=torch.float16),
            make(2, 8, 80, dtype=torch.float16, seed=1),
            integers(3, 8),
            None,
            None,
            64,
        ),
        lambda q, cache, lengths, *_: kernels.mla_decode(q, cache, lengths, rank=64),
    ),
    "scaled_matmul": (
        lambda: (
            make(4, 256).to(torch.float8_e4m3fn),
            make(16, 256, seed=1).to(torch.float8_e4m3fn),
            make(4, 2).abs(),
            make(1, 2, seed=1).abs(),
        ),
        kernels.scaled_matmul,
    ),
    "sort_by_expert": (
        lambda: (integers([2, 0], [0, 3], [2, -1]), 4),
        kernels.sort_by_expert,
    ),
    "combine_rows": (
        lambda: (make(5, 32), integers([0, 1], [4, -1]), make(2, 2, seed=1)),
        kernels.combine_rows,
    ),
    "moe": (
        lambda: (
            make(3, 32, dtype=torch.float16),
            integers([1, 0], [0, -1], [1, 1]),
            make(3, 2),
            make(2, 64, 32, dtype=torch.float16, seed=1),
            make(2, 32, 32, dtype=torch.float16, seed=2),
        ),
        kernels.moe,
    ),
}
CASES = {**WITH_RULE, **OTHERS}


def operator(name):
    return getattr(ops, name.partition(" ")[0]).default


def gradients(function, args):
    """The gradients of the arguments that need one, for gradients of the results."""
    result = function(*args)
    first = result[0] if isinstance(result, tuple) else result
    leaves = [x for x in args if torch.is_tensor(x) and x.requires_grad]
    generator = torch.Generator().manual_seed(3)
    grad = torch.randn(first.shape, generator=generator)
    return result, torch.autograd.grad(first, leaves, grad)


@pytest.mark.parametrize("name", WITH_RULE)
def test_results_and_gradients(name):
    arguments, by_torch = WITH_RULE[name]
    found, found_grads = gradients(operator(name), arguments())
    expected, expected_grads = gradients(by_torch, arguments())
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4, check_dtype=False)
    torch.testing.assert_close(found_grads, expected_grads, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", OTHERS)
def test_results(name):
    arguments, function = OTHERS[name]
    found, expected = operator(name)(*arguments()), function(*arguments())
    torch.testing.assert_close(found, expected, rtol=0, atol=0)


@pytest.mark.parametrize("name", CASES)
def test_torch_accepts_the_operator(name):
    torch.library.opcheck(operator(name), CASES[name][0]())


@pytest.mark.parametrize("name", ["rms_norm", "softmax", "matmul", "attention"])
def test_compiled_for_all_sizes(name):
    made, arguments = operator(name), CASES[name][0]()
    compiled = torch.compile(made, fullgraph=True, dynamic=True, backend="aot_eager")
    for _ in range(2):
        torch.testing.assert_close(compiled(*arguments), made(*arguments))
        arguments = tuple(
            torch.cat([x.detach(), x.detach()])
            if torch.is_tensor(x) and x.dim() > 2
            else x
            for x in arguments
        )


def test_all_operations_are_operators():
    names = {name for name in kernels.__all__ if name != "Operation"}
    assert all(hasattr(ops, name) for name in names)


def test_the_residual_becomes_the_sum():
    x, residual, weight = make(3, 48), make(3, 48, seed=1), make(48, seed=2)
    both = x + residual
    expected = F.rms_norm(both, (48,), weight, 1e-6)
    args = x, residual, weight
    torch.library.opcheck(ops.add_rms_norm_.default, args)
    torch.testing.assert_close(ops.add_rms_norm_(*args), expected)
    torch.testing.assert_close(residual, both)


def test_dropout_drops_the_same_gradients():
    x = torch.ones(4, 64, requires_grad=True)
    y = ops.dropout(x, 0.25, 11)
    y.sum().backward()
    assert torch.equal(x.grad, y.detach()) and 0 < (y == 0).sum() < y.numel()


@pytest.mark.parametrize(
    "call, message",
    [
        (
            lambda x: ops.attention(x, x, x),
            "tilews::attention has no backward rule: call it under torch.no_grad",
        ),
        (lambda x: ops.gated(x), "tilews::gated has no backward rule"),
        (
            lambda x: ops.matmul(x[0, 0], x[0, 0], activation="relu"),
            "tilews::matmul has no backward rule with an activation",
        ),
    ],
)
def test_without_a_rule_there_is_no_gradient(call, message):
    x = make(1, 1, 16, 16, dtype=torch.float16).reshape(1, 1, 16, 16).requires_grad_()
    with pytest.raises(RuntimeError, match=message):
        call(x).sum().backward()


def test_angles_have_no_gradient():
    x, cos, sin = make(1, 4, 2, 16), make(4, 8, grad=True), make(4, 8)
    with pytest.raises(RuntimeError, match="tilews::rope has no gradient for 'cos'"):
        ops.rope(x, cos, sin).sum().backward()


def test_operators_load_kernels_with_the_first_call():
    code = """
import sys, torch, tilews
assert "tilews.torch" not in sys.modules
assert tilews.torch.op
assert torch.ops.tilews.softmax
assert "tilews.kernels.rows" not in sys.modules
assert "tilews.language.values" not in sys.modules
torch.ops.tilews.softmax(torch.ones(2, 8))
assert "tilews.kernels.rows" in sys.modules
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)
