"""Matrix instructions, by the formulas of the instruction set manuals.

"AMD Instinct MI300 Instruction Set Architecture", chapter "Matrix Arithmetic
Instructions"; "AMD Instinct CDNA4 Instruction Set Architecture", the same chapter, for
the instructions with small types; "RDNA3 Instruction Set Architecture", chapter "WMMA".
"""

import re
from collections.abc import Callable

import ml_dtypes
import numpy as np

from .disassembly import MachineError, MachineInstruction
from .modifiers import check_modifiers, get_bits
from .registers import Operand, Wave
from .vector_ops import fp8_types

Step = Callable[[Wave], None]

_SMALL_MFMA = re.compile(r"v_mfma_(scale_)?f32_(\d+)x\d+x(\d+)_f8f6f4")
_MFMA = re.compile(r"v_mfma_(f32|i32|f64)_(\d+)x(\d+)x(\d+)_?(.+)")
_WMMA = re.compile(r"v_wmma_(f32|i32)_16x16x16_(.+)")

#: The types that CBSZ and BLGP name, and their bits.
_SMALL_TYPES = (
    (ml_dtypes.float8_e4m3fn, 8),
    (ml_dtypes.float8_e5m2, 8),
    (ml_dtypes.float6_e2m3fn, 6),
    (ml_dtypes.float6_e3m2fn, 6),
    (ml_dtypes.float4_e2m1fn, 4),
)


def _types(text: str, chip: str) -> tuple[np.dtype, np.dtype]:
    """Element types of A and B in an instruction's name."""
    known = {
        "f16": np.float16,
        "bf16": ml_dtypes.bfloat16,
        "bf16_1k": ml_dtypes.bfloat16,
        "f32": np.float32,
        "f64": np.float64,
        "i8": np.int8,
        "iu8": np.int8,
        **fp8_types(chip),
    }
    names = text.split("_") if text.count("8") == 2 else [text, text]
    if any(name not in known for name in names):
        raise MachineError(f"unknown matrix operands '{text}'")
    return np.dtype(known[names[0]]), np.dtype(known[names[1]])


def _read(wave: Wave, operand: Operand, dtype: np.dtype) -> np.ndarray:
    """Elements of an operand's registers, shape (lanes, elements)."""
    words = wave.v[operand.first : operand.first + operand.count].T
    return np.ascontiguousarray(words).view(dtype)


def get_small_depth(size: int, bits: int) -> np.ndarray:
    """The place along K of each small element that a lane holds, shape (64, 32).

    Packed elements of a lane are neighbors; those of 8 bits are two runs of 16, half of
    K apart.
    """
    block, i = np.arange(64)[:, None] // size, np.arange(32)
    if bits == 8:
        return 16 * block + i % 16 + i // 16 * (1024 // size)
    return 32 * block + i


