"""The functions that are called with the messages of compilations."""

import pytest

import tilews
import tilews.language as tl
from kernels import role_copies
from kernels.gemm import gemm
from tilews import compiler, passes


@tilews.kernel(threads=128)
def fp8_matmul(A: tl.Tensor["64, 64", tl.e4m3], C: tl.Tensor["64, 64", tl.f32]):
    acc = tl.zeros((64, 64), tl.f32)
    shared = tl.alloc_shared((64, 64), tl.e4m3)
    for _ in tl.range(2, num_stages=2):
        tl.copy(A, shared)
        acc = tl.gemm(shared, shared, acc)
    C[0, 0] = acc


@tilews.kernel(threads=128)
def sparse_fp8_matmul(
    A: tl.Tensor["64, 32", tl.e4m3],
    E: tl.Tensor["64, 8", tl.i8],
    C: tl.Tensor["64, 64", tl.f32],
):
    tl.grid(1)
    lhs, rhs = tl.alloc_shared((64, 32), tl.e4m3), tl.alloc_shared((64, 64), tl.e4m3)
    places = tl.alloc_shared((64, 8), tl.i8)
    tl.copy(A, lhs)
    tl.copy(E, places)
    tl.store(tl.zeros((64, 64), tl.e4m3), rhs)
    C[:, :] = tl.gemm_sp(lhs, places, rhs, tl.zeros((64, 64), tl.f32))


def compile_with_remarks():
    """A kernel that sm_80 compiles with remarks: it has no registers to move."""
    return compiler.compile_module(role_copies.in_a_loop.build("sm_80"))


def test_messages_of_a_compilation():
    found = []
    with compiler.on_messages(found.append):
        compiled = compile_with_remarks()
        (remarks,) = found
        assert len([text for text in remarks if "tile-ws-0011" in text]) == 2
        assert compiled.ptx
        assert compiled.manifest
        compiled.mlir("laid_out")  # Runs passes again, which report the same.
    assert len(compiled.messages) == len(set(compiled.messages))
    assert [text for step in found for text in step] == compiled.messages
    assert all(found)


def test_messages_of_a_kernel_that_is_compiled_once():
    found = []
    with compiler.on_messages(found.extend):
        for _ in range(2):
            role_copies.in_a_loop.compile("sm_80", index_bitwidth=64).mlir()
    assert len([text for text in found if "tile-ws-0011" in text]) == 2


def test_errors_come_before_remarks():
    with pytest.raises(compiler.CompileError) as error:
        compiler.compile_module(fp8_matmul.build(), "gfx1100")
    first, *others = str(error.value).splitlines()
    assert "error: cannot compute" in first
    assert others and all("remark: " in line for line in others)


@pytest.mark.parametrize("kernel", [fp8_matmul, sparse_fp8_matmul])
def test_errors_name_the_chips_types_of_fp8(kernel):
    own = "its types of fp8 are 'f8E4M3FNUZ' and 'f8E5M2FNUZ'"
    for chip, expected in (
        ("gfx1100", ", which has no fp8"),
        ("sm_80", ", which has no fp8"),
        ("gfx942", f"; {own} (in Python, tl.e4m3 and tl.e5m2 stand for them)"),
    ):
        with pytest.raises(compiler.CompileError) as error:
            compiler.compile_module(kernel.build(), chip)
        message = f"error: cannot compute with 'f8E4M3FN' on {chip}{expected}"
        assert str(error.value).splitlines()[0].endswith(message)


def test_messages_of_passes():
    module = gemm.build("sm_90a")
    passes.run(module, "tile-annotate-instructions,tile-plan-pipeline")
    found = []
    with compiler.on_messages(found.extend):
        remarks = passes.infer_layouts(module, explain=True)
    assert found == remarks
    assert remarks


def test_nested_observers():
    outer, inner = [], []
    with compiler.on_messages(outer.extend):
        with compiler.on_messages(inner.extend):
            compile_with_remarks()
        count = len(outer)
        assert inner == outer
        compile_with_remarks()
    compile_with_remarks()
    assert len(inner) == count
    assert len(outer) == 2 * count


def test_an_exception_of_the_function():
    def refuse(messages):
        raise ValueError(messages[0])

    with pytest.raises(ValueError, match="tile-"), compiler.on_messages(refuse):
        compile_with_remarks()
    assert compile_with_remarks().ptx
