"""Kernels that access memory at indices and under masks."""

import tilews
import tilews.language as tl


@tilews.kernel(threads=128)
def rows(
    X: tl.Tensor["M, K", tl.f32],
    Ids: tl.Tensor["N", tl.i32],
    Y: tl.Tensor["N, K", tl.f32],
    BN: tl.constexpr = 16,
    BK: tl.constexpr = 32,
):
    """Y[n, :] = X[Ids[n], :]; rows outside are -1."""
    n, k = tl.grid(tl.cdiv(Y.shape[0], BN), tl.cdiv(Y.shape[1], BK))
    ids = tl.load(Ids[n * BN], (BN,), pad=-1)
    Y[n * BN, k * BK] = tl.load(X[ids, k * BK : k * BK + BK], pad=-1.0)


@tilews.kernel(threads=128)
def columns(
    X: tl.Tensor["K, M", tl.f32],
    Ids: tl.Tensor["N", tl.i64],
    Y: tl.Tensor["K, N", tl.f32],
    BN: tl.constexpr = 16,
    BK: tl.constexpr = 8,
):
    """Y[:, n] = X[:, Ids[n]]."""
    n, k = tl.grid(tl.cdiv(Y.shape[1], BN), tl.cdiv(Y.shape[0], BK))
    ids = tl.load(Ids[n * BN], (BN,), pad=-1)
    Y[k * BK, n * BN] = tl.load(X[k * BK : k * BK + BK, ids])


@tilews.kernel(threads=64)
def table(
    T: tl.Tensor["M", tl.f16],
    Ids: tl.Tensor["8, 32", tl.i32],
    Y: tl.Tensor["8, 32", tl.f16],
):
    """Y = T[Ids], element by element."""
    Y[:, :] = tl.load(T[tl.load(Ids)], pad=0.5)


