"""Mistakes in kernels: each one is an error at its line in the source."""

import pytest

import tilews
import tilews.language as tl
from support.kernel_errors import check
from tilews.compiler import compile_module


def test_element_types_do_not_mix():
    def kernel(A: tl.Tensor["M", tl.f16]):
        x = tl.zeros((8,), tl.f16)
        y = tl.zeros((8,), tl.f32)
        x + y  # HERE

    check(kernel, "'+': operands have types f16 and f32", ".to(tl.f16)")


def test_names_that_do_not_exist():
    def of_a_module(A: tl.Tensor["M", tl.f16]):
        tl.zeroes((8,), tl.f16)  # HERE

    def of_a_fragment(A: tl.Tensor["M", tl.f16]):
        x = tl.zeros((8,), tl.f16)
        x = x.shap  # HERE

    def without_a_neighbour(A: tl.Tensor["M", tl.f16]):
        tl.xyzzy(1)  # HERE

    name = "module tilews.language has no attribute"
    check(of_a_module, f"{name} 'zeroes'", "did you mean 'zeros'?")
    check(of_a_fragment, "type f16 has no attribute 'shap'", "did you mean 'shape'?")
    check(without_a_neighbour, f"{name} 'xyzzy'")


def test_shapes_have_to_broadcast():
    def kernel(A: tl.Tensor["M", tl.f16]):
        x = tl.zeros((8, 4), tl.f16)
        return x * tl.zeros((8,), tl.f16)  # HERE

    check(kernel, "shapes (8, 4) and (8,) differ in dimension -1")


def test_a_carried_name_keeps_its_type():
    def kernel(n: tl.i32):
        acc = tl.zeros((8,), tl.f16)
        for _ in range(n):  # HERE
            acc = acc.to(tl.f32)

    check(
        kernel,
        "'acc' changes its type in the loop of line",
        "convert with .to(...)",
    )
    check(kernel, "f16 fragment of shape (8,) before, f32 fragment of shape (8,)")


def test_a_number_does_not_become_a_fragment_in_a_loop():
    def kernel(n: tl.i32):
        acc = 0.0
        for _ in range(n):  # HERE
            acc = acc + tl.zeros((8,), tl.f32)

    check(kernel, "'acc' changes its type", "tl.full")


def test_branches_agree_on_types():
    def kernel(n: tl.i32):
        if n > 0:  # HERE
            x = tl.zeros((8,), tl.f16)
        else:
            x = tl.zeros((4,), tl.f16)
        tl.print(x)

    check(kernel, "'x' has two types after the conditional of line")


def test_a_name_of_one_branch_is_not_defined_after_it():
    def kernel(n: tl.i32):
        if n > 0:
            x = n + 1
        tl.print(x)  # HERE

    check(kernel, "'x' is assigned in only one branch of the conditional of line")


def test_a_name_of_a_loop_is_not_defined_after_it():
    def kernel(n: tl.i32):
        for i in range(n):
            x = i
        tl.print(x)  # HERE

    check(kernel, "'x' is assigned only in the loop of line")


def test_buffers_are_not_carried():
    def kernel(n: tl.i32):
        a = tl.alloc_shared((8,), tl.f16)
        b = tl.alloc_shared((8,), tl.f16)
        for _ in range(n):  # HERE
            a, b = b, a

    check(kernel, "only scalars and fragments are carried")


def test_buffers_are_not_chosen_at_run_time():
    def kernel(n: tl.i32):
        a = tl.alloc_shared((8,), tl.f16)
        b = a if n > 0 else tl.alloc_shared((8,), tl.f16)  # HERE
        tl.load(b)

    check(kernel, "only scalars and fragments can depend on a run-time condition")


def test_undefined_names():
    def kernel(n: tl.i32):
        tl.print(m)  # HERE

    check(kernel, "name 'm' is not defined")


def test_names_used_before_assignment():
    def kernel(n: tl.i32):
        tl.print(m)  # HERE
        m = n
        tl.print(m)

    check(kernel, "'m' is used before it is assigned")


def test_a_fragment_is_no_condition():
    def kernel(n: tl.i32):
        if tl.iota((8,)) > n:  # HERE
            pass

    check(kernel, "a fragment has many truth values", "tl.any")


def test_division_of_integers():
    def kernel(n: tl.i32):
        n / 2  # HERE

    check(kernel, "'/' takes floating point, found i32", "write //")


def test_floating_point_division_is_not_rounded_down():
    def kernel(x: tl.f32):
        x // 2.0  # HERE

    check(kernel, "'//' takes integers, found f32", "tl.floor")


def test_fractions_do_not_meet_integers():
    def kernel(n: tl.i32):
        n + 1.5  # HERE

    def integral(n: tl.i32):
        n + 2.0  # HERE

    check(kernel, "1.5 is not an integer, but is combined with i32")
    check(integral, "2.0 is not an integer, but is combined with i32")


