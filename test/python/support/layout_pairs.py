"""Random fragment layouts; kernels that convert, flip, scan and reduce fragments."""

import dataclasses
import math
import random
from collections.abc import Sequence

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
        """The number of registers of a thread."""
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

    def arguments(self, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Bit patterns, distinct if possible, an empty result, and the exact one."""
        dtype = np.dtype(ELEMENTS[self.element])
        count = math.prod(self.shape)
        rng = np.random.default_rng(seed)
        if self.element in ("i1", "i4"):
            bits = rng.integers(0, 1 << int(self.element[1:]), count, np.uint8)
        else:
            # Numbers of at most six bits are exact and distinct in all types up to 16
            # bits; wider types number their elements.
            top = count if dtype.itemsize > 2 else min(count, 61)
            bits = (np.arange(count) % top + 1).astype(np.float64)
            if dtype.kind == "f" and dtype.itemsize < 4:
                bits = bits / 8
        x = bits.astype(dtype).reshape(self.shape)
        return x, np.zeros_like(x), x


def module(cases: "Sequence[Case]", target: str) -> str:
    """A module with kernels `case_0`, `case_1`, ... for a chip."""
    vendor = "nvvm" if target.startswith("sm_") else "rocdl"
    kernels = "".join(case.kernel(f"case_{i}") for i, case in enumerate(cases))
    return f'gpu.module @cases [#{vendor}.target<chip = "{target}">] {{{kernels}\n}}\n'


def lowering(target: str) -> str:
    """The passes after the inference of layouts."""
    name = "nvvm" if target.startswith("sm_") else "rocdl"
    passes = [
        "tile-plan-shared-memory",
        "tile-insert-barriers",
        f"convert-tile-to-{name}",
        "cse",
        "tile-expand-math",
        "tile-expand-affine",
        "tile-expand-control-flow",
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
    """Modes that cover the shape, sometimes with coordinates outside of it."""
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
    """A layout that is reached by an exchange between lanes of a warp."""
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


@dataclasses.dataclass(frozen=True)
class Staged:
    """A matrix that goes through shared memory, a fragment, and shared memory."""

    layout: Layout
    shape: tuple[int, int]
    element: str
    #: The layouts of the two buffers.
    buffers: tuple[str, str]
    threads: int = 128

    def kernel(self, name: str) -> str:
        """A kernel that copies its argument."""
        shape = f"{self.shape[0]}x{self.shape[1]}x{self.element}"
        space = "#gpu.address_space<workgroup>"
        first, second = (f"memref<{shape}, {b}, {space}>" for b in self.buffers)
        fragment = f"tensor<{shape}, {self.layout}>"
        return f"""
  gpu.func @{name}(%x: memref<{shape}>, %y: memref<{shape}>)
      kernel attributes {{tile.threads = {self.threads} : i32}} {{
    %a = tile.alloc_shared : {first}
    %b = tile.alloc_shared : {second}
    tile.copy %x to %a : memref<{shape}> to {first}
    %0 = tile.load %a : {first} -> {fragment}
    tile.store %0 to %b : {fragment} to {second}
    tile.copy %b to %y : {second} to memref<{shape}>
    gpu.return
  }}"""

    def arguments(self, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The arguments, as for a :class:`Pair`."""
        pair = Pair(self.layout, self.layout, self.shape, self.element, self.threads)
        return pair.arguments(seed)


def staged_cases() -> list[Staged]:
    """Fragments that hold 8x8 matrices, by rows or by columns."""

    def layouts(bits: int, columns: int) -> list[Layout]:
        word = 32 // bits
        thread = ((4, word, 1), (8, 1, 0), (4, 16, 0))
        run = ((word, 1, 1),) if word > 1 else ()
        rows = Layout(thread, (*run, (2, 8, 0), (columns // (4 * word), 4 * word, 1)))
        if bits != 16:
            return [rows]
        turned = ((4, 2, 0), (8, 1, 1), (4, 8, 0))
        across = Layout(turned, ((2, 1, 0), (columns // 8, 8, 1), (2, 32, 0)))
        return [rows, across]

    cases = []
    for element, bits in [("f8E4M3FN", 8), ("f16", 16), ("bf16", 16), ("f32", 32)]:
        columns = 1024 // bits
        swizzled = f"#tile.shared<(64, {columns}):({columns}, 1), Sw<3,4,3>>"
        pitch = columns + 128 // bits
        padded = f"#tile.shared<(64, {columns}):({pitch}, 1)>"
        for layout in layouts(bits, columns):
            for buffers in [(swizzled, padded), (padded, swizzled)]:
                cases.append(Staged(layout, (64, columns), element, buffers))
    return cases


@dataclasses.dataclass(frozen=True)
class Combination:
    """A `tile.scan` or, with `kind` "reduce", a `tile.reduce` along an axis."""

    layout: Layout
    shape: tuple[int, ...]
    axis: int
    kind: str
    element: str
    threads: int

    @property
    def result_shape(self) -> tuple[int, ...]:
        if self.kind != "reduce":
            return self.shape
        return self.shape[: self.axis] + self.shape[self.axis + 1 :]

    @property
    def result_layout(self) -> Layout:
        """The result's layout: threads along a reduced axis hold copies."""
        if self.kind != "reduce":
            return self.layout

        def along(mode: Mode) -> bool:
            return mode[1] != 0 and mode[2] == self.axis

        def shift(mode: Mode) -> Mode:
            extent, stride, dim = mode
            return (
                (extent, 0, 0)
                if along(mode)
                else (extent, stride, dim - (stride != 0 and dim > self.axis))
            )

        thread = tuple(map(shift, self.layout.thread))
        value = tuple(shift(mode) for mode in self.layout.value if not along(mode))
        return Layout(thread, value)

    def kernel(self, name: str) -> str:
        """A kernel that loads, combines and stores."""

        def types(shape: tuple[int, ...], layout: Layout) -> tuple[str, str]:
            text = "".join(f"{extent}x" for extent in shape) + self.element
            return f"memref<{text}>", f"tensor<{text}, {layout}>"

        memref, source = types(self.shape, self.layout)
        out, result = types(self.result_shape, self.result_layout)
        if self.kind == "reduce":
            combine = f"tile.reduce <sum> %0 {{axis = {self.axis} : i64}}"
            combine += f" : {source} -> {result}"
        else:
            flag = ", reverse" if self.kind == "reverse" else ""
            combine = (
                f"tile.scan <sum> %0 {{axis = {self.axis} : i64{flag}}} : {source}"
            )
        return f"""
  gpu.func @{name}(%x: {memref}, %y: {out})
      kernel attributes {{tile.threads = {self.threads} : i32}} {{
    %0 = tile.load %x : {memref} -> {source}
    %1 = {combine}
    tile.store %1 to %y : {result} to {out}
    gpu.return
  }}"""

    def arguments(self, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Small integers, an empty result, and the exact result."""
        dtype = ELEMENTS[self.element]
        x = np.random.default_rng(seed).integers(-2, 3, self.shape).astype(dtype)
        wide = x.astype(np.float64)
        if self.kind == "reduce":
            wide = wide.sum(axis=self.axis)
        elif self.kind == "reverse":
            wide = np.flip(np.flip(wide, self.axis).cumsum(self.axis), self.axis)
        else:
            wide = wide.cumsum(axis=self.axis)
        return x, np.zeros(self.result_shape, dtype), wide.astype(dtype)


@dataclasses.dataclass(frozen=True)
class Flip:
    """A `tile.flip` along some axes."""

    layout: Layout
    shape: tuple[int, ...]
    axes: tuple[int, ...]
    element: str
    threads: int

    def kernel(self, name: str) -> str:
        """A kernel that loads, flips and stores."""
        shape = "".join(f"{extent}x" for extent in self.shape) + self.element
        memref, fragment = f"memref<{shape}>", f"tensor<{shape}, {self.layout}>"
        axes = ", ".join(map(str, self.axes))
        return f"""
  gpu.func @{name}(%x: {memref}, %y: {memref})
      kernel attributes {{tile.threads = {self.threads} : i32}} {{
    %0 = tile.load %x : {memref} -> {fragment}
    %1 = tile.flip %0 {{axes = array<i64: {axes}>}} : {fragment}
    tile.store %1 to %y : {fragment} to {memref}
    gpu.return
  }}"""

    def arguments(self, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The arguments of a :class:`Pair`, and the exact result."""
        pair = Pair(self.layout, self.layout, self.shape, self.element, self.threads)
        x, y, _ = pair.arguments(seed)
        return x, y, np.flip(x, self.axes)


Case = Pair | Staged | Combination | Flip


def random_combinations(count: int, seed: int, lanes: int) -> list[Combination]:
    """Scans and reductions of fragments in random layouts."""
    combinations: list[Combination] = []
    for pair in random_pairs(4 * count, seed, lanes):
        if pair.source.registers > MAX_REGISTERS // 2:
            continue
        rng = random.Random(f"{seed} {len(combinations)}")
        axis = rng.randrange(len(pair.shape))
        kind = rng.choice(["scan", "reverse", "reduce"])
        if kind == "reduce" and len(pair.shape) == 1:
            kind = "scan"
        element = rng.choice(["i8", "i32", "i64", "f16", "f32", "f64"])
        combinations.append(
            Combination(pair.source, pair.shape, axis, kind, element, pair.threads)
        )
    return combinations[:count]


def random_flips(count: int, seed: int, lanes: int) -> list[Flip]:
    """Flips of fragments in random layouts, along one axis or several."""
    flips = []
    for number, pair in enumerate(random_pairs(count, seed, lanes)):
        rng = random.Random(f"{seed} {number}")
        axes = sorted(
            rng.sample(range(len(pair.shape)), rng.randint(1, len(pair.shape)))
        )
        flips.append(
            Flip(pair.source, pair.shape, tuple(axes), pair.element, pair.threads)
        )
    return flips
