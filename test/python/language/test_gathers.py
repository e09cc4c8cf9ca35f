"""Accesses at indices and under masks, in the interpreter, and their errors."""

import itertools

import numpy as np
import pytest

import tilews
import tilews.language as tl
from kernels import gathers
from support.gather_cases import CASES, copies
from support.simulating import PHASES, TIMINGS, run_passes
from support.verifying import verify
from tilews import sim
from tilews.compiler import find_ptxas

RNG = np.random.default_rng(9)


@pytest.mark.parametrize("name", CASES)
def test_kernels(name):
    case = CASES[name]
    arguments = copies(case.arguments)
    case.kernel(*arguments, target="cpu", **case.constants)
    case.check(arguments)


def test_old_values_number_the_elements_of_a_bucket():
    ids = RNG.integers(-2, 12, 200).astype(np.int32)
    count, slot = np.zeros(10, np.int32), np.full(200, 7, np.int32)
    gathers.buckets(ids, count, slot)
    used = (ids >= 0) & (ids < 10) & (ids % 3 != 2)
    assert (slot[~used] == 0).all()
    for bucket in range(10):
        slots = slot[used & (ids == bucket)]
        assert sorted(slots) == list(range(count[bucket]))
        assert count[bucket] == (0 if bucket % 3 == 2 else (ids == bucket).sum())


def test_indices_stand_where_the_first_of_them_is():
    @tilews.kernel(threads=64)
    def kernel(
        X: tl.Tensor["4, 5, 6, 8", tl.f32],
        I: tl.Tensor["16", tl.i32],  # noqa: E741
        J: tl.Tensor["2", tl.i32],
        Y: tl.Tensor["4, 16, 8", tl.f32],
        Z: tl.Tensor["2, 16, 8", tl.f32],
        W: tl.Tensor["4, 2, 16", tl.f32],
    ):
        i, j = tl.load(I), tl.load(J)
        Y[:, :, :] = tl.load(X[:, i, 2, :])
        Z[:, :, :] = tl.load(X[1, i[None, :], j[:, None], :])
        W[:, :, :] = tl.load(X[:, 3, j[:, None], i[None, :] % 8])

    x = RNG.standard_normal((4, 5, 6, 8)).astype(np.float32)
    i, j = RNG.integers(0, 5, 16).astype(np.int32), np.array([5, 1], np.int32)
    y, z, w = (np.zeros(s, np.float32) for s in [(4, 16, 8), (2, 16, 8), (4, 2, 16)])
    kernel(x, i, j, y, z, w)
    np.testing.assert_array_equal(y, x[:, i, 2])
    np.testing.assert_array_equal(z, x[1, i[None], j[:, None]])
    np.testing.assert_array_equal(w, x[:, 3, j[:, None], i[None] % 8])


def test_stores_and_updates_take_the_dimensions_of_the_region():
    @tilews.kernel(threads=64)
    def kernel(
        X: tl.Tensor["4, 2, 16", tl.i32],
        J: tl.Tensor["2", tl.i32],
        Y: tl.Tensor["4, 6, 16", tl.i32],
        Z: tl.Tensor["4, 6, 16", tl.i32],
        Old: tl.Tensor["4, 2, 16", tl.i32],
    ):
        j, c = tl.load(J)[:, None], tl.arange(16)[None, :]
        x = tl.load(X)
        even = (c % 2 == 0)[None, :, :]
        tl.store(x, Y[:, j, c], mask=even)
        Old[:, :, :] = tl.atomic_add(x, Z[:, j, c], mask=even)

    x = RNG.integers(1, 99, (4, 2, 16)).astype(np.int32)
    j = np.array([5, 1], np.int32)
    y, z = (RNG.integers(1, 99, (4, 6, 16)).astype(np.int32) for _ in range(2))
    old, before = np.zeros_like(x), (y.copy(), z.copy())
    kernel(x, j, y, z, old)
    even = np.arange(16) % 2 == 0
    wanted = before[0].copy()
    wanted[:, j] = np.where(even, x, wanted[:, j])
    np.testing.assert_array_equal(y, wanted)
    np.testing.assert_array_equal(old, np.where(even, before[1][:, j], 0))
    wanted = before[1].copy()
    wanted[:, j] += np.where(even, x, 0)
    np.testing.assert_array_equal(z, wanted)


