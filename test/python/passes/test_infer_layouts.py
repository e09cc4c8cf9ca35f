"""Layout inference of all kernels, for every kind of target."""

import re
import time
from pathlib import Path

import numpy as np
import pytest
from tilews.passmanager import PassManager

from tilews import ir, layout

ROOT = Path(__file__).parents[3]
TARGETS = ("sm_80", "sm_90a", "gfx942", "gfx950", "gfx1100")
#: Reasons to decline: a view of shared memory whose layout the target's instructions
#: cannot read, and functions in tests of other passes that take fragments.
DECLINED = ("copy the tile to a buffer of its own", "has a fragment as argument")
SHARED = "#gpu.address_space<workgroup>"


def run(module: ir.Module, *passes: str) -> None:
    """Runs passes on the kernels of a module. Raises ir.MLIRError."""
    pipeline = f"builtin.module(gpu.module({','.join(passes)}))"
    PassManager.parse(pipeline, module.context).run(module.operation)


def infer(text: str, target: str) -> str | None:
    """The kernels with layouts; None if inference declines them for the target.

    Raises ir.MLIRError if the text cannot be read or has no layouts.
    """
    with ir.Context() as context:
        context.allow_unregistered_dialects = True
        module = ir.Module.parse(text)
        try:
            run(module, f"tile-set-target{{chip={target}}}")
            run(module, "tile-annotate-instructions")
        except ir.MLIRError:
            return None
        try:
            run(module, "tile-infer-layouts")
        except ir.MLIRError as error:
            if any(reason in str(error) for reason in DECLINED):
                return None
            raise
        return str(module)


def assert_all_laid_out(text: str) -> None:
    assert not re.findall(r"tensor<[^<>#]*>", text), "a fragment without layout"


def kernels() -> list[tuple[str, str]]:
    """The parts of lit tests and examples that have kernels and expect no errors."""
    found = []
    files = sorted((ROOT / "examples").glob("*.mlir"))
    files += sorted((ROOT / "test/lit").rglob("*.mlir"))
    for path in files:
        pieces = re.split(r"^// ?---.*$", path.read_text(), flags=re.M)
        found += [
            (f"{path.relative_to(ROOT)}-{i}", piece)
            for i, piece in enumerate(pieces)
            if "gpu.func" in piece
            and "expected-error" not in piece
            and "tile." in piece
        ]
    return found


@pytest.mark.parametrize("target", TARGETS)
def test_every_kernel_is_laid_out(target):
    done = 0
    for name, text in kernels():
        try:
            result = infer(text, target)
        except ir.MLIRError as error:
            raise AssertionError(f"{name} for {target}: {error}") from error
        if result is None:
            continue
        assert_all_laid_out(result)
        done += 1
    # Kernels of other targets name instructions that this target lacks.
    assert done > 50


# --- Extents ------------------------------------------------------------------

PRODUCT = """
gpu.module @m {{
  gpu.func @k(%A: memref<{m}x64xf16>, %B: memref<64x{n}xf16>, %R: memref<{m}xf32>,
              %C: memref<{m}x{n}xf16>) kernel
      attributes {{tile.threads = {threads} : i32}} {{
    %as = tile.alloc_shared : memref<{m}x64xf16, {shared}>
    %bs = tile.alloc_shared : memref<64x{n}xf16, {shared}>
    tile.copy %A to %as : memref<{m}x64xf16> to memref<{m}x64xf16, {shared}>
    tile.copy %B to %bs : memref<64x{n}xf16> to memref<64x{n}xf16, {shared}>
    %zero = arith.constant dense<0.0> : tensor<{m}x{n}xf32>
    %d = tile.gemm %as, %bs, %zero {{policy = #tile.warps<{policy}>}}
       : memref<{m}x64xf16, {shared}>, memref<64x{n}xf16, {shared}>
         -> tensor<{m}x{n}xf32>
    %s = tile.reduce <sum> %d {{axis = 1 : i64}}
       : tensor<{m}x{n}xf32> -> tensor<{m}xf32>
    tile.store %s to %R : tensor<{m}xf32> to memref<{m}xf32>
    %e = tile.expand_dims %s {{axis = 1 : i64}} : tensor<{m}xf32> -> tensor<{m}x1xf32>
    %b = tile.broadcast %e : tensor<{m}x1xf32> -> tensor<{m}x{n}xf32>
    %f = arith.divf %d, %b : tensor<{m}x{n}xf32>
    %h = arith.truncf %f : tensor<{m}x{n}xf32> to tensor<{m}x{n}xf16>
    tile.store %h to %C : tensor<{m}x{n}xf16> to memref<{m}x{n}xf16>
    gpu.return
  }}
}}
"""


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("policy", ["square", "full_row", "full_col"])
def test_products_of_odd_extents(target, policy):
    """The fragments of such a matmul have layouts, whatever its instruction is."""
    for extent in (8, 24, 40, 48, 96, 192, 229):
        for m, n in ((64, extent), (extent, 64)):
            for threads in (192, 128) if target.startswith("gfx9") else (96, 128):
                text = PRODUCT.format(
                    m=m, n=n, threads=threads, policy=policy, shared=SHARED
                )
                result = infer(text, target)
                assert result is not None, (m, n, threads)
                assert_all_laid_out(result)


