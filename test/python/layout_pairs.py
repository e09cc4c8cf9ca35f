"""Random pairs of fragment layouts, and kernels that convert between them."""

import dataclasses
import math
import random

import ml_dtypes
import numpy as np

#: From a type of MLIR to the numpy type of its elements in memory.
ELEMENTS = {
    "i1": np.bool_,
    "i4": np.uint8,
    "i8": np.int8,
    "f8E4M3FN": ml_dtypes.float8_e4m3fn,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "i16": np.int16,
    "f32": np.float32,
    "i32": np.int32,
    "f64": np.float64,
    "i64": np.int64,
}
EXTENTS = [1, 2, 3, 4, 5, 6, 8, 12, 16, 24, 32, 40, 48, 64]
MAX_ELEMENTS = 2048
MAX_REGISTERS = 64

#: Extent, stride and dimension; a stride of 0 is replication.
Mode = tuple[int, int, int]


@dataclasses.dataclass(frozen=True)
class Layout:
    """A fragment layout: the modes of threads and of registers."""

    thread: tuple[Mode, ...]
    value: tuple[Mode, ...]

    @property
    def registers(self) -> int:
        """How many a thread holds."""
        return math.prod(mode[0] for mode in self.value)

    def __str__(self) -> str:
        def text(modes: tuple[Mode, ...]) -> str:
            extents = ", ".join(str(mode[0]) for mode in modes)
            strides = ", ".join(f"{s}*d{d}" if s else "0" for _, s, d in modes)
            return f"({extents}):({strides})"

        return (
            f"#tile.fragment<thread = {text(self.thread)}, value = {text(self.value)}>"
        )


