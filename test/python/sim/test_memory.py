"""Copies, loads, stores, views and atomics in the interpreter."""

import itertools

import ml_dtypes
import numpy as np
import pytest

from support.interpreting import (
    DTYPES,
    SHARED,
    fragment,
    memref,
    run,
)
from tilews import sim


def window(array, offsets, sizes, padding=0):
    """A box of an array, padded outside of the array."""
    result = np.full(sizes, padding, array.dtype)
    for coords in itertools.product(*map(range, sizes)):
        place = tuple(o + c for o, c in zip(offsets, coords, strict=True))
        if all(0 <= p < e for p, e in zip(place, array.shape, strict=True)):
            result[coords] = array[place]
    return result


OFFSETS = [(0, 0), (3, 5), (-2, 1), (4, -3), (-10, 0), (0, 100), (2**62, -(2**62))]


@pytest.mark.parametrize("offsets", OFFSETS)
@pytest.mark.parametrize("type_", ["f16", "i32", "f8E4M3FN", "i1", "i4"])
def test_load_pads_and_store_skips(type_, offsets):
    rng = np.random.default_rng(0)
    a = rng.integers(0, 2, (6, 7)).astype(DTYPES[type_])
    loaded, stored = np.ones((4, 5), a.dtype), np.zeros_like(a)
    frag = fragment((4, 5), type_)
    dynamic = f"memref<?x?x{type_}>"
    pad = "1 : " + type_ if type_[0] == "i" else "1.0 : " + type_
    run(
        f"""
        %pad = arith.constant {pad}
        %t = tile.load %a[%i, %j] pad %pad : {dynamic} -> {frag}
        tile.store %t to %loaded : {frag} to {memref(loaded)}
        %u = tile.load %a[%i, %j] : {dynamic} -> {frag}
        tile.store %u to %stored[%i, %j] : {frag} to {dynamic}""",
        [
            ("a", dynamic, a),
            ("loaded", memref(loaded), loaded),
            ("stored", dynamic, stored),
            ("i", "index", offsets[0]),
            ("j", "index", offsets[1]),
        ],
    )
    expected = window(a.astype(float), offsets, (4, 5), 1)
    np.testing.assert_array_equal(loaded.astype(float), expected)
    inside = window(np.ones((4, 5)), [-o for o in offsets], a.shape) != 0
    kept = np.where(inside, a.astype(float), 0)
    np.testing.assert_array_equal(stored.astype(float), kept)


@pytest.mark.parametrize("offset", [0, 2, -1, 9])
def test_copy_through_shared_memory(offset):
    a = np.random.default_rng(0).standard_normal((2, 5, 3, 8)).astype("f4")
    out = np.full((4, 8), -1, "f4")
    shared = f"memref<4x8xf32, {SHARED}>"
    run(
        f"""
        %s = tile.alloc_shared : {shared}
        tile.copy %a[1, %o, 2, 0] [1, 4, 1, 8] to %s : memref<?x?x?x8xf32> to {shared}
        tile.copy %s to %out[0, 0] : {shared} to memref<4x8xf32>""",
        [
            ("a", "memref<?x?x?x8xf32>", a),
            ("out", memref(out), out),
            ("o", "index", offset),
        ],
    )
    expected = window(a[1, :, 2, :], (offset, 0), (4, 8))
    np.testing.assert_array_equal(out, expected)


def test_strided_arguments():
    base = np.arange(60, dtype="f4").reshape(6, 10)
    a, out = base[::2, ::-3], np.zeros((4, 3), "f4").T
    type_ = "memref<3x4xf32, strided<[?, ?]>>"
    run(
        f"""
        %t = tile.load %a : {type_} -> tensor<3x4xf32>
        tile.store %t to %out : tensor<3x4xf32> to {type_}""",
        [("a", type_, a), ("out", type_, out)],
    )
    np.testing.assert_array_equal(out, a)