def test_one_vector_in_shared_memory_serves_all_copies():
    @tilews.kernel(threads=64)
    def kernel(X: tl.Tensor["M, 64", tl.f16], Y: tl.Tensor["16, 64", tl.f16]):
        ids = tl.arange(16) * 2
        S = tl.alloc_shared((16, 32), tl.f16)
        for k in tl.static_range(2):
            tl.copy(X[ids, k * 32 : k * 32 + 32], S)
            Y[:, k * 32 : k * 32 + 32] = tl.load(S)

    x = RNG.standard_normal((40, 64)).astype(np.float16)
    y = np.zeros((16, 64), np.float16)
    kernel(x, y)
    np.testing.assert_array_equal(y, x[:32:2])
    text = kernel.compile_for(x, y, target="sm_90a").mlir("tile")
    assert text.count("alloc_shared : memref<16xi32") == 1


def test_indices_of_a_copy_that_a_loop_makes():
    @tilews.kernel(threads=64)
    def kernel(
        X: tl.Tensor["M, 32", tl.f16],
        Table: tl.Tensor["N", tl.i32],
        Y: tl.Tensor["N, 32", tl.f16],
        num_stages: tl.constexpr = 2,
    ):
        S = tl.alloc_shared((16, 32), tl.f16)
        for n in tl.range(tl.cdiv(Y.shape[0], 16), num_stages=num_stages):
            ids = tl.load(Table[n * 16], (16,), pad=-1)
            tl.copy(X[ids, :], S)
            Y[n * 16, 0] = tl.load(S)

    x = RNG.standard_normal((40, 32)).astype(np.float16)
    ids = RNG.integers(-2, 42, 50).astype(np.int32)
    for stages in (1, 2, 4):
        y = np.zeros((50, 32), np.float16)
        kernel(x, ids, y, num_stages=stages)
        inside = (ids >= 0) & (ids < 40)
        wanted = np.where(inside[:, None], x[np.clip(ids, 0, 39)], np.float16(0))
        np.testing.assert_array_equal(y, wanted)
        for target in ("sm_80", "sm_90a", "gfx942"):
            kernel.compile_for(x, ids, y, target=target, num_stages=stages)


@pytest.mark.parametrize("form", PHASES)
@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
@pytest.mark.parametrize(
    "name",
    [
        "gathered_product_3",
        "copied_rows_3",
        "copied_sequences_4",
        "counted_uint8_256",
        "counted_int32_7",
        "copied_pages_3",
        "copied_pages_of_heads_3",
        "copied_parts_of_pages_3",
        "tables_of_pages_3",
        "product_of_pages_3",
        "copied_masked_2",
    ],
)
def test_schedules_of_copied_rows(name, target, form):
    case = CASES[name]
    module = run_passes(case.kernel.build(target, **case.constants), PHASES[form])
    verify(module, form)
    for timing in TIMINGS:
        arguments = copies(case.arguments)
        sim.run(module, None, arguments, **timing)
        case.check(arguments)


@pytest.mark.skipif(find_ptxas() is None, reason="ptxas is not installed")
@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
@pytest.mark.parametrize(
    "name",
    [n for n in CASES if n.startswith(("counted", "copied", "tables", "product"))],
)
def test_machine_code_for_nvidia(name, target):
    case = CASES[name]
    compiled = case.kernel.compile_for(*case.arguments, target=target, **case.constants)
    assert len(compiled.cubin) > 1000
    if name.endswith("_3") and "pages" in name:
        # A pipeline of copies of 16 bytes, or of boxes.
        tma = target == "sm_90a" and name == "tables_of_pages_3"
        copies_of = "cp.async.bulk.tensor" if tma else "cp.async.cg.shared.global"
        assert copies_of in compiled.ptx
        assert not any("tile-pipe" in text for text in compiled.messages)
    if name.startswith("counted"):
        assert not any("tile-layout-0001" in text for text in compiled.messages)


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
@pytest.mark.parametrize(
    "name", ["copied_pages_3", "copied_pages_of_heads_3", "product_of_pages_3"]
)
def test_new_indices_do_not_wait_for_copies_in_flight(name, target):
    case = CASES[name]
    compiled = case.kernel.compile_for(*case.arguments, target=target, **case.constants)
    assert "cp.async.cg.shared.global" in compiled.ptx
    assert "drain_copies" not in compiled.mlir("barriers")
    assert not any("tile-pipe" in text for text in compiled.messages)
    if name == "product_of_pages_3" and target == "sm_90a":
        # A role for TMA copies and for rows, whose indices it computes.
        assert "tile.role @load warps(4)" in compiled.mlir("barriers")


