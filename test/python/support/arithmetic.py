"""Kernels that compute each operation of numbers on edge values, and their results.

Tests compare the interpreter, the simulator and the code for GPUs with the results,
which ``definitions.py`` defines.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np

from support.definitions import (
    BINARY,
    COMPARISONS,
    INDEX_TWINS,
    UNARY,
    WIDTHS,
    Definition,
    edges,
    float_edges,
    natural,
    to_integer,
    wrap,
)
from support.interpreting import FLOATS, INTS, round_to

#: Threads of a block.
THREADS = 64
Array = np.ndarray


@dataclasses.dataclass
class ArithmeticCase:
    """A kernel of one block: its body, its inputs and what it has to write.

    Argument ``%a0`` is the first input, and ``%r0`` the first result.
    """

    name: str
    body: str
    inputs: list[tuple[str, Array]]
    results: list[tuple[str, Array]]

    def module(self) -> str:
        """The text of a module with the kernel `k`."""
        names = [f"%a{i}" for i in range(len(self.inputs))]
        names += [f"%r{i}" for i in range(len(self.results))]
        signature = ", ".join(
            f"{name}: {memref(array, type_)}"
            for name, (type_, array) in zip(
                names, self.inputs + self.results, strict=True
            )
        )
        return (
            "gpu.module @m {\n"
            f"gpu.func @k({signature}) kernel attributes {{"
            f"tile.threads = {THREADS} : i32, tile.grid = affine_map<() -> (1)>}} {{\n"
            f"{self.body}\n"
            "gpu.return\n}\n}\n"
        )

    def arguments(self) -> list[Array]:
        """The inputs, and arrays for the results with other contents than those."""
        results = [
            (~array.view(f"u{array.itemsize}")).view(array.dtype).copy()
            for _, array in self.results
        ]
        return [array.copy() for _, array in self.inputs] + results

    def check(self, arguments: Sequence[Array]) -> None:
        """Compares what a run has left in `arguments` with the expected results."""
        found = arguments[len(self.inputs) :]
        for i, ((type_, expected), actual) in enumerate(
            zip(self.results, found, strict=True)
        ):
            if type_ in FLOATS:
                # All NaNs are equal, zeros of either sign are not.
                actual, expected = (x.astype("f8") for x in (actual, expected))
                wrong = (actual != expected) & ~(np.isnan(actual) & np.isnan(expected))
                wrong |= np.signbit(actual) != np.signbit(expected)
                wrong &= ~(np.isnan(actual) & np.isnan(expected))
            else:
                wrong = actual != expected
            places = [tuple(map(int, place)) for place in np.argwhere(wrong)[:5]]
            listed = [f"{p}: {actual[p]}, expected {expected[p]}" for p in places]
            line = [text for text in self.body.splitlines() if f"%v{i} =" in text]
            assert not places, f"{self.name}, result {i} {line}: {'; '.join(listed)}"


def memref(array: Array, type_: str) -> str:
    return f"memref<{'x'.join(map(str, array.shape))}x{type_}>"


def fragment(count: int, type_: str) -> str:
    return f"tensor<{count}x{type_}>"


# --- Kernels of integers -------------------------------------------------------


def _int_array(values: Sequence[int], type_: str) -> Array:
    dtype = INTS["i64" if type_ == "index" else type_]
    width = WIDTHS[type_]
    return np.array([wrap(value, width) for value in values], dtype)


def _load(name: str, argument: str, array: Array, type_: str) -> str:
    count = len(array)
    return (
        f"{name} = tile.load {argument} : {memref(array, type_)} "
        f"-> {fragment(count, type_)}"
    )


def _names(type_: str) -> dict[str, Definition]:
    if type_ != "index":
        return BINARY
    return BINARY | {name: BINARY[twin] for name, twin in INDEX_TWINS.items()}


def binary_cases(type_: str) -> Iterator[ArithmeticCase]:
    """All pairs of edge values, as fragments and as scalars.

    Values of type index are read and written as i64.
    """
    width, memory = WIDTHS[type_], "i64" if type_ == "index" else type_
    for scalar in (False, True):
        numbers = edges(width)[:10] if scalar else edges(width)
        pairs = [(a, b) for a in numbers for b in numbers]
        columns = list(zip(*pairs, strict=True))
        inputs = [(memory, _int_array(column, memory)) for column in columns]
        array = inputs[0][1]
        kind, stored = (
            (type_, memory)
            if scalar
            else (fragment(len(pairs), type_), fragment(len(pairs), memory))
        )
        lines, results = [], []
        for i, name in enumerate("xy"):
            if scalar:
                load = f"memref.load %a{i}[%i] : {memref(array, memory)}"
            else:
                load = f"tile.load %a{i} : {memref(array, memory)} -> {stored}"
            lines.append(f"%m{name} = {load}")
            cast = "arith.index_cast" if type_ == "index" else "arith.bitcast"
            lines.append(f"%{name} = {cast} %m{name} : {stored} to {kind}")
        for name, define in _names(type_).items():
            if name.startswith("index.") and not scalar:
                continue
            i = len(results)
            results.append(
                (memory, _int_array([define(a, b, width) for a, b in pairs], memory))
            )
            suffix = "" if name.startswith("index.") else f" : {kind}"
            lines.append(f"%v{i} = {name} %x, %y{suffix}")
            lines.append(f"%m{i} = {cast} %v{i} : {kind} to {stored}")
            if scalar:
                lines.append(f"memref.store %m{i}, %r{i}[%i] : {memref(array, memory)}")
            else:
                lines.append(
                    f"tile.store %m{i} to %r{i} : {stored} to {memref(array, memory)}"
                )
        body = loop(len(pairs), lines) if scalar else "\n".join(lines)
        name = f"binary-{type_}" + ("-scalars" if scalar else "")
        yield ArithmeticCase(name, body, inputs, results)


def loop(count: int, lines: Sequence[str]) -> str:
    """The body of a kernel that runs `lines` for each `%i`."""
    return "\n".join(
        [
            "%c0 = arith.constant 0 : index",
            "%c1 = arith.constant 1 : index",
            f"%n = arith.constant {count} : index",
            "scf.for %i = %c0 to %n step %c1 {",
            *lines,
            "}",
        ]
    )


def unary_case(type_: str) -> ArithmeticCase:
    """Operations of one integer, and comparisons."""
    width = WIDTHS[type_]
    pairs = [(a, b) for a in edges(width) for b in edges(width)]
    array = _int_array([a for a, _ in pairs], type_)
    other = _int_array([b for _, b in pairs], type_)
    value = fragment(len(array), type_)
    lines = [_load("%x", "%a0", array, type_), _load("%y", "%a1", other, type_)]
    results = []

    def add(text: str, expected: Array, to: str = type_) -> None:
        i = len(results)
        results.append((to, expected))
        lines.append(f"%v{i} = {text}")
        lines.append(
            f"tile.store %v{i} to %r{i} : {fragment(len(array), to)} "
            f"to {memref(array, to)}"
        )

    for name, define in UNARY.items():
        expected = [define(a, width) for a, _ in pairs]
        add(f"{name} %x : {value}", _int_array(expected, type_))
    for name, compare in COMPARISONS.items():
        lines.append(f"%{name} = arith.cmpi {name}, %x, %y : {value}")
        bits = fragment(len(array), "i1")
        add(
            f"arith.extui %{name} : {bits} to {fragment(len(array), 'i8')}",
            np.array([compare(a, b) for a, b in pairs], np.int8),
            "i8",
        )
    inputs = [(type_, array), (type_, other)]
    return ArithmeticCase(f"unary-{type_}", "\n".join(lines), inputs, results)


def constant_case(name: str, type_: str, side: str) -> ArithmeticCase:
    """An operation of which one operand is a constant: each edge value in a row."""
    width, define = WIDTHS[type_], BINARY[name]
    array = _int_array(edges(width), type_)
    count = len(array)
    value, row = fragment(count, type_), f"tensor<1x{count}x{type_}>"
    rows = np.zeros((count, count), array.dtype)
    lines = [_load("%x", "%a0", array, type_)]
    for i, constant in enumerate(map(int, array)):
        operands = f"%x, %k{i}" if side == "rhs" else f"%k{i}, %x"
        lines += [
            f"%k{i} = arith.constant dense<{constant}> : {value}",
            f"%s{i} = {name} {operands} : {value}",
            f"%t{i} = tile.expand_dims %s{i} {{axis = 0 : i64}} : {value} -> {row}",
            f"tile.store %t{i} to %r0[{i}, 0] : {row} to {memref(rows, type_)}",
        ]
        pairs = [(int(x), constant) for x in array]
        if side == "lhs":
            pairs = [(b, a) for a, b in pairs]
        rows[i] = _int_array([define(a, b, width) for a, b in pairs], type_)
    return ArithmeticCase(
        f"constant-{name}-{type_}-{side}",
        "\n".join(lines),
        [(type_, array)],
        [(type_, rows)],
    )


def folded_case(type_: str) -> ArithmeticCase:
    """Operations of two constants that upstream would leave without a result."""
    width = WIDTHS[type_]
    low = -(1 << (width - 1))
    lines, expected = [], []
    value = fragment(1, type_)
    for name, define in BINARY.items():
        shift = name.startswith("arith.sh")
        for a in (1, -5, low):
            for b in (width, -1, low) if shift else (0, -1):
                i = len(expected)
                expected.append(define(a, b, width))
                lines += [
                    f"%x{i} = arith.constant dense<{a}> : {value}",
                    f"%y{i} = arith.constant dense<{b}> : {value}",
                    f"%v{i} = {name} %x{i}, %y{i} : {value}",
                ]
    array = _int_array(expected, type_)
    lines += [
        f"tile.store %v{i} to %r0[{i}] : {value} to {memref(array, type_)}"
        for i in range(len(expected))
    ]
    return ArithmeticCase(f"folded-{type_}", "\n".join(lines), [], [(type_, array)])


def bit_case() -> ArithmeticCase:
    """Operations of integers of one bit, also with constants."""
    pairs = [(a, b) for a in (0, -1) for b in (0, -1)]
    inputs = [("i8", _int_array(column, "i8")) for column in zip(*pairs, strict=True)]
    bytes_, bits = fragment(len(pairs), "i8"), fragment(len(pairs), "i1")
    lines = []
    for i, name in enumerate("xy"):
        lines += [
            _load(f"%byte{name}", f"%a{i}", inputs[i][1], "i8"),
            f"%{name} = arith.trunci %byte{name} : {bytes_} to {bits}",
        ]
    lines += [
        f"%k{value} = arith.constant dense<{value != 0}> : {bits}".lower()
        for value in (0, 1)
    ]
    results = []
    for name, define in BINARY.items():
        if name == "math.ipowi":
            continue
        for operand, fixed in (("%y", None), ("%k0", 0), ("%k1", -1)):
            i = len(results)
            expected = [define(a, b if fixed is None else fixed, 1) for a, b in pairs]
            expected = [natural(value, 1) for value in expected]
            results.append(("i8", _int_array(expected, "i8")))
            lines += [
                f"%v{i} = {name} %x, {operand} : {bits}",
                f"%w{i} = arith.extui %v{i} : {bits} to {bytes_}",
                f"tile.store %w{i} to %r{i} : {bytes_} to {memref(inputs[0][1], 'i8')}",
            ]
    return ArithmeticCase("bits", "\n".join(lines), inputs, results)


def division_of_parts(bits: int) -> ArithmeticCase:
    """Divisions of the lowest bits of numbers: LLVM for AMD has forms for few bits."""
    top = (1 << bits) - 1
    numbers = [top, top - 1, top - 2, top // 2, top // 2 + 1, top // 3, 2 * top // 3]
    numbers += [top * 5 // 7, 1 << bits // 2, (1 << bits // 2) - 1, 7, 3, 2, 1]
    pairs = [(a, b) for a in numbers for b in numbers]
    inputs = [
        ("i32", _int_array([number | -1 << bits for number in column], "i32"))
        for column in zip(*pairs, strict=True)
    ]
    array = inputs[0][1]
    value = fragment(len(pairs), "i32")
    lines = [f"%top = arith.constant dense<{top}> : {value}"]
    for i, name in enumerate("xy"):
        lines += [
            _load(f"%whole{name}", f"%a{i}", array, "i32"),
            f"%{name} = arith.andi %whole{name}, %top : {value}",
        ]
    results = []
    for i, name in enumerate(("divui", "remui", "divsi", "remsi")):
        define = BINARY[f"arith.{name}"]
        expected = [define(a, b, 32) for a, b in pairs]
        results.append(("i32", _int_array(expected, "i32")))
        lines += [
            f"%v{i} = arith.{name} %x, %y : {value}",
            f"tile.store %v{i} to %r{i} : {value} to {memref(array, 'i32')}",
        ]
    return ArithmeticCase(f"divide-{bits}-bits", "\n".join(lines), inputs, results)


# --- Kernels of conversions ----------------------------------------------------


def _conversions(type_: str) -> list[tuple[str, str, bool]]:
    return [
        (f"arith.fpto{'s' if signed else 'u'}i", to, signed)
        for to in ("i8", "i16", "i32", "i64")
        for signed in (True, False)
    ]


def float_case(type_: str) -> ArithmeticCase:
    """Conversions of floating point values to all integers."""
    array = float_edges(type_)
    value = fragment(len(array), type_)
    lines = [_load("%x", "%a0", array, type_)]
    results = []
    for i, (name, to, signed) in enumerate(_conversions(type_)):
        integers = fragment(len(array), to)
        lines.append(f"%v{i} = {name} %x : {value} to {integers}")
        lines.append(f"tile.store %v{i} to %r{i} : {integers} to {memref(array, to)}")
        expected = [to_integer(float(x), WIDTHS[to], signed) for x in array]
        results.append((to, _int_array(expected, to)))
    return ArithmeticCase(
        f"to-integer-{type_}", "\n".join(lines), [(type_, array)], results
    )


def float_constant_case(type_: str) -> ArithmeticCase:
    """Conversions of constants to integers."""
    array = np.unique(float_edges(type_))[::3]
    array = np.append(array, float_edges(type_)[[-1, -2]])  # NaN and -infinity
    bits = array.view(f"u{array.itemsize}")
    lines, results = [], []
    value = fragment(1, type_)
    for j, code in enumerate(bits):
        lines.append(f"%x{j} = arith.constant dense<{code:#x}> : {value}")
    for name, to, signed in _conversions(type_):
        if to in ("i16", "i64"):  # Half of the types is enough.
            continue
        expected = [to_integer(float(x), WIDTHS[to], signed) for x in array]
        i, integers = len(results), fragment(1, to)
        results.append((to, _int_array(expected, to)))
        for j in range(len(array)):
            lines += [
                f"%v{i}_{j} = {name} %x{j} : {value} to {integers}",
                f"tile.store %v{i}_{j} to %r{i}[{j}] "
                f": {integers} to {memref(array, to)}",
            ]
    return ArithmeticCase(f"constant-to-integer-{type_}", "\n".join(lines), [], results)


def integer_case(type_: str) -> ArithmeticCase:
    """Conversions of integers to floating point, to other widths and back."""
    width = WIDTHS[type_]
    array = _int_array(edges(width), type_)
    value = fragment(len(array), type_)
    lines = [_load("%x", "%a0", array, type_)]
    results = []

    def add(name: str, to: str, expected: Array) -> None:
        i = len(results)
        results.append((to, expected))
        result = fragment(len(array), to)
        lines.append(f"%v{i} = {name} %x : {value} to {result}")
        lines.append(f"tile.store %v{i} to %r{i} : {result} to {memref(array, to)}")

    for to in ("f64", "f32", "f16", "bf16"):
        for name, ints in (("s", array), ("u", array.view(f"u{array.itemsize}"))):
            if to in ("f64", "f32"):  # The processor rounds once.
                expected = ints.astype(FLOATS[to])
            elif width < 64:
                expected = round_to(ints.astype("f8"), to)
            else:
                continue  # Rounded twice by way of f64.
            add(f"arith.{name}itofp", to, expected)
    for to, bits in WIDTHS.items():
        if to == "index" or bits == width:
            continue
        if bits < width:
            add("arith.trunci", to, _int_array([int(x) for x in array], to))
            continue
        add("arith.extsi", to, _int_array([int(x) for x in array], to))
        naturals = [natural(int(x), width) for x in array]
        add("arith.extui", to, _int_array(naturals, to))
    return ArithmeticCase(
        f"integer-{type_}", "\n".join(lines), [(type_, array)], results
    )


# --- All of them ---------------------------------------------------------------

_TYPES = ("i8", "i16", "i32", "i64")
_HALF = ("f16", "bf16", "f32", "f64")


def cases() -> list[ArithmeticCase]:
    """All cases that need no instructions of fp8."""
    found = [case for type_ in WIDTHS for case in binary_cases(type_)]
    found += [unary_case(type_) for type_ in _TYPES]
    found += [folded_case(type_) for type_ in _TYPES]
    found += [
        constant_case(name, type_, side)
        for name in BINARY
        if name.startswith("arith.sh") or "div" in name or "rem" in name
        for type_, side in (("i32", "rhs"), ("i8", "rhs"), ("i32", "lhs"))
    ]
    found += [bit_case()]
    found += [division_of_parts(bits) for bits in (16, 22, 23, 24, 25, 31)]
    found += [float_case(type_) for type_ in _HALF]
    found += [float_constant_case(type_) for type_ in _HALF]
    found += [integer_case(type_) for type_ in _TYPES]
    return found


def fp8_cases(formats: Sequence[str]) -> list[ArithmeticCase]:
    """Conversions from fp8, for targets with these formats."""
    return [float_case(type_) for type_ in formats]