@dataclasses.dataclass(frozen=True)
class Pair:
    """A conversion of a fragment of `shape` from one layout to another."""

    source: Layout
    result: Layout
    shape: tuple[int, ...]
    element: str
    threads: int

    def kernel(self, name: str) -> str:
        """A kernel that loads in the source layout and stores in the result's."""
        shape = "x".join(str(extent) for extent in self.shape)
        memref = f"memref<{shape}x{self.element}>"
        source = f"tensor<{shape}x{self.element}, {self.source}>"
        result = f"tensor<{shape}x{self.element}, {self.result}>"
        return f"""
  gpu.func @{name}(%x: {memref}, %y: {memref})
      kernel attributes {{tile.threads = {self.threads} : i32}} {{
    %0 = tile.load %x : {memref} -> {source}
    %1 = tile.convert_layout %0 : {source} to {result}
    tile.store %1 to %y : {result} to {memref}
    gpu.return
  }}"""

    def arguments(self, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Distinct bit patterns, as far as the type has them, and room for them."""
        dtype = np.dtype(ELEMENTS[self.element])
        count = math.prod(self.shape)
        rng = np.random.default_rng(seed)
        if self.element in ("i1", "i4"):
            bits = rng.integers(0, 1 << int(self.element[1:]), count, np.uint8)
        else:
            # Numbers of at most six bits have an exact and distinct image in all
            # types up to 16 bits; wider types number their elements.
            top = count if dtype.itemsize > 2 else min(count, 61)
            bits = (np.arange(count) % top + 1).astype(np.float64)
            if dtype.kind == "f" and dtype.itemsize < 4:
                bits = bits / 8
        x = bits.astype(dtype).reshape(self.shape)
        return x, np.zeros_like(x)


def module(pairs: list[Pair], target: str) -> str:
    """A module with kernels `pair_0`, `pair_1`, ... for a chip."""
    vendor = "nvvm" if target.startswith("sm_") else "rocdl"
    kernels = "".join(pair.kernel(f"pair_{i}") for i, pair in enumerate(pairs))
    return f'gpu.module @pairs [#{vendor}.target<chip = "{target}">] {{{kernels}\n}}\n'


def lowering(target: str) -> str:
    """The passes behind the inference of layouts."""
    name = "nvvm" if target.startswith("sm_") else "rocdl"
    passes = [
        "tile-plan-shared-memory",
        "tile-insert-barriers",
        f"convert-tile-to-{name}",
        "cse",
        "tile-expand-math",
        "lower-affine",
        "convert-scf-to-cf",
        "convert-tile-threads-to-llvm",
        "reconcile-unrealized-casts",
        "canonicalize",
        "cse",
    ]
    if name == "nvvm":
        passes.append("convert-nvvm-to-llvm")
    return f"builtin.module(gpu.module({','.join(passes)}))"


def _smallest_factor(number: int) -> int:
    return next(f for f in range(2, number + 1) if number % f == 0)


def _digits(rng: random.Random, shape: tuple[int, ...]) -> list[Mode]:
    """Modes that cover the shape, sometimes with coordinates past it."""
    digits = []
    for dim, extent in enumerate(shape):
        stride = 1
        while stride < extent:
            left = -(-extent // stride)
            digit = 2 if rng.random() < 0.15 else _smallest_factor(left)
            if rng.random() < 0.3 and left % (2 * digit) == 0:
                digit *= 2
            digits.append((digit, stride, dim))
            stride *= digit
    return digits


def _layout(rng: random.Random, shape: tuple[int, ...], threads: int) -> Layout:
    """Any distribution of digits over threads and registers."""
    thread, value, left = [], [], threads
    digits = _digits(rng, shape)
    rng.shuffle(digits)
    for digit in digits:
        if left % digit[0] == 0 and rng.random() < 0.7:
            thread.append(digit)
            left //= digit[0]
        else:
            value.append(digit)
    while left > 1:
        factor = _smallest_factor(left)
        thread.append((factor, 0, 0))
        left //= factor
    rng.shuffle(thread)
    if rng.random() < 0.1:
        value.insert(0, (2, 0, 0))
    if rng.random() < 0.5:  # neighbours first, as accesses like it
        value.sort(key=lambda mode: (-mode[2], mode[1]))
    return Layout(tuple(thread), tuple(value))


def _neighbour(rng: random.Random, layout: Layout, lanes: int) -> Layout:
    """A layout that lanes of a warp reach by an exchange."""
    thread, value, step = list(layout.thread), list(layout.value), 1
    for i, mode in enumerate(thread):
        if step * mode[0] <= lanes:
            for j, other in enumerate(value):
                if other[0] == mode[0] and rng.random() < 0.6:
                    thread[i], value[j] = value[j], thread[i]
                    break
        step *= mode[0]
    inside = [i for i in range(len(thread)) if thread[i][0] == 2][:3]
    if len(inside) > 1 and rng.random() < 0.3:
        a, b = inside[:2]
        thread[a], thread[b] = thread[b], thread[a]
    rng.shuffle(value)
    return Layout(tuple(thread), tuple(value))


def random_pairs(count: int, seed: int, lanes: int) -> list[Pair]:
    """Conversions between random layouts, half of them within warps of `lanes`."""
    rng = random.Random(seed)
    pairs: list[Pair] = []
    while len(pairs) < count:
        shape, total = [], 1
        for _ in range(rng.randint(1, 3)):
            extent = rng.choice(EXTENTS)
            if total * extent <= MAX_ELEMENTS:
                shape.append(extent)
                total *= extent
        if not shape:
            continue
        threads = lanes * rng.choice([1, 2, 3, 4])
        source = _layout(rng, tuple(shape), threads)
        if len(pairs) % 2:
            result = _layout(rng, tuple(shape), threads)
        else:
            result = _neighbour(rng, source, lanes)
        if max(source.registers, result.registers) > MAX_REGISTERS:
            continue
        element = rng.choice(sorted(set(ELEMENTS) - {"i4"}))
        pairs.append(Pair(source, result, tuple(shape), element, threads))
    return pairs