def test_numbers_out_of_range():
    def kernel(A: tl.Tensor["M", tl.i8]):
        tl.zeros((8,), tl.i8) + 256  # HERE

    check(kernel, "256 does not fit i8")


def test_unsupported_statements():
    def with_statement(n: tl.i32):
        with open("x"):  # HERE
            pass

    def try_statement(n: tl.i32):
        try:  # HERE
            pass
        except ValueError:
            pass

    def import_statement(n: tl.i32):
        import os  # noqa: F401 # HERE

    def walrus(n: tl.i32):
        (m := n)  # noqa: F841 # HERE

    check(with_statement, "'with' for tl.specialize() and tl.role(...) only")
    check(try_statement, "kernels do not support 'Try'", "outside of the kernel")
    check(import_statement, "kernels do not support 'Import'", "import outside")
    check(walrus, "kernels do not support NamedExpr", "statement of its own")


def test_break_under_a_run_time_condition():
    def in_loop(n: tl.i32):
        for i in range(n):
            if i > 3:
                break  # HERE

    def in_unrolled_loop(n: tl.i32):
        for i in tl.static_range(4):
            if n > i:
                break  # HERE

    check(in_loop, "'break' works only in loops that are unrolled", "while loop")
    check(in_unrolled_loop, "'break' works only in loops that are unrolled")


def test_return_from_a_loop():
    def kernel(n: tl.i32):
        for i in range(n):  # HERE
            if i > 3:
                return

    check(kernel, "cannot return from inside a loop")


def test_endless_loop():
    def kernel(n: tl.i32):
        while True:  # HERE
            n = n + 1

    check(kernel, "the condition of this loop is always true")


def test_a_kernel_returns_nothing():
    def kernel(n: tl.i32):
        return n  # HERE

    check(kernel, "a kernel returns nothing", "tl.store")


def test_shapes_are_static():
    def kernel(A: tl.Tensor["M, N", tl.f16]):
        tl.zeros(A.shape, tl.f16)  # HERE

    check(kernel, "an extent known only at launch", "constexpr")


def test_slices_have_positive_sizes():
    def kernel(A: tl.Tensor["M, N", tl.f16], n: tl.i32):
        tl.load(A[n:n, 0:64])  # HERE

    check(kernel, "a slice has to have a positive size, found 0", "A[i:i + 128]")


def test_a_slice_of_a_run_time_size_needs_a_shape():
    def kernel(A: tl.Tensor["M, N", tl.f16], n: tl.i32):
        tl.load(A[0:n, 0:64])  # HERE

    message = "tl.load: the size of the region is known only at run time"
    check(kernel, message, "tl.load(A[i:i + n, :], (128, 64))")


def test_the_rank_of_an_index():
    def kernel(A: tl.Tensor["M, N", tl.f16]):
        tl.load(A[0, 0, 0])  # HERE

    check(kernel, "found 3 indices for the global buffer A of rank 2")


def test_stored_types():
    def kernel(A: tl.Tensor["M, N", tl.f16]):
        tl.store(tl.zeros((8, 8), tl.f32), A[0, 0])  # HERE

    check(kernel, "the value has type f32, the buffer f16", ".to(tl.f16)")


def test_errors_of_the_verifier_have_a_place_too():
    def kernel(A: tl.Tensor["M, N", tl.f16]):
        a = tl.alloc_shared((64, 32), tl.f16)
        b = tl.alloc_shared((64, 64), tl.f16)
        tl.gemm(a, b)  # HERE

    check(kernel, "K is 32 in the left operand, but 64 in the right operand")


def test_grids_are_expressions_of_the_arguments():
    def kernel(A: tl.Tensor["M, N", tl.i32]):
        tl.grid(tl.load(A[0, 0]))  # HERE

    check(kernel, "expression of the kernel's arguments", None)


def test_the_grid_is_set_once():
    def kernel(n: tl.i32):
        tl.grid(n)
        tl.grid(n)  # HERE

    check(kernel, "the grid is set twice")


def test_missing_arguments_of_the_language():
    def kernel(n: tl.i32):
        tl.zeros((8, 8))  # HERE

    check(kernel, "tl.zeros: missing a required argument: 'dtype'")


def test_errors_in_helpers_say_who_called():
    def helper(x):
        return x + tl.zeros((3,), tl.f32)

    def kernel(n: tl.i32):
        helper(tl.zeros((4,), tl.f32))

    with pytest.raises(tilews.KernelError) as caught:
        tilews.kernel(kernel).mlir()
    assert caught.value.line == helper.__code__.co_firstlineno + 1
    line = kernel.__code__.co_firstlineno + 1
    assert f"called from {__file__}:{line}:9" in str(caught.value)


def test_endless_recursion():
    @tilews.func
    def forever(x):
        return forever(x)

    def kernel(n: tl.i32):
        forever(n)

    check(kernel, "calls are nested more than 64 deep")


