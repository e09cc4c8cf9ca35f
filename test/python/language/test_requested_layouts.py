"""Layouts that kernels request, and how they are recognised."""

import random

import numpy as np
import pytest
from tilews.passmanager import PassManager

import tilews
import tilews.language as tl
from tilews import layout as L

# ===--- Recognition ---=== #


def random_layout(rng):
    """A random injective layout with one mode for each dimension, and its shape."""
    rank = rng.randint(1, 3)
    digits = [(rng.choice((2, 3, 4, 5, 8)), rng.randrange(rank)) for _ in range(4)]
    groups = [[] for _ in range(rank)]
    stride = 1
    for extent, dim in digits:
        groups[dim].append((extent, stride))
        stride *= extent * rng.choice((1, 1, 2, 3))
    shape = tuple(tuple(e for e, _ in g) or 1 for g in groups)
    strides = tuple(tuple(s for _, s in g) or 0 for g in groups)
    plain = L.Layout(shape, strides)
    bits = rng.choice((0, 0, 1, 2, 3))
    base, shift = rng.randint(0, 3), rng.randint(max(bits, 1), 5)
    swizzled = L.Layout(f"Sw<{bits},{base},{shift}> o {plain}")
    return swizzled, [m.size for m in plain]


def at(layout):
    """A layout as a function with one coordinate for each dimension."""
    if layout.rank == 1:
        return lambda i: layout(i)
    return lambda *coords: layout(coords)


def test_recognition_of_random_layouts():
    for case in range(300):
        layout, shape = random_layout(random.Random(f"recognize/{case}"))
        found = L.recognize(at(layout), shape)
        np.testing.assert_array_equal(found.offsets(), layout.offsets())
        assert [mode.size for mode in found] == shape


