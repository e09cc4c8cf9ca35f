"""Names of other systems in kernels: each error says what to write instead."""

import inspect
import math
import re

import numpy as np
import pytest

import tilews
import tilews.language as tl
from support.kernel_errors import check
from tilews.frontend import hints


@pytest.mark.parametrize(("name", "hint"), hints._FUNCTIONS.items())
def test_hints_name_what_exists(name, hint):
    assert name not in dir(tl)
    assert " " in hint or hint in dir(tl)
    assert {*re.findall(r"\btl\.(\w+)", hint)} <= {*dir(tl)}


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("program_id", "use the results of tl.grid, or write tl.block_id(0)"),
        ("num_programs", "write tl.num_blocks(0)"),
        ("dot", "write tl.gemm(a, b, acc)"),
        ("dot_scaled", "write tl.gemm(a, b, acc, lhs_scale=x, rhs_scale=y)"),
        ("inline_asm_elementwise", "write tl.asm"),
        ("ceildiv", "write tl.cdiv"),
        ("fdiv", "write x / y"),
        ("cumprod", "write tl.scan(x, lambda a, b: a * b, axis)"),
        ("barrier", "leave it out: the compiler places barriers"),
        ("interleave", "write tl.join(x, y).reshape(2 * n)"),
        ("float16", "write tl.f16"),
        ("fp8e4nv", "write tl.e4m3"),
        ("Load", "did you mean 'load'?"),
        ("alocshared", "did you mean 'alloc_shared'?"),
    ],
)
def test_names_of_the_language(name, hint):
    def kernel(A: tl.Tensor["M", tl.f16]):
        getattr(tl, name)

    assert hints.name_hint(name) == hint
    with pytest.raises(tilews.KernelError, match="has no attribute"):
        tilews.kernel(kernel).mlir()


def test_a_name_of_the_language_has_its_hint_in_a_kernel():
    def missing(A: tl.Tensor["M", tl.f16]):
        tl.program_id(0)  # HERE

    def module(A: tl.Tensor["M", tl.f16]):
        tl.matmul(A, A)  # HERE

    check(missing, "the module tilews.language has no attribute", "tl.block_id(0)")
    check(module, "the module tilews.language.matmul cannot be called", "tl.gemm")


def relu(x):
    return np.maximum(x, 0)


relu.__module__ = "torch.nn.functional"


def test_functions_of_libraries():
    def of_numpy(A: tl.Tensor["M", tl.f16]):
        np.exp(tl.zeros((8,), tl.f16))  # HERE

    def with_a_keyword(A: tl.Tensor["M", tl.f16]):
        np.sum(a=tl.zeros((8,), tl.f16))  # HERE

    def of_math(n: tl.f32):
        math.sqrt(n)  # HERE

    def of_torch(A: tl.Tensor["M", tl.f16]):
        relu(tl.zeros((8,), tl.f16))  # HERE

    def without_a_counterpart(A: tl.Tensor["M", tl.f16]):
        np.median(tl.zeros((8,), tl.f16))  # HERE

    text = "np.exp is a function of numpy, which does not know values of the kernel"
    check(of_numpy, text, "write tl.exp")
    check(with_a_keyword, "np.sum is a function of numpy", "write tl.sum")
    check(of_math, "math.sqrt is a function of math", "write tl.sqrt")
    check(of_torch, "relu is a function of torch", "write tl.maximum(x, 0.0)")
    check(without_a_counterpart, "np.median", "compute with the functions of tl")


def test_functions_of_libraries_on_numbers():
    @tilews.kernel
    def kernel(A: tl.Tensor["8", tl.f32]):
        A[0] = tl.full((8,), np.exp(0.0) + math.sqrt(4.0), tl.f32)

    array = np.zeros(8, np.float32)
    kernel(array)
    assert array[0] == 3.0


