"""The examples and the tables of docs/numerics.md are right."""

import re
from pathlib import Path

import ml_dtypes
import pytest

import tilews
import tilews.language as tl
from support import doc_examples
from tilews import passes

TEXT = (Path(__file__).parents[3] / "docs/numerics.md").read_text()
EXAMPLES = re.findall(r"^```python\n(.*?)^```", TEXT, flags=re.M | re.S)


def rows(first: str) -> list[list[str]]:
    """The rows of the table whose head begins with a cell."""
    table = TEXT.partition(f"\n| {first} |")[2].partition("\n\n")[0]
    lines = [
        f"| {first} |{line}" if not i else line
        for i, line in enumerate(table.splitlines())
    ]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_example(number, tmp_path):
    assert len(EXAMPLES) > 1
    doc_examples.run_body(EXAMPLES[number], tmp_path / "example.py")


def test_limits_of_fp8():
    _, _, *types = rows("type")
    assert len(types) == 4
    for name, _, largest, smallest, infinity, zero in types:
        dtype = getattr(tl, name.strip("`")).numpy
        info = ml_dtypes.finfo(dtype)
        assert float(info.max) == float(largest)
        assert float(info.smallest_subnormal) == 2.0 ** int(smallest.split("^")[1])
        assert infinity.startswith("yes") == bool(
            abs(float(dtype.type(float("inf")))) == float("inf")
        )
        assert (zero == "yes") == (dtype.type(-0.0).tobytes() == b"\x80")


@tilews.kernel(threads=128)
def matmul(
    A: tl.Tensor["64, 64", "T"],
    B: tl.Tensor["64, 64", "T"],
    C: tl.Tensor["64, 64", "U"],
    T: tl.constexpr,
    U: tl.constexpr,
    tf32: tl.constexpr = False,
):
    tl.grid(1)
    As, Bs = tl.alloc_shared((64, 64), T), tl.alloc_shared((64, 64), T)
    tl.copy(A, As)
    tl.copy(B, Bs)
    C[0, 0] = tl.gemm(As, Bs, dtype=U, transpose_rhs=True, allow_tf32=tf32)


HEAD, _, *MATMULS = rows("operands")


@pytest.mark.parametrize("row", MATMULS, ids=lambda row: f"{row[0]} {row[1]}")
def test_instructions_of_matmuls(row):
    operands, accumulator, *instructions = row
    tf32 = "allow_tf32" in operands
    names = [name for name in re.findall(r"`(\w+)`", operands) if name != "allow_tf32"]
    for name in names:
        for chip, expected in zip(HEAD[2:], instructions, strict=True):
            types = {"T": getattr(tl, name), "U": getattr(tl, accumulator.strip("`"))}
            if expected == "error":
                with pytest.raises(tilews.KernelError, match="does not multiply"):
                    matmul.build(chip, **types)
                continue
            module = matmul.build(chip, tf32=tf32, **types)
            passes.annotate_instructions(module)
            (found,) = re.findall(
                r"tile\.gemm .*tile\.inst = #tile\.inst<(\w+)>", str(module)
            )
            assert expected.strip("`") == {"simt": "plain"}.get(found, found), chip


def test_other_types_of_accumulators_are_errors():
    allowed = {
        (name, row[1].strip("`"))
        for row in MATMULS
        for name in re.findall(r"`(\w+)`", row[0])
    }
    types = ("f16", "bf16", "f32", "f64", "i8", "i32")
    for operand in ("f16", "bf16", "f32", "f64", "e4m3", "e5m2", "i8"):
        for accumulator in types:
            pair = {"T": getattr(tl, operand), "U": getattr(tl, accumulator)}
            if (operand, accumulator) in allowed:
                matmul.build("sm_90a", **pair)
            else:
                with pytest.raises(tilews.KernelError, match="accumulat"):
                    matmul.build("sm_90a", **pair)


@tilews.kernel(threads=64)
def multiply_add(X: tl.Tensor["64", tl.f32], Y: tl.Tensor["64", tl.f32]):
    Y[0] = tl.load(X) * tl.load(Y) + tl.load(X)


def test_multiplications_and_additions_are_fused():
    assert "one\n`fma`, which rounds once" in TEXT
    assert "fma.rn.f32" in multiply_add.compile("sm_90a").ptx
    assert "v_fma" in multiply_add.compile("gfx942").asm