def test_histograms_of_memory_and_of_conditions():
    @tilews.kernel(threads=64)
    def kernel(
        X: tl.Tensor["6, 16", tl.u32],
        Y: tl.Tensor["4, 5", tl.i32],
        Z: tl.Tensor["2", tl.i32],
        n: tl.i32,
    ):
        S = tl.alloc_shared((6, 16), tl.u32)
        tl.copy(X, S)
        Y[0, :] = tl.histogram(S, 5)
        Y[1, :] = tl.histogram(X[2:4, :], 5, mask=n > 3)
        Y[2, :] = tl.histogram(tl.load(X).reshape(2, 48)[0], 5)
        Y[3, :] = tl.histogram(tl.zeros((1,), tl.i16), 5)
        Z[:] = tl.histogram(tl.load(X) > 3, 2)

    x = RNG.integers(0, 7, (6, 16)).astype(np.uint32)
    x[0, :3] = 2**31, 2**32 - 1, 2**31 + 4
    counts = lambda part: np.bincount(part[part < 5], minlength=5)  # noqa: E731
    for n in (3, 4):
        y, z = np.full((4, 5), 9, np.int32), np.zeros(2, np.int32)
        kernel(x, y, z, n)
        np.testing.assert_array_equal(y[0], counts(x))
        np.testing.assert_array_equal(y[1], counts(x[2:4]) * (n > 3))
        np.testing.assert_array_equal(y[2], counts(x[:3]))
        np.testing.assert_array_equal(y[3], [1, 0, 0, 0, 0])
        np.testing.assert_array_equal(z, [(x <= 3).sum(), (x > 3).sum()])


@pytest.mark.unverified  # The verifier does not follow such a copy.
@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
@pytest.mark.parametrize("how", ["rows", "limit"])
def test_guards_on_copies_that_are_no_region(how, target):
    """A role that loads reads the mask where it is, not what a region of it holds."""

    @tilews.kernel(threads=128)
    def kernel(
        A: tl.Tensor["64, 256", tl.f16],
        Mask: tl.Tensor["8", tl.i32],
        Order: tl.Tensor["8", tl.i32],
        n: tl.i32,
        C: tl.Tensor["64, 64", tl.f32],
        how: tl.constexpr,
    ):
        tl.grid(1)
        kept = tl.alloc_shared((8,), tl.i32)
        S = tl.alloc_shared((64, 32), tl.f16)
        for t in tl.persistent(2):
            if how == "rows":
                tl.copy(Mask[Order], kept)
            else:
                tl.copy(Mask[2 : 2 + n], kept)
            acc = tl.zeros((64, 32), tl.f32)
            for k in tl.range(8, num_stages=3):
                if tl.load(kept[k]) != 0:
                    tl.copy(A[0, k * 32], S)
                    acc += tl.load(S).to(tl.f32)
            C[0, t * 32] = acc

    a = RNG.standard_normal((64, 256)).astype(np.float16)
    mask = np.array([1, 0, 0, 1, 1, 0, 1, 1], np.int32)
    order = np.array([3, 1, 7, 2, 0, 5, 4, 4], np.int32)
    kept = mask[order] if how == "rows" else np.append(mask[2:5], [0] * 5)
    wanted = np.zeros((64, 32))
    for k in np.flatnonzero(kept):
        wanted += a[:, k * 32 : k * 32 + 32]
    for form in PHASES:
        module = run_passes(kernel.build(target, how=how), PHASES[form])
        c = np.zeros((64, 64), np.float32)
        sim.run(module, None, [a, mask, order, 3, c])
        np.testing.assert_allclose(c, np.tile(wanted, 2), rtol=1e-5, atol=1e-5)


def test_sizes_of_columns_and_of_updates():
    @tilews.kernel(threads=64)
    def kernel(
        X: tl.Tensor["8, 32", tl.i32],
        Y: tl.Tensor["8, 32", tl.i32],
        Z: tl.Tensor["8, 32", tl.i32],
        rows: tl.i64,
        columns: tl.index,
    ):
        x = tl.load(X[0:rows, 4 : 4 + columns], (8, 16), mask=tl.arange(16) != 2)
        tl.store(x, Y[0:rows, 4 : columns + 4])
        tl.atomic_add(x, Z[0:rows, 4 : 4 + columns])

    x, y, z = (RNG.integers(1, 99, (8, 32)).astype(np.int32) for _ in range(3))
    for rows, columns in ((5, 9), (8, 16), (2**40, 99), (0, 3), (3, -(2**40))):
        found, total = y.copy(), z.copy()
        kernel(x, found, total, rows, columns)
        part = np.s_[: max(min(rows, 8), 0), 4 : 4 + max(min(columns, 16), 0)]
        kept = x.copy()
        kept[:, 6] = 0
        wanted = y.copy()
        wanted[part] = kept[part]
        np.testing.assert_array_equal(found, wanted)
        wanted = z.copy()
        wanted[part] += kept[part]
        np.testing.assert_array_equal(total, wanted)