def test_recognition_of_hand_written_swizzles():
    def rows(i, j):
        return i * 64 + ((j // 8) ^ (i % 8)) * 8 + j % 8

    assert str(L.recognize(rows, (64, 64))) == "Sw<3,3,3> o (64,64):(64,1)"

    def padded(i, j):
        return i * 72 + j

    assert str(L.recognize(padded, (16, 64))) == "(16,64):(72,1)"

    def panels(i, j):
        return j // 32 * 24 * 32 + i * 32 + j % 32

    assert str(L.recognize(panels, (24, 96))) == "(24,(32,3)):(32,(1,768))"


@pytest.mark.parametrize(
    "function, shape, message",
    [
        (lambda i, j: i + j, (4, 4), "elements (0, 1) and (1, 0) both lie at offset 1"),
        (lambda i, j: i * 4 + j - 1, (4, 4), "element (0, 0) lies at offset -1,"),
        (lambda i, j: i * 4 + j + 1, (4, 4), "the first element lies at offset 1, exp"),
        (lambda i, j: i * 4.0 + j, (4, 4), "element (0, 0) has the offset 0.0"),
        (lambda i: i * i, (8,), "the offsets along dimension 0 are no"),
        (lambda i, j: i * 8 + (j + i) % 8, (8, 8), "and no XOR of"),
        (lambda i, j: i * 100 + j * (2 if i == 3 else 1), (8, 8),
         "element (3, 1) lies at offset 302, but strides put it at 301, and no XOR"),
        (lambda i, j: i * 1024 + j, (1024, 1024), "is too large to recognise a layout"),
    ],
)  # fmt: skip
def test_recognition_declined(function, shape, message):
    with pytest.raises(ValueError) as error:
        L.recognize(function, shape)
    assert message in str(error.value)


# ===--- Buffers ---=== #


@tilews.kernel
def round_trip(
    X: tl.Tensor["M, N", "T"], Y: tl.Tensor["M, N", "T"], LAYOUT: tl.constexpr
):
    buffer = tl.alloc_shared((16, 64), X.dtype, layout=LAYOUT)
    tl.copy(X[0, 0], buffer)
    tl.copy(buffer, Y[0, 0])


@tilews.kernel
def narrow(X: tl.Tensor["M, N", "T"], LAYOUT: tl.constexpr):
    tl.copy(X[0, 0], tl.alloc_shared((16, 20), X.dtype, layout=LAYOUT))


def rotated(i, j):
    return i * 64 + (((j // 8) ^ (i % 8)) * 8 + j % 8)


@pytest.mark.parametrize(
    "layout, expected",
    [
        ("swizzle_128B", "<(16, 64):(64, 1), Sw<3,4,3>>"),
        ("swizzle_64B", "<(16, (32, 2)):(32, (1, 512)), Sw<2,4,3>>"),
        ("swizzle_32B", "<(16, (16, 4)):(16, (1, 256)), Sw<1,4,3>>"),
        ("linear", "<(16, 64):(64, 1)>"),
        ("padded", "<(16, 64):(72, 1)>"),
        ("cdna_xor", "<(16, 64):(64, 1), Sw<4,3,4>>"),
        ("(16,64):(1,16)", "<(16, 64):(1, 16)>"),
        ("(16,(8,8)):(8,(1,128))", "<(16, (8, 8)):(8, (1, 128))>"),
        ("Sw<3,3,3> o (16,64):(64,1)", "<(16, 64):(64, 1), Sw<3,4,3>>"),
        ("#tile.shared<(16, 64):(80, 1)>", "<(16, 64):(80, 1)>"),
        (rotated, "<(16, 64):(64, 1), Sw<3,4,3>>"),
        (lambda i, j: i + j * 16, "<(16, 64):(1, 16)>"),
        (L.Layout("(16,64):(96,1)"), "<(16, 64):(96, 1)>"),
        (L.SharedLayout.padded([16, 64], 16, 8), "<(16, 64):(68, 1)>"),
    ],
)
def test_layouts_of_buffers(layout, expected):
    text = round_trip.mlir(M=16, N=64, T=tl.f16, LAYOUT=layout)
    assert f"memref<16x64xf16, #tile.shared{expected}, #gpu" in text
    x = np.arange(16 * 64, dtype=np.float16).reshape(16, 64)
    y = np.zeros_like(x)
    round_trip(x, y, LAYOUT=layout)
    np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize(
    "layout, message",
    [
        ("(16,64):(1,1)", "elements (0, 1) and (1, 0) both lie at offset 1"),
        ("#tile.shared<(16, 64):(1, 1)>", "elements (0, 1) and (1, 0) both lie at"),
        (lambda i, j: i + j, "elements (0, 1) and (1, 0) both lie at offset 1"),
        (lambda i, j: j - i, "element (1, 0) lies at offset -1, before the buffer"),
        (lambda i, j: i * 64 + j**2, "both lie at offset"),
        ("(16,32):(32,1)", "the layout has shape (16, 32), the buffer (16, 64)"),
        ("(16,64)", "there is no layout '(16,64)', only swizzle_32B, swizzle_64B"),
        ("swizzle_256B", "there is no layout 'swizzle_256B', only swizzle_32B"),
        ("(16,64):(64,", "expected an integer or '(', found the end of the text"),
        ("#tile.shared<(16, 64):(64, 1)", "in #tile.shared<(16, 64):(64, 1)"),
        (3, "expected a layout, found the Python value 3"),
    ],
)
def test_layouts_that_are_none_of_a_buffer(layout, message):
    with pytest.raises(tilews.KernelError) as error:
        round_trip.mlir(M=16, N=64, T=tl.i8, LAYOUT=layout)
    assert "tl.alloc_shared: " in error.value.message
    assert message in error.value.message


@pytest.mark.parametrize("name", ["swizzle_128B", "cdna_xor"])
def test_named_layouts_need_whole_spans(name):
    with pytest.raises(tilews.KernelError) as error:
        narrow.mlir(T=tl.f16, LAYOUT=name)
    assert "rows of 40 bytes are no multiple of" in error.value.message


# ===--- Fragments ---=== #


@tilews.kernel
def scaled(X: tl.Tensor["M, N", "T"], Y: tl.Tensor["M, N", "T"], LAYOUT: tl.constexpr):
    x = tl.with_layout(tl.load(X[0, 0], (32, 32)), LAYOUT)
    tl.store(x * 2 + 1, Y[0, 0])


def by_rows(thread, value):
    return thread // 8 * 2 + value // 4, thread % 8 * 4 + value % 4


BY_ROWS = "#tile.fragment<thread = (8, 16):(4*d1, 2*d0), value = (4, 2):(1*d1, 1*d0)>"


@pytest.mark.parametrize(
    "layout",
    [
        BY_ROWS,
        "((8,16),(4,2)):((4,64),(1,32))",
        by_rows,
        L.FragmentLayout([(8, 4, 1), (16, 2, 0)], [(4, 1, 1), (2, 1, 0)]),
        L.Layout("((8,16),(4,2)):((4,64),(1,32))"),
    ],
)
def test_layouts_of_fragments(layout):
    module = scaled.build(target="sm_80", M=32, N=32, T=tl.f32, LAYOUT=layout)
    assert f"tile.layout = {BY_ROWS}" in str(module)
    x = np.arange(32 * 32, dtype=np.float32).reshape(32, 32)
    y = np.zeros_like(x)
    scaled(x, y, LAYOUT=layout)
    np.testing.assert_array_equal(y, 2 * x + 1)
    with module.context:
        PassManager.parse("builtin.module(tile-infer-layouts)").run(module.operation)
    text = str(module)
    # What is computed from the fragment has the layout too.
    assert "tile.layout" not in text and "convert_layout" not in text
    assert text.count(f"tensor<32x32xf32, {BY_ROWS}>") >= 3


def overlapping(thread, value):
    return thread // 8, (thread % 8 * 4 + value) % 32


@pytest.mark.parametrize(
    "layout, message",
    [
        (
            "((4,32),(4,2)):((4,32),(1,4))",
            "layout holds coordinate 4 of dimension 1 tw",
        ),
        ("(64,8):(8,1)", "layout does not reach coordinate 16 of dimension 0"),
        ("((8,16),(4,2)):((4,64),(1,1024))", "leaves a row of the fragment's shape"),
        ("128:1", "expected the modes (thread, value), found 128:1"),
        (overlapping, "elements (0, 4) and (1, 0) both lie at offset 4"),
        (
            lambda t, v: (t, v),
            "register 0 of thread 32 holds element (32, 0), which is",
        ),
        (
            "#tile.fragment<thread = (8):(1*d5), value = ():()>",
            "a mode along dimension",
        ),
        (5, "expected a layout (thread, value), found the Python"),
    ],
)
def test_layouts_that_are_none_of_a_fragment(layout, message):
    with pytest.raises(tilews.KernelError) as error:
        scaled.mlir(M=32, N=32, T=tl.f32, LAYOUT=layout)
    assert "tl.with_layout: " in error.value.message
    assert message in error.value.message


# ===--- Versions ---=== #


@tilews.kernel
def pipelined(
    A: tl.Tensor["M, K", tl.f16],
    B: tl.Tensor["N, K", tl.f16],
    C: tl.Tensor["M, N", tl.f32],
    LAYOUT: tl.constexpr,
):
    a = tl.alloc_shared((128, 64), A.dtype, layout=LAYOUT)
    b = tl.alloc_shared((64, 64), B.dtype)
    acc = tl.zeros((128, 64), tl.f32)
    for k in tl.range(0, A.shape[1], 64, num_stages=3):
        tl.copy(A[0, k], a)
        tl.copy(B[0, k], b)
        acc = tl.gemm(a, b, acc, transpose_rhs=True)
    tl.store(acc, C[0, 0])


@pytest.mark.parametrize(
    "layout, versions, slot",
    [
        (
            "swizzle_64B",
            "(3, 128, (32, 2)):(8192, 32, (1, 4096)), Sw<2,4,3>",
            "(128, (32, 2)):(32, (1, 4096)), Sw<2,4,3>",
        ),
        ("padded", "(3, 128, 64):(9216, 72, 1)", "(128, 64):(72, 1)"),
        (
            lambda i, j: i * 64 + (j // 8 ^ i % 8) * 8 + j % 8,
            "(3, 128, 64):(8192, 64, 1), Sw<3,4,3>",
            "(128, 64):(64, 1), Sw<3,4,3>",
        ),
    ],
)
def test_layouts_of_versions(layout, versions, slot):
    """A requested layout applies to each version of the buffer."""
    module = pipelined.build(target="sm_80", LAYOUT=layout)
    passes = "tile-plan-pipeline, tile-multi-version"
    with module.context:
        run = PassManager.parse(f"builtin.module({passes})").run
        run(module.operation)
        assert f"memref<3x128x64xf16, #tile.shared<{versions}>" in str(module)
        passes = "tile-annotate-instructions, tile-infer-layouts"
        PassManager.parse(f"builtin.module({passes})").run(module.operation)
    text = str(module)
    assert f"memref<3x128x64xf16, #tile.shared<{versions}>" in text
    assert f"-> memref<128x64xf16, #tile.shared<{slot}>" in text