def test_view_reinterprets_bytes():
    a = np.random.default_rng(0).integers(0, 2**32, (4, 6), np.uint32)
    halves, nibbles = np.zeros((8, 6), "i2"), np.zeros(192, ml_dtypes.int4)
    run(
        f"""
        %s = tile.alloc_shared : memref<4x6xi32, {SHARED}>
        tile.copy %a to %s : memref<4x6xi32> to memref<4x6xi32, {SHARED}>
        %h = tile.view %s : memref<4x6xi32, {SHARED}> to memref<8x6xi16, {SHARED}>
        tile.copy %h to %halves : memref<8x6xi16, {SHARED}> to memref<8x6xi16>
        %n = tile.view %h : memref<8x6xi16, {SHARED}> to memref<192xi4, {SHARED}>
        tile.copy %n to %nibbles : memref<192xi4, {SHARED}> to memref<192xi4>""",
        [
            ("a", "memref<4x6xi32>", a),
            ("halves", memref(halves), halves),
            ("nibbles", memref(nibbles), nibbles),
        ],
    )
    np.testing.assert_array_equal(halves.ravel(), a.view("i2").ravel())
    expected = np.stack([a.view("u1") & 15, a.view("u1") >> 4], -1).ravel()
    np.testing.assert_array_equal(nibbles.astype(int) & 15, expected)


def test_subview_and_cast():
    a = np.arange(48, dtype="i4").reshape(6, 8)
    out = np.zeros((2, 3), "i4")
    run(
        """
        %c1 = arith.constant 1 : index
        %v = memref.subview %a[%o, 1] [2, 3] [2, 2]
          : memref<6x8xi32> to memref<2x3xi32, strided<[16, 2], offset: ?>>
        %d = memref.cast %v : memref<2x3xi32, strided<[16, 2], offset: ?>>
          to memref<?x?xi32, strided<[?, ?], offset: ?>>
        %n = memref.dim %d, %c1 : memref<?x?xi32, strided<[?, ?], offset: ?>>
        %t = tile.load %d[0, 0] : memref<?x?xi32, strided<[?, ?], offset: ?>>
          -> tensor<2x3xi32>
        %i = arith.index_cast %n : index to i32
        %s = tensor.splat %i : tensor<2x3xi32>
        %u = arith.addi %t, %s : tensor<2x3xi32>
        tile.store %u to %out : tensor<2x3xi32> to memref<2x3xi32>""",
        [("a", memref(a), a), ("out", memref(out), out), ("o", "index", 3)],
    )
    np.testing.assert_array_equal(out, a[3::2, 1:7:2] + 3)


ATOMICS = {
    "add": np.add,
    "max": np.fmax,
    "min": np.fmin,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "exchange": lambda old, new: new,
}


@pytest.mark.parametrize(
    ("kind", "type_"),
    [
        (k, t)
        for k in ATOMICS
        for t in ("f32", "f16", "i32")
        if t == "i32" or k not in ("and", "or", "xor")
    ],
)
def test_atomic_rmw(kind, type_):
    rng = np.random.default_rng(0)
    c = (rng.standard_normal((5, 6)) * 100).astype(DTYPES[type_])
    t = (rng.standard_normal((4, 4)) * 100).astype(DTYPES[type_])
    expected = c.copy()
    expected[3:, 0:3] = ATOMICS[kind](c[3:, 0:3], t[:2, 1:])
    frag = fragment((4, 4), type_)
    run(
        f"""
        %t = tile.load %a : {memref(t)} -> {frag}
        tile.atomic_rmw <{kind}> %t to %c[3, -1] : {frag} to memref<?x?x{type_}>""",
        [("a", memref(t), t), ("c", f"memref<?x?x{type_}>", c)],
    )
    np.testing.assert_array_equal(c, expected)


def test_atomics_of_all_blocks_add_up():
    out, old = np.zeros(1, "i4"), np.zeros(40, "i4")
    run(
        """
        %c0 = arith.constant 0 : index
        %one = arith.constant 1 : i32
        %b = gpu.block_id x
        %o = memref.atomic_rmw addi %one, %out[%c0] : (i32, memref<1xi32>) -> i32
        memref.store %o, %old[%b] : memref<40xi32>""",
        [("out", memref(out), out), ("old", memref(old), old)],
        grid=40,
    )
    assert out[0] == 40
    np.testing.assert_array_equal(old, np.arange(40))


