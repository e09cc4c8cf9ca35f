"""Matrix instructions, by the formulas of the instruction set manuals.

"AMD Instinct MI300 Instruction Set Architecture", chapter "Matrix Arithmetic
Instructions"; "RDNA3 Instruction Set Architecture", chapter "WMMA".
"""

import re
from collections.abc import Callable

import ml_dtypes
import numpy as np

from .disassembly import Instruction, MachineError
from .state import Operand, Wave
from .vector_ops import fp8_types

Step = Callable[[Wave], None]

_MFMA = re.compile(r"v_mfma_(f32|i32|f64)_(\d+)x(\d+)x(\d+)_?(.+)")
_WMMA = re.compile(r"v_wmma_(f32|i32)_16x16x16_(.+)")


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
    a: np.ndarray, b: np.ndarray, old: np.ndarray, dtype: type
) -> np.ndarray:
    wide = np.int64 if dtype == np.int32 else np.float64
    total = a.astype(wide) @ b.astype(wide) + old.astype(wide)
    return total.astype(dtype)


class MatrixCompiler:
    """Makes functions of mfma and wmma instructions."""

    def __init__(self, chip: str, generation: int) -> None:
        self.chip, self.generation = chip, generation

    def compile(self, inst: Instruction) -> Step | None:
        """The function of `inst`; None if the instruction is unknown."""
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
        inst: Instruction,
        acc: str,
        size: int,
        k: int,
        types: tuple[np.dtype, np.dtype],
    ) -> Step:
        dest, left, right, old = (Operand(text) for text in inst.operands)
        dtype = {"f32": np.float32, "i32": np.int32, "f64": np.float64}[acc]
        per_lane = k * size // 64
        lane = np.arange(64)[:, None]
        depth = lane // size * per_lane + np.arange(per_lane)
        row, column = get_mfma_coordinates(size, acc == "f64")

        def step(wave: Wave) -> None:
            _require_all(wave, inst)
            a, b = np.zeros((size, k), types[0]), np.zeros((k, size), types[1])
            a[lane % size, depth] = _read(wave, left, types[0])
            b[depth, lane % size] = _read(wave, right, types[1])
            c = np.zeros((size, size), dtype)
            if old.constant is None:
                c[row, column] = _read(wave, old, dtype)
            elif old.constant != "0":
                raise MachineError(f"unknown accumulator in '{inst.text}'")
            _write(wave, dest, _accumulate(a, b, c, dtype)[row, column])

        return step

    def _wmma(
        self, inst: Instruction, acc: str, types: tuple[np.dtype, np.dtype]
    ) -> Step:
        dest, left, right, old = (Operand(text) for text in inst.operands)
        dtype = {"f32": np.float32, "i32": np.int32}[acc]
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
            c = np.zeros((16, 16), dtype)
            if old.constant is None:
                c[row, column] = _read(wave, old, dtype)
            elif old.constant != "0":
                raise MachineError(f"unknown accumulator in '{inst.text}'")
            _write(wave, dest, _accumulate(a, b, c, dtype)[row, column])

        return step


def _require_all(wave: Wave, inst: Instruction) -> None:
    wave.get_exec()
    if not wave.all_lanes:
        raise MachineError(f"'{inst.text}' with inactive lanes")


def _write(wave: Wave, dest: Operand, value: np.ndarray) -> None:
    words = np.ascontiguousarray(value).view(np.uint32)
    wave.v[dest.first : dest.first + dest.count] = words.T
