"""Code for AMD's GPUs, executed by the simulator and compared with numpy."""

import os
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from amdgcn import kernels
from tilews.sim.amdgcn import MachineError, Simulator

BUILD = Path(os.environ["TILEWS_BUILD_DIR"])
EXAMPLES = Path(__file__).parents[3] / "examples"
#: Dynamic shared memory of every launch, in bytes.
MORE_SHARED = 64 << 10

TYPES = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f32": np.float32,
    "f64": np.float64,
    "i8": np.int8,
    "i32": np.int32,
    "f8E4M3FN": ml_dtypes.float8_e4m3fn,
    "f8E5M2": ml_dtypes.float8_e5m2,
    "f8E4M3FNUZ": ml_dtypes.float8_e4m3fnuz,
    "f8E5M2FNUZ": ml_dtypes.float8_e5m2fnuz,
}


def make(rng: np.random.Generator, shape: tuple[int, ...], element: str) -> np.ndarray:
    if element.startswith("i"):
        return rng.integers(-100, 100, shape).astype(TYPES[element])
    return rng.standard_normal(shape).astype(TYPES[element])


def run_gemm(
    simulator: Simulator,
    types: tuple[str, str, str],
    tile: tuple[int, int, int],
    size: tuple[int, int, int],
    transposes: tuple[bool, bool],
    threads: int = 128,
) -> None:
    """Runs a matmul and compares the result with numpy's in f64."""
    m, n, k = size
    rng = np.random.default_rng(m * n + k)
    a = make(rng, (k, m) if transposes[0] else (m, k), types[0])
    b = make(rng, (n, k) if transposes[1] else (k, n), types[1])
    c = make(rng, (m, n), types[2])  # the kernel overwrites it
    grid = (-(-n // tile[1]), -(-m // tile[0]))
    arguments = []
    for array in (a, b, c):
        arguments += [array, *np.array(array.shape, np.int32)]
    simulator.launch("gemm", grid, threads, arguments, MORE_SHARED)
    left = (a.T if transposes[0] else a).astype(np.float64)
    right = (b.T if transposes[1] else b).astype(np.float64)
    scale = np.abs(left) @ np.abs(right)
    bound = {"f64": 1e-14, "f32": 1e-6, "i32": 0}[types[2]] * scale
    assert (np.abs(c - left @ right) <= bound).all()


# Each matrix instruction that tilews selects; the narrow ones if N is not a multiple
# of 32.
GEMMS = [
    ("gfx90a", "f16", "f16", "v_mfma_f32_32x32x8f16"),
    ("gfx90a", "bf16", "bf16", "v_mfma_f32_32x32x8bf16_1k"),
    ("gfx90a", "f32", "f32", "v_mfma_f32_32x32x2f32"),
    ("gfx90a", "f64", "f64", "v_mfma_f64_16x16x4f64"),
    ("gfx90a", "i8", "i8", "v_mfma_i32_32x32x8i8"),
    ("gfx90a", "i8", "i8", "v_mfma_i32_16x16x16i8"),
    ("gfx942", "f16", "f16", "v_mfma_f32_32x32x8_f16"),
    ("gfx942", "f16", "f16", "v_mfma_f32_16x16x16_f16"),
    ("gfx942", "bf16", "bf16", "v_mfma_f32_32x32x8_bf16"),
    ("gfx942", "bf16", "bf16", "v_mfma_f32_16x16x16_bf16"),
    ("gfx942", "f32", "f32", "v_mfma_f32_32x32x2_f32"),
    ("gfx942", "f32", "f32", "v_mfma_f32_16x16x4_f32"),
    ("gfx942", "f64", "f64", "v_mfma_f64_16x16x4_f64"),
    ("gfx942", "i8", "i8", "v_mfma_i32_32x32x16_i8"),
    ("gfx942", "i8", "i8", "v_mfma_i32_16x16x32_i8"),
    ("gfx942", "f8E4M3FNUZ", "f8E4M3FNUZ", "v_mfma_f32_32x32x16_fp8_fp8"),
    ("gfx942", "f8E4M3FNUZ", "f8E5M2FNUZ", "v_mfma_f32_16x16x32_fp8_bf8"),
    ("gfx942", "f8E5M2FNUZ", "f8E4M3FNUZ", "v_mfma_f32_32x32x16_bf8_fp8"),
    ("gfx950", "f16", "f16", "v_mfma_f32_32x32x16_f16"),
    ("gfx950", "f16", "f16", "v_mfma_f32_16x16x32_f16"),
    ("gfx950", "bf16", "bf16", "v_mfma_f32_32x32x16_bf16"),
    ("gfx950", "bf16", "bf16", "v_mfma_f32_16x16x32_bf16"),
    ("gfx950", "i8", "i8", "v_mfma_i32_32x32x32_i8"),
    ("gfx950", "i8", "i8", "v_mfma_i32_16x16x64_i8"),
    ("gfx950", "f8E4M3FN", "f8E5M2", "v_mfma_f32_32x32x16_fp8_bf8"),
    ("gfx1100", "f16", "f16", "v_wmma_f32_16x16x16_f16"),
    ("gfx1100", "bf16", "bf16", "v_wmma_f32_16x16x16_bf16"),
    ("gfx1100", "i8", "i8", "v_wmma_i32_16x16x16_iu8"),
    ("gfx1201", "f16", "f16", "v_wmma_f32_16x16x16_f16"),
    ("gfx1201", "bf16", "bf16", "v_wmma_f32_16x16x16_bf16"),
    ("gfx1201", "i8", "i8", "v_wmma_i32_16x16x16_iu8"),
    ("gfx1201", "f8E4M3FN", "f8E5M2", "v_wmma_f32_16x16x16_fp8_bf8"),
    # Without a matrix instruction.
    ("gfx1100", "f32", "f32", "v_fmac_f32"),
    ("gfx1100", "f64", "f64", "v_fma_f64"),
]


@pytest.mark.parametrize(("index", "case"), list(enumerate(GEMMS)))
def test_gemm(index: int, case: tuple[str, str, str, str], tmp_path: Path) -> None:
    chip, lhs, rhs, instruction = case
    acc = {"i8": "i32", "f64": "f64"}.get(lhs, "f32")
    tile = (64, 48 if "16x16" in instruction else 64, 64 if lhs == "i8" else 32)
    transposes = (bool(index & 1), bool(index & 2))
    size = (64, tile[1], 64) if index % 3 else (75, 70, 37)
    types = (lhs, rhs, acc)
    source = kernels.get_gemm(chip, *types, tile, transposes)
    simulator = kernels.load(source, BUILD, tmp_path, seed=index)
    run_gemm(simulator, types, tile, size, transposes)
    assert instruction in simulator.executed


@pytest.mark.parametrize("transposes", [(a, b) for a in (0, 1) for b in (0, 1)])
@pytest.mark.parametrize("chip", ["gfx942", "gfx1100"])
def test_gemm_ragged(chip: str, transposes: tuple[bool, bool], tmp_path: Path) -> None:
    types, tile = ("f16", "f16", "f32"), (64, 64, 32)
    source = kernels.get_gemm(chip, *types, tile, transposes)
    simulator = kernels.load(source, BUILD, tmp_path)
    for size in [(1, 1, 1), (65, 63, 33), (64, 72, 40)]:
        run_gemm(simulator, types, tile, size, transposes)


@pytest.mark.parametrize("chip", ["gfx942", "gfx1100", "gfx1201"])
@pytest.mark.parametrize(("m", "n"), [(4, 256), (1, 1024), (8, 50)])
def test_softmax(chip: str, m: int, n: int, tmp_path: Path) -> None:
    simulator = kernels.load(kernels.get_softmax(chip, m, n), BUILD, tmp_path)
    rows = 2 * m + 1
    a = make(np.random.default_rng(n), (rows, n), "f32") * np.float32(4)
    c = np.zeros_like(a)
    height = np.int32(rows)
    simulator.launch("softmax", (3,), 128, [a, height, c, height], MORE_SHARED)
    wide = np.exp(a.astype(np.float64) - a.max(axis=1, keepdims=True))
    np.testing.assert_allclose(c, wide / wide.sum(axis=1, keepdims=True), rtol=1e-5)


@pytest.mark.parametrize("chip", ["gfx942", "gfx950", "gfx1100", "gfx1201"])
def test_examples(chip: str, tmp_path: Path) -> None:
    source = (EXAMPLES / "gemm.mlir").read_text()
    simulator = kernels.load(source, BUILD, tmp_path, chip=chip)
    rng = np.random.default_rng(3)
    m, n, k = 150, 136, 72
    a, b = make(rng, (m, k), "f16"), make(rng, (n, k), "f16")
    bias, c = make(rng, (n,), "f32"), make(rng, (m, n), "f16")
    arguments = []
    for array in (a, b, bias, c):
        arguments += [array, *np.array(array.shape, np.int32)]
    shared = 160 << 10 if chip == "gfx950" else MORE_SHARED
    simulator.launch("gemm", (2, 2), 256, arguments, shared)
    exact = a.astype(np.float64) @ b.T.astype(np.float64) + bias
    np.testing.assert_allclose(c, np.maximum(exact, 0), rtol=1e-3, atol=1e-5)

    source = (EXAMPLES / "softmax.mlir").read_text()
    simulator = kernels.load(source, BUILD, tmp_path, chip=chip)
    x = make(rng, (2, 2052), "f32") * np.float32(3)
    y = np.zeros_like(x)
    shape = np.array(x.shape, np.int32)
    simulator.launch("softmax", (2,), 128, [x, *shape, y, *shape], MORE_SHARED)
    wide = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    np.testing.assert_allclose(y, wide / wide.sum(axis=1, keepdims=True), rtol=1e-5)


@pytest.mark.parametrize("chip", ["gfx942", "gfx1100"])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize(
    ("kind", "element", "shape"),
    [
        ("sum", "f32", (32, 64)),
        ("max", "f16", (64, 96)),
        ("min", "i32", (40, 24)),
        ("sum", "f64", (16, 256)),
    ],
)
def test_reduce(
    chip: str,
    axis: int,
    kind: str,
    element: str,
    shape: tuple[int, int],
    tmp_path: Path,
) -> None:
    source = kernels.get_reduce(chip, kind, element, shape, axis)
    simulator = kernels.load(source, BUILD, tmp_path)
    a = make(np.random.default_rng(axis), shape, element)
    c = np.zeros(shape[1 - axis], a.dtype)
    simulator.launch("reduce", (1,), 128, [a, c], MORE_SHARED)
    expected = getattr(a.astype(np.float64), kind)(axis=axis)
    np.testing.assert_allclose(c.astype(np.float64), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("chip", ["gfx942", "gfx1100"])
@pytest.mark.parametrize(("kind", "element"), [("add", "f32"), ("max", "i32")])
def test_atomics(chip: str, kind: str, element: str, tmp_path: Path) -> None:
    source = kernels.get_atomic(chip, kind, element)
    simulator = kernels.load(source, BUILD, tmp_path)
    rng = np.random.default_rng(5)
    a, c = make(rng, (16, 64), element), make(rng, (16, 64), element)
    expected = np.maximum(a, c) if kind == "max" else c + a + a + a
    simulator.launch("atomic", (3,), 128, [a, c])
    np.testing.assert_array_equal(c, expected)


@pytest.mark.parametrize(
    ("chip", "fp8"),
    [
        ("gfx942", "f8E4M3FNUZ"),
        ("gfx942", "f8E5M2FNUZ"),
        ("gfx950", "f8E4M3FN"),
        ("gfx1201", "f8E5M2"),
    ],
)
def test_fp8_casts(chip: str, fp8: str, tmp_path: Path) -> None:
    simulator = kernels.load(kernels.get_cast(chip, fp8), BUILD, tmp_path)
    dtype = TYPES[fp8]
    largest = float(ml_dtypes.finfo(dtype).max)
    a = make(np.random.default_rng(8), (1024,), "f32") * np.float32(largest / 2)
    a[:4] = [np.inf, -np.inf, np.nan, 0]
    f, b = np.zeros(1024, dtype), np.zeros(1024, np.float32)
    size = np.int32(1024)
    simulator.launch("cast", (1,), 128, [a, size, f, size, b, size])
    expected = np.clip(a, -largest, largest).astype(dtype)  # saturates, keeps NaN
    np.testing.assert_array_equal(f.astype(np.float32), expected.astype(np.float32))
    np.testing.assert_array_equal(b, f.astype(np.float32))


@pytest.mark.parametrize("chip", ["gfx942", "gfx1100"])
def test_missing_waits_are_noticed(chip: str, tmp_path: Path) -> None:
    """If a necessary wait or barrier is removed, the result is wrong or refused."""
    types, tile, threads = ("f16", "f16", "f32"), (32, 32, 32), 128
    source = kernels.get_gemm(chip, *types, tile, (False, True), threads)
    simulator = kernels.load(source, BUILD, tmp_path)
    arguments = (types, tile, (32, 32, 96), (False, True), threads)
    run_gemm(simulator, *arguments)
    waits = [
        address
        for address in simulator.steps
        if simulator.code.instructions[address].name in ("s_barrier", "s_waitcnt")
    ]

    def is_noticed(address: int) -> bool:
        for seed in range(4):
            altered = Simulator((tmp_path / "kernel.hsaco").read_bytes(), seed)
            altered.steps[address] = lambda wave: None
            try:
                run_gemm(altered, *arguments)
            except (MachineError, AssertionError):
                return True
        return False

    missed = [address for address in waits if not is_noticed(address)]
    assert len(waits) >= 5
    # LLVM waits again if only one of two paths has waited, so some waits are redundant.
    assert len(missed) <= len(waits) // 4