def test_arrays_are_no_operands():
    def left(A: tl.Tensor["M", tl.f16]):
        np.arange(8) + tl.zeros((8,), tl.f16)  # HERE

    def right(A: tl.Tensor["M", tl.f16]):
        tl.zeros((8,), tl.f16) * np.ones(8)  # HERE

    for kernel in (left, right):
        check(kernel, "found a Python ndarray", "make it an argument")


def test_arguments_of_functions():
    def mask(A: tl.Tensor["M", tl.f16]):
        tl.sum(tl.zeros((8,), tl.f16), mask=tl.zeros((8,), tl.i1))  # HERE

    def transposed(A: tl.Tensor["M", tl.f16]):
        x = tl.zeros((16, 16), tl.f16)
        tl.gemm(x, x, transpose_B=True)  # HERE

    def of_a_method(A: tl.Tensor["M", tl.f16]):
        tl.zeros((16, 16), tl.f16).sum(dim=0)  # HERE

    def nothing_like_it(A: tl.Tensor["M", tl.f16]):
        tl.exp(tl.zeros((8,), tl.f32), xyzzy=3)  # HERE

    def missing(A: tl.Tensor["M", tl.f16]):
        tl.where(True, 1)  # HERE

    hint = "loads, stores, copies and atomic updates have masks"
    check(mask, "tl.sum has no argument 'mask'", hint)
    check(transposed, "no argument 'transpose_B'", "write transpose_rhs=")
    check(of_a_method, "x.sum has no argument 'dim'", "write axis=")
    check(nothing_like_it, "tl.exp has no argument", "its arguments are")
    text = "tl.where: missing a required argument: 'if_false'"
    check(missing, text, "it takes tl.where(condition, if_true, if_false)")


def test_element_types_of_other_libraries():
    def of_zeros(A: tl.Tensor["M", tl.f16]):
        tl.zeros((8,), np.float32)  # HERE

    def of_a_conversion(A: tl.Tensor["M", tl.f16]):
        tl.zeros((8,), tl.f32).to("float16")  # HERE

    def of_bits(A: tl.Tensor["M", tl.f16]):
        tl.zeros((8,), tl.f32).bitcast(np.dtype("int32"))  # HERE

    check(of_zeros, "expected an element type such as tl.f16", "write tl.f32")
    check(of_a_conversion, "expected an element type such as tl.f16", "write tl.f16")
    check(of_bits, "expected an element type such as tl.f16", "write tl.i32")
    with pytest.raises(Exception, match=r"write tl\.bf16"):
        tl.Tensor["M", type("bfloat16", (), {})]


def test_methods_of_arrays():
    def fragment(A: tl.Tensor["M", tl.f16]):
        tl.zeros((8,), tl.f32).half()  # HERE

    def function(A: tl.Tensor["M", tl.f16]):
        tl.zeros((8,), tl.f32).exp()  # HERE

    def buffer(A: tl.Tensor["M", tl.f16]):
        A.numel()  # HERE

    def in_memory(A: tl.Tensor["M", tl.f16]):
        A.sum()  # HERE

    check(fragment, "has no attribute 'half'", "write x.to(tl.f16)")
    check(function, "has no attribute 'exp'", "write tl.exp(x)")
    check(buffer, "has no attribute 'numel'", "A.shape[0]")
    check(in_memory, "has no attribute 'sum'", "load it first: tl.load(A[i]).sum")


def test_rounding_up_takes_integers():
    def numbers(A: tl.Tensor["M", tl.f16]):
        tl.cdiv(1.5, 2)  # HERE

    def mixed(n: tl.i32):
        tl.cdiv(n, 2.0)  # HERE

    check(numbers, "tl.cdiv takes integers, found the Python value 1.5", "tl.ceil(a")
    check(mixed, "tl.cdiv takes integers, found the Python value 2.0", "tl.ceil(a")