@tilews.kernel(threads=128)
def pages(
    K: tl.Tensor["P, 16, H, 32", tl.f16],
    Table: tl.Tensor["S", tl.i32],
    Y: tl.Tensor["N, H, 32", tl.f16],
    BN: tl.constexpr = 32,
):
    """Y[n, h] = K[Table[n // 16], n % 16, h], as a paged cache is read."""
    n, h = tl.grid(tl.cdiv(Y.shape[0], BN), Y.shape[1])
    places = tl.arange(BN) + n * BN
    page = tl.load(Table[places // 16], pad=-1)
    Y[n * BN : n * BN + BN, h, :] = tl.load(K[page, places % 16, h, :])


@tilews.kernel(threads=128)
def scatter_rows(
    X: tl.Tensor["N, K", tl.f32],
    Ids: tl.Tensor["N", tl.i32],
    Y: tl.Tensor["M, K", tl.f32],
    BN: tl.constexpr = 16,
    BK: tl.constexpr = 32,
):
    """Y[Ids[n], :] = X[n, :]."""
    n, k = tl.grid(tl.cdiv(X.shape[0], BN), tl.cdiv(X.shape[1], BK))
    ids = tl.load(Ids[n * BN], (BN,), pad=-1)
    Y[ids, k * BK : k * BK + BK] = tl.load(X[n * BN, k * BK], (BN, BK))


@tilews.kernel(threads=128)
def add_rows(
    X: tl.Tensor["N, K", tl.f32],
    Ids: tl.Tensor["N", tl.i32],
    Y: tl.Tensor["M, K", tl.f32],
    BN: tl.constexpr = 16,
    BK: tl.constexpr = 32,
):
    """Y[Ids[n], :] += X[n, :]."""
    n, k = tl.grid(tl.cdiv(X.shape[0], BN), tl.cdiv(X.shape[1], BK))
    ids = tl.load(Ids[n * BN], (BN,), pad=-1)
    x = tl.load(X[n * BN, k * BK], (BN, BK))
    tl.atomic_add(x, Y[ids, k * BK : k * BK + BK])


@tilews.kernel(threads=128)
def buckets(
    Ids: tl.Tensor["N", tl.i32],
    Count: tl.Tensor["B", tl.i32],
    Slot: tl.Tensor["N", tl.i32],
    BN: tl.constexpr = 64,
):
    """Slot[n] is the number of earlier elements in the bucket of element n."""
    n = tl.grid(tl.cdiv(Ids.shape[0], BN)) * BN
    ids = tl.load(Ids[n], (BN,), pad=-1)
    Slot[n] = tl.atomic_add(1, Count[ids], mask=ids % 3 != 2)


@tilews.kernel(threads=128)
def histogram(
    X: tl.Tensor["N", tl.i32], Count: tl.Tensor["64", tl.i32], BN: tl.constexpr = 256
):
    """Counts in shared memory, then in global memory."""
    n = tl.grid(tl.cdiv(X.shape[0], BN)) * BN
    counts = tl.alloc_shared((64,), tl.i32)
    tl.store(0, counts[:])
    x = tl.load(X[n], (BN,), pad=-1)
    tl.atomic_add(1, counts[x])
    tl.atomic_add(tl.load(counts), Count[:])


@tilews.kernel(threads=128)
def counted(
    X: tl.Tensor["M, N", "T"],
    Count: tl.Tensor["B", tl.i32],
    rows: tl.i32,
    bins: tl.constexpr,
    num_stages: tl.constexpr = 1,
):
    """Count[b] = the number of b in the first rows of X."""
    S = tl.alloc_shared((8, 64), X.dtype)
    counts = tl.zeros((bins,), tl.i32)
    for m in tl.range(tl.cdiv(X.shape[0], 8), num_stages=num_stages):
        tl.copy(X[m * 8, 0], S)
        inside = tl.arange(8) + m.to(tl.i32) * 8 < rows
        counts += tl.histogram(tl.load(S), bins, mask=inside[:, None])
    Count[0:bins] = counts


@tilews.kernel(threads=128)
def masked(
    X: tl.Tensor["M, K", tl.f16],
    Y: tl.Tensor["M, K", tl.f16],
    rows: tl.i32,
    columns: tl.i32,
    BM: tl.constexpr = 16,
    BK: tl.constexpr = 64,
):
    """Y[:rows, :columns] = X[:rows, :columns], and -2 in the tile's other elements of
    even rows."""
    m, k = tl.grid(tl.cdiv(X.shape[0], BM), tl.cdiv(X.shape[1], BK))
    i, j = tl.arange(BM) + m * BM, tl.arange(BK) + k * BK
    inside = (i < rows)[:, None] & (j < columns)[None, :]
    x = tl.load(X[m * BM, k * BK], (BM, BK), mask=inside, pad=-2.0)
    tl.store(x, Y[m * BM, k * BK], mask=inside | (i % 2 == 0)[:, None])


@tilews.kernel(threads=128)
def copied_rows(
    X: tl.Tensor["M, K:8", tl.f16],
    Ids: tl.Tensor["N", tl.i32],
    Y: tl.Tensor["N, K:8", tl.f16],
    BN: tl.constexpr = 32,
    BK: tl.constexpr = 64,
    num_stages: tl.constexpr = 3,
):
    """Y[n, :] = X[Ids[n], :], by a pipeline of copies."""
    n = tl.grid(tl.cdiv(Y.shape[0], BN)) * BN
    ids = tl.load(Ids[n], (BN,), pad=-1)
    S = tl.alloc_shared((BN, BK), tl.f16)
    for k in tl.range(tl.cdiv(X.shape[1], BK), num_stages=num_stages):
        tl.copy(X[ids, k * BK : k * BK + BK], S)
        Y[n, k * BK] = tl.load(S)


@tilews.kernel(threads=128)
def copied_pages(
    K: tl.Tensor["P, 16, H, 32", tl.f16],
    Table: tl.Tensor["S", tl.i32],
    Y: tl.Tensor["N, H, 32", tl.f16],
    n: tl.i32,
    BN: tl.constexpr = 32,
    num_stages: tl.constexpr = 3,
):
    """Y[t, h] = K[Table[t // 16], t % 16, h] for t < n, by a pipeline of copies."""
    h = tl.grid(Y.shape[1])
    S = tl.alloc_shared((BN, 32), tl.f16)
    for b in tl.range(tl.cdiv(Y.shape[0], BN), num_stages=num_stages):
        t = tl.arange(BN) + b.to(tl.i32) * BN
        page = tl.load(Table[t // 16], pad=-1)
        tl.copy(K[page, t % 16, h, :], S, mask=(t < n)[:, None])
        Y[b * BN : b * BN + BN, h, :] = tl.load(S)


@tilews.kernel(threads=128)
def copied_pages_of_heads(
    K: tl.Tensor["P, H, 16, 32", tl.f16],
    Table: tl.Tensor["S", tl.i32],
    Y: tl.Tensor["N, H, 32", tl.f16],
    BN: tl.constexpr = 32,
    num_stages: tl.constexpr = 3,
):
    """The same of a cache whose heads come before the places of a page."""
    h = tl.grid(Y.shape[1])
    S = tl.alloc_shared((BN, 32), tl.f16)
    for b in tl.range(tl.cdiv(Y.shape[0], BN), num_stages=num_stages):
        t = tl.arange(BN) + b.to(tl.i32) * BN
        page = tl.load(Table[t // 16], pad=-1)
        tl.copy(K[page, h, t % 16, :], S, pad=0.0)
        Y[b * BN : b * BN + BN, h, :] = tl.load(S)


@tilews.kernel(threads=128)
def copied_parts_of_pages(
    K: tl.Tensor["P, 16, H, D:8", tl.f16],
    Table: tl.Tensor["S", tl.i32],
    Y: tl.Tensor["N, H, D:8", tl.f16],
    BN: tl.constexpr = 32,
    num_stages: tl.constexpr = 3,
):
    """The same in parts of 16 columns, whose indices are made before the loop."""
    b, h = tl.grid(tl.cdiv(Y.shape[0], BN), Y.shape[1])
    t = tl.arange(BN) + b * BN
    page = tl.load(Table[t // 16], pad=-1)
    S = tl.alloc_shared((BN, 16), tl.f16)
    for d in tl.range(tl.cdiv(K.shape[3], 16), num_stages=num_stages):
        tl.copy(K[page, t % 16, h, d * 16 : d * 16 + 16], S)
        Y[b * BN : b * BN + BN, h, d * 16 : d * 16 + 16] = tl.load(S)


@tilews.kernel(threads=128)
def tables_of_pages(
    K: tl.Tensor["P, 16, H, 32", tl.f16],
    Table: tl.Tensor["S", tl.i32],
    Y: tl.Tensor["N, H, 32", tl.f16],
    num_stages: tl.constexpr = 3,
):
    """The same page by page: each copy is a region, whose page is a scalar."""
    h = tl.grid(Y.shape[1])
    S = tl.alloc_shared((32, 32), tl.f16)
    for b in tl.range(tl.cdiv(Y.shape[0], 32), num_stages=num_stages):
        for p in tl.static_range(2):
            page = tl.load(Table[b * 2 + p])
            tl.copy(K[page, 0:16, h, :], S[p * 16 : p * 16 + 16, :])
        Y[b * 32 : b * 32 + 32, h, :] = tl.load(S)


@tilews.kernel(threads=128)
def product_of_pages(
    Q: tl.Tensor["M, D:8", tl.f16],
    K: tl.Tensor["P, 16, D:8", tl.f16],
    Table: tl.Tensor["S", tl.i32],
    Y: tl.Tensor["M, N:8", tl.f32],
    num_stages: tl.constexpr = 3,
):
    """Y = Q @ K[Table[t // 16], t % 16].T in blocks of 32 columns, Q also in blocks.

    Both copies are in the loop: boxes of Q, and rows of K whose indices are computed.
    """
    m, n = tl.grid(tl.cdiv(Q.shape[0], 64), tl.cdiv(Y.shape[1], 32))
    Qs = tl.alloc_shared((64, 32), tl.f16)
    Ks = tl.alloc_shared((32, 32), tl.f16)
    acc = tl.zeros((64, 32), tl.f32)
    for d in tl.range(tl.cdiv(Q.shape[1], 32), num_stages=num_stages):
        t = tl.arange(32) + n * 32
        tl.copy(Q[m * 64, d * 32], Qs)
        tl.copy(K[tl.load(Table[t // 16], pad=-1), t % 16, d * 32 : d * 32 + 32], Ks)
        acc = tl.gemm(Qs, Ks, acc, transpose_rhs=True)
    Y[m * 64, n * 32] = acc


@tilews.kernel(threads=128)
def copied_masked(
    X: tl.Tensor["M, K:8", tl.f16],
    Y: tl.Tensor["M, K:8", tl.f16],
    num_stages: tl.constexpr = 2,
):
    """Y[m, :] = X[m, :] for odd m; the other rows are 0."""
    m = tl.grid(tl.cdiv(X.shape[0], 16)) * 16
    odd = (tl.arange(16) % 2 == 1)[:, None]
    S = tl.alloc_shared((16, 32), tl.f16)
    for k in tl.range(tl.cdiv(X.shape[1], 32), num_stages=num_stages):
        tl.copy(X[m, k * 32], S, mask=odd)
        Y[m, k * 32] = tl.load(S)


@tilews.kernel(threads=128)
def gathered_product(
    X: tl.Tensor["T, K:8", tl.f16],
    W: tl.Tensor["E, K:8, N:8", tl.f16],
    Ids: tl.Tensor["M", tl.i32],
    Expert: tl.Tensor["B", tl.i32],
    Y: tl.Tensor["M, N:8", tl.f32],
    BM: tl.constexpr = 64,
    BN: tl.constexpr = 64,
    BK: tl.constexpr = 32,
    num_stages: tl.constexpr = 3,
):
    """Y[m, :] = X[Ids[m], :] @ W[Expert[m // BM]], as in a mixture of experts."""
    bn, bm = tl.grid(tl.cdiv(Y.shape[1], BN), tl.cdiv(Y.shape[0], BM))
    ids = tl.load(Ids[bm * BM], (BM,), pad=-1)
    e = tl.load(Expert[bm])
    Xs = tl.alloc_shared((BM, BK), tl.f16)
    Ws = tl.alloc_shared((BK, BN), tl.f16)
    acc = tl.zeros((BM, BN), tl.f32)
    for k in tl.range(tl.cdiv(X.shape[1], BK), num_stages=num_stages):
        tl.copy(X[ids, k * BK : k * BK + BK], Xs)
        tl.copy(W[e, k * BK : k * BK + BK, bn * BN : bn * BN + BN], Ws)
        acc = tl.gemm(Xs, Ws, acc)
    Y[bm * BM, bn * BN] = acc


@tilews.kernel(threads=128)
def sequences(
    X: tl.Tensor["T, D:8", tl.f16],
    Start: tl.Tensor["S", tl.i32],
    Y: tl.Tensor["B, 48, D:8", tl.f16],
):
    """Y[b, :n] = the n rows of sequence b; the other rows stay."""
    b = tl.grid(Y.shape[0])
    start, stop = tl.load(Start[b]), tl.load(Start[b + 1])
    for t in tl.range(0, 48, 16):
        x = tl.load(X[start + t : stop, 0:32], (16, 32), pad=-1.0)
        tl.store(x, Y[b, t : t + (stop - start - t.to(tl.i32)), 0:32])


@tilews.kernel(threads=128)
def copied_sequences(
    X: tl.Tensor["T, D:8", tl.f16],
    Start: tl.Tensor["S", tl.i32],
    Y: tl.Tensor["B, 48, D:8", tl.f16],
    num_stages: tl.constexpr = 2,
):
    """Y[b, :n] = the n rows of sequence b; the other rows are 0."""
    b = tl.grid(Y.shape[0])
    start = tl.load(Start[b])
    n = tl.load(Start[b + 1]) - start
    S = tl.alloc_shared((48, 16), tl.f16)
    for k in tl.range(tl.cdiv(X.shape[1], 16), num_stages=num_stages):
        tl.copy(X[start : start + n, k * 16 : k * 16 + 16], S)
        Y[b, 0:48, k * 16 : k * 16 + 16] = tl.load(S)