# --- Time ---------------------------------------------------------------------


def long_kernel(operations: int) -> str:
    """A kernel of `count` tile operations whose layouts all depend on each other."""
    lines = ["%v0 = arith.constant dense<0.0> : tensor<64x64xf32>"]
    block = f"""
      %x{{0}} = tile.load %B[%i, 0] : memref<4096x64xf32> -> tensor<64x64xf32>
      %g{{0}} = tile.gemm %a, %a, %v{{0}}
         : memref<64x64xf16, {SHARED}>, memref<64x64xf16, {SHARED}> -> tensor<64x64xf32>
      %y{{0}} = arith.addf %x{{0}}, %g{{0}} : tensor<64x64xf32>
      %m{{0}} = tile.reduce <max> %y{{0}} {{{{axis = 1 : i64}}}}
         : tensor<64x64xf32> -> tensor<64xf32>
      %e{{0}} = tile.expand_dims %m{{0}} {{{{axis = 1 : i64}}}}
         : tensor<64xf32> -> tensor<64x1xf32>
      %b{{0}} = tile.broadcast %e{{0}} : tensor<64x1xf32> -> tensor<64x64xf32>
      %v{{1}} = arith.subf %y{{0}}, %b{{0}} : tensor<64x64xf32>
      %h{{0}} = arith.truncf %v{{1}} : tensor<64x64xf32> to tensor<64x64xf16>
      %t{{0}} = tile.transpose %h{{0}} {{{{permutation = array<i64: 1, 0>}}}}
         : tensor<64x64xf16> -> tensor<64x64xf16>
      tile.store %t{{0}} to %A[%i, 0] : tensor<64x64xf16> to memref<4096x64xf16>"""
    lines += [block.format(i, i + 1) for i in range(operations // 10)]
    return f"""
gpu.module @m {{
  gpu.func @k(%A: memref<4096x64xf16>, %B: memref<4096x64xf32>, %i: index) kernel {{
    %a = tile.alloc_shared : memref<64x64xf16, {SHARED}>
    {"".join(lines)}
    gpu.return
  }}
}}"""


@pytest.mark.parametrize("target", TARGETS)
def test_long_kernels_take_little_time(target):
    """2,000 operations take 0.05 to 0.2 s; the bound is for slow machines."""
    with ir.Context():
        module = ir.Module.parse(long_kernel(2000))
        run(module, f"tile-set-target{{chip={target}}}", "tile-annotate-instructions")
        start = time.perf_counter()
        run(module, "tile-infer-layouts")
        seconds = time.perf_counter() - start
        print(f"{target}: {seconds:.3f} s")
        assert seconds < 5
        assert_all_laid_out(str(module))


def test_time_grows_with_the_kernel():
    def measure(operations: int) -> float:
        with ir.Context():
            module = ir.Module.parse(long_kernel(operations))
            run(module, "tile-set-target{chip=sm_90a}", "tile-annotate-instructions")
            start = time.process_time()
            run(module, "tile-infer-layouts")
            return time.process_time() - start

    measure(100)
    # Eight times the operations; quadratic growth would be 64 times.
    assert measure(8000) < 24 * max(measure(1000), 0.01)


def test_the_same_kernel_gets_the_same_layouts():
    text = long_kernel(300)
    assert infer(text, "sm_80") == infer(text, "sm_80")


# --- Sparse matmuls -----------------------------------------------------------

SPARSE = """
gpu.module @m {{
  gpu.func @k(%E: memref<{m}x{words}xi{e}>, %C: memref<{m}x64x{acc}>) kernel
      attributes {{tile.threads = {threads} : i32}} {{
    %a = tile.alloc_shared : memref<{m}x{half}x{t}, {shared}>
    %b = tile.alloc_shared : memref<64x{k}x{t}, {shared}>
    %e = tile.load %E : memref<{m}x{words}xi{e}> -> tensor<{m}x{words}xi{e}>
    %c = tile.load %C : memref<{m}x64x{acc}> -> tensor<{m}x64x{acc}>
    %d = tile.gemm_sp %a, %e, %b, %c {{transpose_rhs}}
       : memref<{m}x{half}x{t}, {shared}>, tensor<{m}x{words}xi{e}>,
         memref<64x{k}x{t}, {shared}> -> tensor<{m}x64x{acc}>
    tile.store %d to %C : tensor<{m}x64x{acc}> to memref<{m}x64x{acc}>
    gpu.return
  }}
}}
"""


def find_metadata(module: ir.Module) -> ir.Type:
    """The type of the metadata of the module's only sparse matmul."""
    found = []

    def look(op: ir.Operation) -> ir.WalkResult:
        if op.name == "tile.gemm_sp":
            found.append(op.operands[1].type)
        return ir.WalkResult.ADVANCE

    module.operation.walk(look)
    return found[0]


def parse_modes(text: str) -> list[tuple[int, int, int]]:
    extents, strides = re.fullmatch(r"\((.*)\):\((.*)\)", text).groups()
    if not extents:
        return []
    modes = []
    for extent, stride in zip(extents.split(", "), strides.split(", "), strict=True):
        factor, _, dim = stride.partition("*d")
        modes.append((int(extent), int(factor), int(dim or 0)))
    return modes


@pytest.mark.parametrize("k", [64, 128, 192, 256])
@pytest.mark.parametrize("bits", [8, 16, 32])
@pytest.mark.parametrize("operand, acc", [("f16", "f32"), ("i8", "i32")])
@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_metadata_of_sparse_products(target, operand, acc, bits, k):
    """A lane holds all bits that its instructions need (PTX ISA, "mma.sp" and
    "wgmma.mma_async.sp": metadata), and the registers of one word are adjacent."""
    m, threads = 128, 256
    text = SPARSE.format(
        m=m, k=k, half=k // 2, words=k // bits, e=bits, t=operand, acc=acc,
        threads=threads, shared=SHARED,
    )  # fmt: skip
    with ir.Context():
        module = ir.Module.parse(text)
        run(module, f"tile-set-target{{chip={target}}}", "tile-annotate-instructions")
        assert ("<wgmma>" if target == "sm_90a" else "<mma>") in str(module)
        run(module, "tile-infer-layouts")
        thread, value = re.search(
            r"thread = (.*), value = (.*)>>", str(find_metadata(module))
        ).groups()
    held = layout.FragmentLayout(parse_modes(thread), parse_modes(value)).table(2)

    depth = 32 if operand == "f16" else 64
    steps = k // depth
    # The instructions that select their metadata from one word.
    shared = 2 if operand == "f16" and steps % 2 == 0 else 1
    repeats = held.shape[1] * bits * shared // (32 * steps)
    if operand == "f16" and bits == 32:
        repeats //= 2  # the halves for other lanes
    words = held.reshape(threads, repeats, steps // shared, -1, 2)
    rows_seen = set()
    for t in range(threads):
        lane, first = t % 32, held[t, 0, 0] // 16 * 16
        for repeat, word in np.ndindex(repeats, steps // shared):
            found = [tuple(map(int, c)) for c in words[t, repeat, word]]
            base = words[t, repeat, word, 0, 0] // 16 * 16
            assert base == (first if repeat == 0 else base)
            if operand == "i8":
                row = base + lane // 4 + 8 * (lane % 2)
                begin = word * 2 + lane // 2 % 2  # in units of 32 bits
                expected = [(row, begin * 32 // bits + i) for i in range(32 // bits)]
            else:
                step = word * shared + (lane // 2 % 2 if shared == 2 else 0)
                begin = step * 2 + (lane % 2 if bits < 32 else 0)  # of 16 bits
                expected = [
                    (base + lane // 4 + 8 * i, begin * 16 // bits + j)
                    for i in range(2)
                    for j in range(max(16 // bits, 1))
                ]
            assert found == expected, (t, repeat, word)
            rows_seen.update(row for row, _ in found)
    assert rows_seen == set(range(m))