def test_names_that_are_almost_right():
    def kernel(A: tl.Tensor["M", tl.f16]):
        total = tl.zeros((8,), tl.f16)
        return totl + total  # HERE

    check(kernel, "name 'totl' is not defined", "did you mean 'total'?")


@tilews.kernel
def copied(A: tl.Tensor["8", tl.f32]):
    A[0] = tl.zeros((8,), tl.f32)


def test_launches_of_other_systems():
    array = np.zeros(8, np.float32)
    with pytest.raises(TypeError, match=r"call copied\(\.\.\.\); the kernel sets its"):
        copied[(1,)](array)
    for name, text in [
        ("num_warps", "the number of threads is threads="),
        ("num_stages", r"tl\.range\(n, num_stages=3\)"),
        ("device", "the CPU is backend='cpu'"),
    ]:
        with pytest.raises(TypeError, match=text):
            copied(array, **{name: 4})


def test_names_of_modules_are_complete():
    assert {"kernel", "func", "KernelError"} <= {*dir(tilews)}
    assert {"load", "f16", "Tensor", "grid", "range"} <= {*dir(tl)}
    assert all(hasattr(tl, name) for name in dir(tl))
    assert not any(inspect.ismodule(getattr(tl, name)) for name in dir(tl))


def test_methods_of_fragments_that_have_other_names():
    def view(A: tl.Tensor["M", tl.f16]):
        tl.zeros((8,), tl.f32).view(2, 4)  # HERE

    def item(A: tl.Tensor["M", tl.f16]):
        tl.zeros((1,), tl.f32).item()  # HERE

    def view_of_a_fragment(A: tl.Tensor["M", tl.f16]):
        tl.view(tl.zeros((8,), tl.f32), (2, 4))  # HERE

    def rounded(x: tl.f32):
        round(x)  # HERE

    check(view, "has no attribute 'view'", "write x.reshape(2, 4)")
    check(item, "has no attribute 'item'", "tl.load(A[i])")
    check(view_of_a_fragment, "expected a buffer, found a frag", "x.reshape(2, 4)")
    check(rounded, "round: a scalar of type f32 is known only when", "tl.round(x)")


def test_functions_of_modules_that_are_not_there():
    def copy(A: tl.Tensor["M", tl.f16]):
        T.copy(A, A)  # HERE

    def matmul(A: tl.Tensor["M", tl.f16]):
        torch.matmul(A, A)  # HERE

    def other(A: tl.Tensor["M", tl.f16]):
        cub.copy(A, A)  # HERE

    def own(A: tl.Tensor["M", "T"], T: tl.constexpr):
        T.numel  # noqa: B018  # HERE

    check(copy, "name 'T' is not defined", "write tl.copy")
    check(matmul, "name 'torch' is not defined", "write tl.gemm(a, b, acc)")
    check(other, "name 'cub' is not defined")
    check(own, "has no attribute 'numel'", T=tl.f16)


def test_functions_that_reduce_a_whole_array():
    def python(A: tl.Tensor["M", tl.f16]):
        tl.reduce(tl.zeros((8,), tl.f32), max)  # HERE

    def numpy(A: tl.Tensor["M", tl.f16]):
        tl.scan(tl.zeros((8,), tl.f32), np.add)  # HERE

    def language(A: tl.Tensor["M", tl.f16]):
        tl.reduce(tl.zeros((8,), tl.f32), tl.sum)  # HERE

    def unknown(A: tl.Tensor["M", tl.f16]):
        tl.reduce(tl.zeros((8,), tl.f32), np.hypot)  # HERE

    what = "is no function of two fragments"
    check(python, f"tl.reduce: max {what}", "write tl.reduce(x, 'max')")
    check(numpy, f"tl.scan: add {what}", "write tl.scan(x, 'sum')")
    check(language, f"tl.reduce: sum {what}", "write tl.reduce(x, 'sum')")
    check(unknown, f"tl.reduce: hypot {what}", "lambda a, b")