def test_static_assertions_and_exceptions():
    def asserts(n: tl.i32, B: tl.constexpr = 3):
        assert B % 2 == 0, f"B is even, not {B}"  # HERE

    def raises(n: tl.i32, B: tl.constexpr = 3):
        if B == 3:
            raise ValueError("B is not 3")  # HERE

    check(asserts, "assertion failed: B is even, not 3")
    check(raises, "B is not 3")


def test_parameters_need_annotations():
    with pytest.raises(tilews.KernelError, match="parameter 'A' has no kernel annot"):

        @tilews.kernel
        def kernel(A):
            pass


def test_bindings_are_checked():
    @tilews.kernel
    def kernel(A: tl.Tensor["M, K:16", "T"], B: tl.constexpr):
        pass

    cases = [
        ({"B": 1}, "the element type of 'A' is not known"),
        ({"T": tl.f16}, "the constexpr parameter 'B' has no value"),
        ({"B": 1, "T": 3}, "'T' is an element type"),
        ({"B": 1, "T": tl.f16, "M": -1}, "'M' is an extent or a stride"),
        ({"B": 1, "T": tl.f16, "K": 24}, "the extent 24 of 'A' is no multiple of 16"),
        ({"B": 1, "T": tl.f16, "Q": 1}, "named 'Q'; known names: B, K, M, T"),
    ]
    for bindings, message in cases:
        with pytest.raises(tilews.KernelError) as caught:
            kernel.mlir(**bindings)
        assert message.split(";")[0] in caught.value.message


def test_unknown_targets():
    @tilews.kernel
    def kernel(n: tl.i32):
        pass

    for target, hint in [
        ("xyzzy", "such as 'H100' or 'MI300X'$"),
        ("H1000", r"hint: did you mean 'h100'\?"),
        ("V100", "hint: the oldest ones are sm_75 .T4. of NVIDIA and gfx90a"),
        ("cuda", "hint: leave the target out for the GPU of this machine"),
        ("interpreter", "hint: the reference interpreter is the target 'cpu'"),
    ]:
        text = f"unknown target '{target}'(.|\n)*{hint}"
        for function in (kernel.mlir, kernel.compile):
            with pytest.raises(tilews.CompileError, match=text):
                function(target)
    with pytest.raises(tilews.CompileError, match="'sm_90a', found 90"):
        kernel.compile(90)


@pytest.mark.parametrize(
    ("name", "chip"),
    [
        ("H100", "sm_90a"),
        ("h200", "sm_90a"),
        ("A100", "sm_80"),
        ("RTX 4090", "sm_89"),
        ("MI300X", "gfx942"),
        ("mi355x", "gfx950"),
        ("SM90a", "sm_90a"),
        ("CPU", "cpu"),
    ],
)
def test_names_of_gpus_as_targets(name, chip):
    @tilews.kernel
    def kernel(A: tl.Tensor["8", tl.f32]):
        A[0] = tl.zeros((8,), tl.f32)

    assert kernel.compile(name).target == chip
    assert kernel.mlir(name) == kernel.mlir(chip)
    if chip != "cpu":
        assert compile_module(kernel.build(), name).target == chip


def test_threads_are_whole_waves():
    @tilews.kernel(threads=32)
    def kernel(A: tl.Tensor["8", tl.f32]):
        A[0] = tl.zeros((8,), tl.f32)

    text = (
        "kernel: threads are a multiple of 64 on gfx942, whose waves have 64 threads, "
        "found 32(.|\n)*hint: compile with threads=64"
    )
    with pytest.raises(tilews.KernelError, match=text):
        kernel.compile("gfx942")
    with pytest.raises(tilews.KernelError, match=r"found 96(.|\n)*threads=128"):
        kernel.compile("gfx950", threads=96)
    assert kernel.compile("gfx942", threads=64).asm
    assert kernel.compile("gfx1100").asm


def test_the_language_works_only_in_kernels():
    with pytest.raises(Exception, match="only inside a kernel"):
        tl.zeros((8,), tl.f32)


def test_comparisons_with_other_python_values():
    def kernel(n: tl.i32):
        if n == "4":  # HERE
            pass

    check(kernel, "'==': expected a fragment, a scalar or a number, found the Python")


def test_texts_that_are_less_indented_than_the_kernel():
    def kernel(n: tl.i32):
        tl.print(
            """
over two lines""",
            n,
        )
        n / 2  # HERE

    check(kernel, "'/' takes floating point")


def test_places_count_characters():
    def kernel(n: tl.i32):
        tl.print("äöü", n / 2)

    with pytest.raises(tilews.KernelError) as caught:
        tilews.kernel(kernel).mlir()
    assert caught.value.column == 25


def test_values_do_not_leave_a_loop_through_a_list():
    def kernel(out: tl.Tensor["R", tl.i32], n: tl.i32):
        values = []
        for i in range(n):
            values.append(i)
        out[0] = values[0]  # HERE

    check(kernel, "does not dominate this use", "keep it in a variable")