def _read_small(wave: Wave, operand: Operand, size: int, number: int) -> np.ndarray:
    """An operand of small elements as a matrix (row or column, K)."""
    dtype, bits = _SMALL_TYPES[number]
    if operand.count != bits:
        raise MachineError(f"expected {bits} registers, found '{operand.text}'")
    data = _read(wave, operand, np.dtype(np.uint8))
    places = np.unpackbits(data, axis=1, bitorder="little").reshape(64, 32, bits)
    codes = np.packbits(places, axis=2, bitorder="little")[..., 0]
    matrix = np.zeros((size, 2048 // size))
    rows = np.arange(64)[:, None] % size
    matrix[rows, get_small_depth(size, bits)] = codes.view(dtype).astype(np.float64)
    return matrix


def _read_scales(wave: Wave, operand: Operand, size: int, byte: int) -> np.ndarray:
    """Factors of the elements of an operand, shape (row or column, K).

    Lane l has the scale of row l % size and of the elements 32 * (l / size) and on, a
    power of two in one byte of its register.
    """
    if operand.constant is not None:
        words = np.full(64, operand.get_bits("u32"), np.uint32)
    else:
        words = wave.v[operand.first]
    codes = (words >> np.uint32(8 * byte)).astype(np.uint8)
    powers = codes.view(ml_dtypes.float8_e8m0fnu).astype(np.float64)
    return np.repeat(powers.reshape(-1, size).T, 32, axis=1)


def get_mfma_coordinates(size: int, wide: bool) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns of an accumulator's registers, shape (64, registers)."""
    lane = np.arange(64)[:, None]
    register = np.arange(size * size // 64)[None]
    if wide:
        row = 4 * register + lane // 16
    else:
        row = 64 // size * 4 * (register // 4) + 4 * (lane // size) + register % 4
    return row, lane % size + 0 * register


def get_wmma_coordinates(generation: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns of an accumulator's registers, shape (32, 8)."""
    lane, register = np.arange(32)[:, None], np.arange(8)[None]
    if generation == 11:
        row = 2 * register + lane // 16
    else:
        row = 8 * (lane // 16) + register
    return row, lane % 16 + 0 * register


def _accumulate(
    a: np.ndarray, b: np.ndarray, old: np.ndarray, dtype: np.dtype
) -> np.ndarray:
    wide = np.int64 if dtype == np.int32 else np.float64
    total = a.astype(wide) @ b.astype(wide) + old.astype(wide)
    return total.astype(dtype)


class MatrixCompiler:
    """Makes functions of mfma and wmma instructions."""

    def __init__(self, chip: str, generation: int) -> None:
        self.chip, self.generation = chip, generation

    def compile(self, inst: MachineInstruction) -> Step | None:
        """The function of `inst`; None if the instruction is unknown."""
        match = _SMALL_MFMA.fullmatch(inst.name)
        if match:
            size = int(match[2])
            if size * int(match[3]) != 2048 or self.chip != "gfx950":
                raise MachineError(f"unknown instruction '{inst.text}'")
            return self._small_mfma(inst, size, bool(match[1]))
        match = _MFMA.fullmatch(inst.name)
        if match:
            acc, m, n, k, types = match.groups()
            if m != n or inst.modifiers:
                raise MachineError(f"unknown instruction '{inst.text}'")
            return self._mfma(inst, acc, int(m), int(k), _types(types, self.chip))
        match = _WMMA.fullmatch(inst.name)
        if match:
            if match[2] == "iu8" and inst.modifiers != {"neg_lo": "[1,1,0]"}:
                raise MachineError(f"expected signed operands in '{inst.text}'")
            if match[2] != "iu8" and inst.modifiers:
                raise MachineError(f"unknown modifiers in '{inst.text}'")
            return self._wmma(inst, match[1], _types(match[2], self.chip))
        return None

    def _mfma(
        self,
        inst: MachineInstruction,
        acc: str,
        size: int,
        k: int,
        types: tuple[np.dtype, np.dtype],
    ) -> Step:
        dest, left, right, old = (Operand(text) for text in inst.operands)
        dtype = np.dtype({"f32": "f4", "i32": "i4", "f64": "f8"}[acc])
        per_lane = k * size // 64
        lane = np.arange(64)[:, None]
        depth = lane // size * per_lane + np.arange(per_lane)
        row, column = get_mfma_coordinates(size, acc == "f64")

        def step(wave: Wave) -> None:
            _require_all(wave, inst)
            a, b = np.zeros((size, k), types[0]), np.zeros((k, size), types[1])
            a[lane % size, depth] = _read(wave, left, types[0])
            b[depth, lane % size] = _read(wave, right, types[1])
            c = _read_accumulator(wave, old, dtype, (size, row, column))
            _write(wave, dest, _accumulate(a, b, c, dtype)[row, column])

        return step

    def _small_mfma(self, inst: MachineInstruction, size: int, scaled: bool) -> Step:
        """CDNA4's mfma of fp8, fp6 and fp4, scaled or not."""
        known = ("cbsz", "blgp", *(("op_sel", "op_sel_hi") if scaled else ()))
        check_modifiers(inst, known)
        formats = [int(inst.modifiers.get(key, "0")) for key in ("cbsz", "blgp")]
        if max(formats) >= len(_SMALL_TYPES):
            raise MachineError(f"unknown types in '{inst.text}'")
        low, high = (get_bits(inst, key, 3, 0) for key in ("op_sel", "op_sel_hi"))
        dest, *sources = (Operand(text) for text in inst.operands)
        left, right, old, *scales = sources
        row, column = get_mfma_coordinates(size, False)
        dtype = np.dtype(np.float32)

        def step(wave: Wave) -> None:
            _require_all(wave, inst)
            a = _read_small(wave, left, size, formats[0])
            b = _read_small(wave, right, size, formats[1])
            if scaled:
                a = a * _read_scales(wave, scales[0], size, low[0] + 2 * high[0])
                b = b * _read_scales(wave, scales[1], size, low[1] + 2 * high[1])
            c = _read_accumulator(wave, old, dtype, (size, row, column))
            _write(wave, dest, _accumulate(a, b.T, c, dtype)[row, column])

        return step

    def _wmma(
        self, inst: MachineInstruction, acc: str, types: tuple[np.dtype, np.dtype]
    ) -> Step:
        dest, left, right, old = (Operand(text) for text in inst.operands)
        dtype = np.dtype({"f32": "f4", "i32": "i4"}[acc])
        row, column = get_wmma_coordinates(self.generation)
        lane = np.arange(32)[:, None]
        if self.generation == 11:
            depth = np.arange(16)[None] + 0 * lane
        else:
            depth = lane // 16 * 8 + np.arange(8)

        def step(wave: Wave) -> None:
            _require_all(wave, inst)
            a, b = np.zeros((16, 16), types[0]), np.zeros((16, 16), types[1])
            for operand in (left, right):
                bits = _read(wave, operand, np.dtype(np.uint8))
                if self.generation == 11 and (bits[:16] != bits[16:]).any():
                    raise MachineError(f"halves of a wave differ in '{inst.text}'")
            a[lane % 16, depth] = _read(wave, left, types[0])
            b[depth, lane % 16] = _read(wave, right, types[1])
            c = _read_accumulator(wave, old, dtype, (16, row, column))
            _write(wave, dest, _accumulate(a, b, c, dtype)[row, column])

        return step


def _require_all(wave: Wave, inst: MachineInstruction) -> None:
    wave.get_exec()
    if not wave.all_lanes:
        raise MachineError(f"'{inst.text}' with inactive lanes")


def _read_accumulator(
    wave: Wave,
    operand: Operand,
    dtype: np.dtype,
    layout: tuple[int, np.ndarray, np.ndarray],
) -> np.ndarray:
    """A square matrix: its size, and the row and column of each lane's elements."""
    size, row, column = layout
    matrix = np.zeros((size, size), dtype)
    if operand.constant is None:
        matrix[row, column] = _read(wave, operand, dtype)
    elif operand.constant != "0":
        raise MachineError(f"unknown accumulator '{operand.text}'")
    return matrix


def _write(wave: Wave, dest: Operand, value: np.ndarray) -> None:
    words = np.ascontiguousarray(value).view(np.uint32)
    wave.v[dest.first : dest.first + dest.count] = words.T