SCALAR_ATOMICS = {
    "addi": lambda a, b: a + b,
    "muli": lambda a, b: a * b,
    "maxs": max,
    "mins": min,
    "maxu": lambda a, b: max(a, b, key=lambda x: x % 2**32),
    "minu": lambda a, b: min(a, b, key=lambda x: x % 2**32),
    "andi": lambda a, b: a & b,
    "ori": lambda a, b: a | b,
    "xori": lambda a, b: a ^ b,
    "assign": lambda a, b: b,
    "addf": lambda a, b: a + b,
    "mulf": lambda a, b: a * b,
    "maximumf": lambda a, b: np.maximum(a, b),
    "minimumf": lambda a, b: np.minimum(a, b),
    "maxnumf": lambda a, b: np.fmax(a, b),
    "minnumf": lambda a, b: np.fmin(a, b),
}


@pytest.mark.parametrize("kind", SCALAR_ATOMICS)
def test_scalar_atomic_returns_the_old_value(kind):
    type_ = "f32" if kind.endswith("f") else "i32"
    pairs = [(5, -3), (-2, 7)] + ([(np.nan, 1.0)] if type_ == "f32" else [])
    for before, value in pairs:
        memory, old = np.zeros(2, DTYPES[type_]), np.zeros(1, DTYPES[type_])
        memory[1] = before
        run(
            f"""
            %c0 = arith.constant 0 : index
            %c1 = arith.constant 1 : index
            %o = memref.atomic_rmw {kind} %v, %m[%c1]
              : ({type_}, memref<2x{type_}>) -> {type_}
            memref.store %o, %old[%c0] : memref<1x{type_}>""",
            [
                ("v", type_, value),
                ("m", memref(memory), memory),
                ("old", memref(old), old),
            ],
        )
        expected = SCALAR_ATOMICS[kind](before, value)
        np.testing.assert_array_equal(memory, np.array([0, expected], memory.dtype))
        np.testing.assert_array_equal(old, np.array([before], memory.dtype))


@pytest.mark.parametrize(
    ("place", "is_right"), [("[0, 0]", True), ("[1, 0]", False), ("[%i, 0]", True)]
)
def test_one_thread_stores_an_element_twice(place, is_right):
    """The layout of a fragment and the region say which thread stores an element."""
    shared, out = f"memref<5x8xf32, {SHARED}>", np.zeros((5, 8), "f4")
    body = f"""
        %s = tile.alloc_shared : {shared}
        %x = arith.constant dense<1.0> : tensor<4x8xf32>
        %y = arith.constant dense<2.0> : tensor<4x8xf32>
        tile.store %x to %s[0, 0] : tensor<4x8xf32> to {shared}
        tile.store %y to %s{place} : tensor<4x8xf32> to {shared}
        tile.barrier
        tile.copy %s[0, 0] [4, 8] to %out[0, 0] : {shared} to {memref(out)}"""
    args = [("out", memref(out), out), ("i", "index", 0)]
    if is_right:
        run(body, args, barriers="explicit")
        np.testing.assert_array_equal(out, [[2] * 8] * 4 + [[0] * 8])
        return
    with pytest.raises(sim.SimulationError, match="a write of it by other threads"):
        run(body, args, barriers="explicit")


def test_atomics_and_bounds_in_shared_memory():
    out = np.zeros((2, 4), "f4")
    shared = f"memref<2x4xf32, {SHARED}>"
    run(
        f"""
        %s = tile.alloc_shared : {shared}
        %t = arith.constant dense<1.5> : tensor<4x4xf32>
        tile.atomic_rmw <exchange> %t to %s[-1, 0] : tensor<4x4xf32> to {shared}
        tile.atomic_rmw <add> %t to %s[0, 2] : tensor<4x4xf32> to {shared}
        tile.copy %s to %out : {shared} to memref<2x4xf32>""",
        [("out", memref(out), out)],
    )
    np.testing.assert_array_equal(out, [[1.5, 1.5, 3, 3]] * 2)
