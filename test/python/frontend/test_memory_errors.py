"""Memory in place of a value. Python itself would take it as true, or unequal."""

import operator

import numpy as np
import pytest

import tilews
import tilews.language as tl
from support.kernel_errors import check


def test_a_guard_does_not_vanish():
    def kernel(mask: tl.Tensor["T", tl.i32], C: tl.Tensor["64", tl.f32], k: tl.i32):
        tl.grid(1)
        if mask[k] != 0:  # HERE
            C[0] = tl.full((64,), 1.0, tl.f32)

    message = "'!=': a region of the global buffer mask is memory, not a value"
    check(kernel, message, "compare an element after tl.load(mask[i])")


_BINARY = {
    **{"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv},
    **{"//": operator.floordiv, "%": operator.mod, "**": operator.pow},
    **{"&": operator.and_, "|": operator.or_, "^": operator.xor},
    **{"<<": operator.lshift, ">>": operator.rshift, "@": operator.matmul},
    **{"==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le},
    **{">": operator.gt, ">=": operator.ge, "divmod": divmod},
}
_OPERANDS = {
    "number": lambda A, n, x: 0,
    "numpy's number": lambda A, n, x: np.int32(0),
    "none": lambda A, n, x: None,
    "list": lambda A, n, x: [0],
    "tuple": lambda A, n, x: (0,),
    "buffer": lambda A, n, x: A,
    "element": lambda A, n, x: A[1],
    "scalar": lambda A, n, x: n,
    "fragment": lambda A, n, x: x,
}
_MEMORY = {
    "element": lambda A, S: A[0],
    "part": lambda A, S: A[0:8],
    "buffer": lambda A, S: A,
    "shared": lambda A, S: S,
    "part of shared": lambda A, S: S[0:8],
}


def error_of(compute):
    """The error of a computation with memory in a Python function."""

    def kernel(A: tl.Tensor["M", tl.i32], n: tl.i32):
        S = tl.alloc_shared((8,), tl.i32)
        x = tl.zeros((8,), tl.i32)
        compute(A, S, n, x)

    with pytest.raises(tilews.KernelError) as caught:
        tilews.kernel(kernel).mlir()
    assert caught.value.filename == __file__
    assert "Error:" not in caught.value.message
    assert caught.value.hint is not None
    return caught.value


@pytest.mark.parametrize("other", _OPERANDS)
@pytest.mark.parametrize("memory", _MEMORY)
def test_binary_operators(memory, other):
    place, value = _MEMORY[memory], _OPERANDS[other]
    for apply in _BINARY.values():
        for swapped in (False, True):

            def compute(A, S, n, x, apply=apply, swapped=swapped):
                pair = [place(A, S), value(A, n, x)]
                return apply(*reversed(pair)) if swapped else apply(*pair)

            error_of(compute)


@pytest.mark.parametrize("memory", _MEMORY)
def test_python_functions(memory):
    place = _MEMORY[memory]
    functions = [
        *(bool, int, float, complex, len, round, abs, list, tuple, sum, min, sorted),
        *(operator.neg, operator.pos, operator.invert, operator.not_),
        *(operator.index, tl.abs, tl.sum, tl.range, tl.static_range, tl.print),
        *(tl.device_assert, tl.f32, tl.cumsum),
        lambda memory: 1 in memory,
        lambda memory: [1, 2][memory],
        lambda memory: tl.full((8,), memory, tl.i32),
        lambda memory: tl.maximum(memory, 1),
        lambda memory: tl.where(memory, 1, 2),
    ]
    for function in functions:
        error_of(lambda A, S, n, x, function=function: function(place(A, S)))


def test_conditions():
    def statement(A: tl.Tensor["M", tl.i32]):
        if A[0]:  # HERE
            A[0] = 1

    def of_a_buffer(A: tl.Tensor["M", tl.i32]):
        if A:  # HERE
            A[0] = 1

    def loop(A: tl.Tensor["M", tl.i32]):
        while A[0] > 0:  # HERE
            A[0] = 1

    def expression(A: tl.Tensor["M", tl.i32]):
        A[0] = 1 if A[0] else 2  # HERE

    def negated(A: tl.Tensor["M", tl.i32]):
        if not A[0]:  # HERE
            A[0] = 1

    def right_side(A: tl.Tensor["M", tl.i32], n: tl.i32):
        if n > 0 and A[0]:  # HERE
            A[0] = 1

    def left_side(A: tl.Tensor["M", tl.i32], n: tl.i32):
        if A[0] or n > 0:  # HERE
            A[0] = 1

    def asserted(A: tl.Tensor["M", tl.i32]):
        assert A[0]  # HERE

    def chained(A: tl.Tensor["M", tl.i32], n: tl.i32):
        if 0 <= n < A[0]:  # HERE
            A[0] = 1

    def comprehension(A: tl.Tensor["M", tl.i32]):
        [i for i in (0, 1) if A[i]]  # HERE

    for kernel in (statement, of_a_buffer, loop, expression, negated, left_side):
        check(kernel, "is memory, not a value", "tl.load(A[")
    check(asserted, "is memory, not a value", "tl.load(A[0])")
    check(comprehension, "is memory, not a value", "tl.load(A[0])")
    check(right_side, "'and': expected a condition, found a region", "tl.load(A[0])")
    check(chained, "'<': expected a fragment, a scalar or a number", "tl.load(A[0])")


def test_identity_is_no_comparison():
    def element(A: tl.Tensor["M", tl.i32]):
        if A[0] is True:  # HERE
            A[0] = 1

    def scalar(A: tl.Tensor["M", tl.i32], n: tl.i32):
        if (n > 0) is True:  # HERE
            A[0] = 1

    for kernel in (element, scalar):
        check(kernel, "'is' asks for the same Python object", "compare with ==")


def test_identity_tells_buffers_apart():
    @tilews.kernel
    def kernel(A: tl.Tensor["M", tl.i32], B: tl.Tensor["M", tl.i32]):
        for buffer in (A, B):
            buffer[0] = 1 if buffer is A else 2
        if A is not None and A[0] is not None:
            A[1] = 3

    assert kernel.mlir().count("memref.store") == 3


def test_indices_and_bounds():
    def offset(A: tl.Tensor["M", tl.i32]):
        A[A[0]] = 1  # HERE

    def of_a_slice(A: tl.Tensor["M", tl.i32]):
        tl.load(A[A[0] : A[0] + 8])  # HERE

    def bound(A: tl.Tensor["M", tl.i32]):
        for i in range(A[0]):  # HERE
            A[i] = 1

    def persistent(A: tl.Tensor["M", tl.i32]):
        for i in tl.persistent(A[0]):  # HERE
            A[i] = 1

    def elements(A: tl.Tensor["M", tl.i32]):
        for i in A[0:8]:  # HERE
            A[i] = 1

    def unpacked(A: tl.Tensor["M", tl.i32]):
        i, j = A[0:2]  # HERE
        A[i] = j

    def twice(A: tl.Tensor["M, N", tl.i32]):
        A[0, 0] = tl.load(A[0, 0:8][1])  # HERE

    def shape(A: tl.Tensor["M", tl.i32]):
        tl.zeros((A[0],), tl.i32)  # HERE

    def stored(A: tl.Tensor["M", tl.i32]):
        A[1] = A[0]  # HERE

    for kernel in (offset, bound, persistent):
        check(kernel, "found a region of the global buffer A", "tl.load(A[0])")
    check(stored, "found a region of the global buffer A", "tl.load(A[0])")
    check(of_a_slice, "'+': a region of the global buffer A", "tl.load(A[0])")
    check(elements, "cannot iterate over a region", "tl.range(n)")
    check(unpacked, "iteration: a region", "tl.load(A[0])")
    check(twice, "an index of a region", "index the buffer once: A[i, j]")
    check(shape, "an extent is an integer from 1 to 2147483647, found a region")


def test_texts():
    def formatted(A: tl.Tensor["M", tl.i32]):
        tl.print(f"{A[0]}")  # HERE

    def printed(A: tl.Tensor["M", tl.i32]):
        tl.print("A", A[0])  # HERE

    check(formatted, "has no text while the kernel is built", "tl.print")
    check(printed, "tl.print: a region of", "tl.load(A[0])")


@pytest.mark.parametrize("value", ["scalar", "fragment"])
def test_python_functions_of_values(value):
    functions = [
        *(bool, int, float, complex, len, round, list, tuple, operator.index),
        *(tl.static_range, lambda x: 1 in x, lambda x: x in (1, 2), lambda x: x @ x),
        *(lambda x: divmod(x, 2), lambda x: [1, 2][x], lambda x: 1 @ x),
    ]
    for function in functions:
        error_of(
            lambda A, S, n, x, function=function: function(
                n if value == "scalar" else x
            )
        )


def test_chains_of_comparisons():
    @tilews.kernel
    def kernel(A: tl.Tensor["M", tl.i32], n: tl.i32):
        # numpy's booleans are accepted like Python's.
        if np.int32(0) < np.int32(1) < n:
            A[0] = 1
        if n > 0 < np.int32(0):
            A[1] = 2

    text = kernel.mlir()
    assert text.count("arith.cmpi") == 2
    assert text.count("scf.if") == 2


# --- tl.may_alias ------------------------------------------------------------------


def test_may_alias_names_a_buffer():
    def kernel(A: tl.Tensor["64", tl.f32], n: tl.i32):
        tl.may_alias(A, n)  # HERE

    check(kernel, "tl.may_alias: expected a buffer, found a scalar")


def test_may_alias_names_an_argument():
    def kernel(A: tl.Tensor["64", tl.f32]):
        s = tl.alloc_shared((64,), tl.f32)
        tl.may_alias(A, s)  # HERE

    message = "expected an argument of the kernel, found the shared buffer"
    check(kernel, message, "buffers that the kernel allocates never overlap")


def test_may_alias_names_two_arguments():
    def kernel(A: tl.Tensor["64", tl.f32]):
        tl.may_alias(A, A)  # HERE

    check(kernel, "tl.may_alias: the global buffer A is named twice")


def test_may_alias_is_for_the_whole_kernel():
    def kernel(A: tl.Tensor["64", tl.f32], B: tl.Tensor["64", tl.f32], n: tl.i32):
        if n > 0:
            tl.may_alias(A, B)  # HERE

    check(kernel, "about the whole kernel, but is in a loop or a conditional")


def test_may_alias_is_recorded():
    @tilews.kernel
    def kernel(
        A: tl.Tensor["64", tl.f32], B: tl.Tensor["64", tl.f32], C: tl.Tensor["64", "T"]
    ):
        tl.grid(1)
        tl.may_alias(C, A)
        tl.may_alias(B, C)

    pairs = "tile.may_alias = [array<i32: 0, 2>, array<i32: 1, 2>]"
    assert pairs in kernel.mlir(T=tl.f32)


def test_a_copy_drops_no_half_of_a_region():
    def kernel(A: tl.Tensor["64", tl.f32]):
        S = tl.alloc_shared((16,), tl.f32)
        tl.copy(A[0:32], S)  # HERE

    message = (
        "tl.copy: the region has shape (32,), but the shared buffer on the other side "
        "(16,)"
    )
    check(kernel, message, "copy a part of it: the rest would be dropped")