def test_slices_far_outside_have_no_elements():
    @tilews.kernel(threads=64)
    def kernel(
        X: tl.Tensor["T, 16", tl.f16],
        Y: tl.Tensor["16, 16", tl.f16],
        Z: tl.Tensor["T, 16", tl.f16],
        start: tl.i64,
        n: tl.i64,
        how: tl.constexpr,
    ):
        S = tl.alloc_shared((16, 16), tl.f16)
        if how == "copy":
            tl.copy(X[start : start + n, :], S)
            tl.copy(S, Z[start : start + n, :])
            Y[:, :] = tl.load(S)
        elif how == "access":
            x = tl.load(X[start : start + n, :], (16, 16))
            tl.store(x, Z[start : start + n, :])
            Y[:, :] = x
        else:
            one = tl.full((16, 16), 1.0, tl.f16)
            old = tl.atomic_add(one, Z[start : start + n, :])
            Y[:, :] = old + tl.load(X[start : start + n, 0:16], (16, 16))

    x = np.ones((40, 16), np.float16)
    for how, start, n in itertools.product(
        ("copy", "access", "update"),
        (0, 30, -4, 2**31, 2**31 + 3, 2**62, -(2**62)),
        (0, 5, 16, 2**40, -3),
    ):
        y, z = np.full((16, 16), 7, np.float16), np.zeros_like(x)
        kernel(x, y, z, start, n, how=how)
        # A slice that starts before the buffer has no rows.
        rows = max(min(n, 16, 40 - start), 0) if start >= 0 else 0
        inside = [row < rows for row in range(16)]
        np.testing.assert_array_equal(y, np.repeat([inside], 16, axis=0).T)
        written = [start <= row < start + rows for row in range(40)]
        np.testing.assert_array_equal(z, np.repeat([written], 16, axis=0).T)


# ===--- Errors ---=== #


def fails(body, *, match):
    """The error of a kernel with two tensors, a number and a body."""
    takes_size = body.__code__.co_argcount == 3

    def kernel(
        X: tl.Tensor["64, 64", tl.f16],
        Y: tl.Tensor["64, 64", tl.f16],
        n: tl.i32,
    ):
        body(*((X, Y, n) if takes_size else (X, Y)))

    with pytest.raises(tilews.KernelError, match=match):
        tilews.kernel(threads=64)(kernel).mlir()


ERRORS = {
    "float indices": (
        lambda X, Y: tl.load(X[tl.zeros((8,), tl.f32), 0:8]),
        "an index has to be of integers, found a fragment of shape .8,. and type f32",
    ),
    "mask as an index": (
        lambda X, Y: tl.load(X[tl.arange(8) < 4, 0:8]),
        "a mask goes to the function",
    ),
    "mask of integers": (
        lambda X, Y: tl.load(X[0:8, 0:8], mask=tl.arange(8)),
        "tl.load: expected a mask of i1, found a fragment",
    ),
    "mask that does not fit": (
        lambda X, Y: tl.load(X[0:8, 0:8], mask=tl.arange(8)[None, :, None] < 3),
        "does not fit the region of shape",
    ),
    "histogram of numbers": (
        lambda X, Y: tl.histogram(tl.load(X[0:8, 0:8]), 4),
        "tl.histogram: expected a fragment of integers, found a fragment of shape",
    ),
    "bins without number": (
        lambda X, Y, n: tl.histogram(tl.arange(8), n),
        "tl.histogram: the number of bins",
    ),
    "no bins": (
        lambda X, Y: tl.histogram(tl.arange(8), 0),
        "tl.histogram: the number of bins is an integer from 1 to 16384, found",
    ),
    "padding that is a fragment": (
        lambda X, Y: tl.load(X[0:8, 0:8], pad=tl.zeros((8, 8), tl.f16)),
        "expected a number or a scalar as padding, found a fragment",
    ),
    "mask of an element": (
        lambda X, Y: tl.load(X[0, 0], mask=tl.arange(8) < 3),
        "a single element has no mask",
    ),
    "indices that do not fit": (
        lambda X, Y: tl.load(X[tl.arange(8), tl.arange(4)]),
        "indices: shapes .8,. and .4,. differ in dimension -1",
    ),
    "value of another shape": (
        lambda X, Y: tl.store(tl.zeros((4, 8), tl.f16), Y[tl.arange(8), 0:8]),
        "the value has shape .4, 8., but the region .8, 8.",
    ),
    "copy to indices": (
        lambda X, Y: tl.copy(X[0:8, 0:8], Y[tl.arange(8), 0:8]),
        "takes no region with indices",
    ),
    "copy with matrices of indices": (
        lambda X, Y: tl.copy(
            X[tl.arange(8)[:, None], tl.arange(8)], tl.alloc_shared((8, 8), tl.f16)
        ),
        "the source has indices of shape .8, 8., expected vectors",
    ),
    "copy with a mask of elements": (
        lambda X, Y: tl.copy(
            X[tl.arange(8), 0:8],
            tl.alloc_shared((8, 8), tl.f16),
            mask=(tl.arange(8) < 3)[None, :],
        ),
        "a mask of shape .1, 8. does not choose whole rows",
    ),
    "copy with a mask to global memory": (
        lambda X, Y: tl.copy(X[0:8, 0:8], Y[0:8, 0:8], mask=True),
        "a mask is for copies of a static size to shared memory",
    ),
    "copy with padding": (
        lambda X, Y: tl.copy(X[0:8, 0:8], tl.alloc_shared((8, 8), tl.f16), pad=1.0),
        "a copy fills with zeros, found the padding",
    ),
    "copy with narrow indices": (
        lambda X, Y: tl.copy(
            X[tl.arange(8).to(tl.i16), 0:8], tl.alloc_shared((8, 8), tl.f16)
        ),
        "indices have type i16, expected i32 or i64",
    ),
    "size without a shape": (
        lambda X, Y, n: tl.load(X[0:n, :]),
        "give the fragment's shape",
    ),
    "size with another shape": (
        lambda X, Y, n: tl.load(X[0:n, 0:32], (8, 16)),
        "a slice has the size 32, but the fragment has shape",
    ),
    "size with another rank": (
        lambda X, Y, n: tl.store(tl.zeros((8,), tl.f16), X[0:n, 0:32]),
        "needs a fragment of rank 2, found one of shape .8,.",
    ),
    "size of a number": (
        lambda X, Y, n: tl.store(1.0, X[0:n, 0:32]),
        "needs a fragment of rank 2, found a scalar",
    ),
    "size beside indices": (
        lambda X, Y, n: tl.load(X[tl.arange(8), 0:n], (8, 8)),
        "a region has indices or a run-time size, not both",
    ),
    "copy with two sizes": (
        lambda X, Y, n: tl.copy(X[0:n, 0:n], tl.alloc_shared((8, 8), tl.f16)),
        "several sizes that are known only at run time",
    ),
    "copy to a size": (
        lambda X, Y, n: tl.copy(Y[0:8, 0:8], X[0:n, 0:8]),
        "the destination has a run-time size, which only copies from shared to global",
    ),
    "copy of a size to a size": (
        lambda X, Y, n: tl.copy(Y[0:n, 0:8], X[0:n, 0:8]),
        "both regions have sizes that are known only at run time",
    ),
    "atomic load": (
        lambda X, Y: tl.atomic_load(X[tl.arange(8), 0:8]),
        "tl.atomic_load takes no region with indices",
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name):
    body, match = ERRORS[name]
    fails(body, match=match)


def test_a_condition_masks_all_elements():
    @tilews.kernel(threads=64)
    def kernel(
        X: tl.Tensor["8, 16", tl.f32],
        Y: tl.Tensor["8, 16", tl.f32],
        Z: tl.Tensor["8, 16", tl.f32],
        n: tl.i32,
    ):
        Y[:, :] = tl.load(X[0:8, 0:16], mask=n > 3, pad=2.0)
        tl.store(tl.load(X), Z, mask=n > 4)
        tl.atomic_add(tl.load(X), Z[0:8, 0:16], mask=True)

    x = RNG.standard_normal((8, 16)).astype(np.float32)
    for n in (3, 4, 5):
        y, z = np.zeros_like(x), np.zeros_like(x)
        kernel(x, y, z, n)
        np.testing.assert_array_equal(y, x if n > 3 else np.full_like(x, 2))
        np.testing.assert_array_equal(z, 2 * x if n > 4 else x)
