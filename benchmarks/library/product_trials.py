"""What is measured of matmuls and attention: see trials.py."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from tilews import kernels

from ..cases import Case
from ..measure import UNIT_ROUNDOFF
from .trial import Tensor, Trial, random_tensor


def matmul(case: Case) -> Trial:
    m, n, k = case.shape
    transposed = [letter == "T" for letter in case.layout]
    a = random_tensor((k, m) if transposed[0] else (m, k), case.dtype)
    b = random_tensor((n, k) if transposed[1] else (k, n), case.dtype)
    left, right = a.t() if transposed[0] else a, b.t() if transposed[1] else b
    is_fp8 = case.dtype == "e4m3"
    kind = torch.bfloat16 if is_fp8 else a.dtype
    y = torch.empty(m, n, dtype=kind, device="cuda")
    bound = UNIT_ROUNDOFF["bf16" if is_fp8 else case.dtype]
    if is_fp8:  # See benchmarks/gemm.py.
        bound += k / 32 * 2**-16
        one = torch.ones((), device="cuda")
        peer = lambda: torch._scaled_mm(left, right, one, one, out_dtype=kind)  # noqa: E731
    else:
        peer = lambda: torch.matmul(left, right)  # noqa: E731
    if case.dtype == "f32":  # Operands are rounded to 10 bits.
        bound = 2**-10
    return Trial(
        lambda: kernels.matmul(
            a, b, transpose_a=transposed[0], transpose_b=transposed[1], out=y
        ),
        {"matmul": peer},
        y,
        left.double() @ right.double(),
        2e-12 * m * n * k,
        bound,
    )


def grouped_matmul(case: Case) -> Trial:
    """A mixture of experts; the shape is rows, N, K and experts. With the layout
    "gather" the rows are taken from a quarter as many tokens."""
    m, n, k, groups = case.shape
    tokens = random_tensor((m // 4 if case.layout == "gather" else m, k), case.dtype)
    experts = random_tensor((groups, n, k), case.dtype)
    cuts = torch.randint(0, m + 1, (groups - 1,), device="cuda").sort().values
    ends = torch.cat([cuts, torch.full((1,), m, device="cuda")]).int()
    starts = F.pad(ends, (1, 0))
    given, taken = {}, tokens
    if case.layout == "gather":
        rows = torch.randint(0, len(tokens), (m,), device="cuda", dtype=torch.int32)
        given, taken = {"rows": rows}, tokens[rows.long()]
    y = torch.empty(m, n, dtype=tokens.dtype, device="cuda")
    reference = torch.empty(m, n, dtype=torch.float64, device="cuda")
    bounds = starts.tolist()
    for expert in range(groups):
        own = slice(*bounds[expert : expert + 2])
        reference[own] = taken[own].double() @ experts[expert].double().T
    return Trial(
        lambda: kernels.grouped_matmul(
            tokens, experts, starts, transpose_b=True, out=y, **given
        ),
        {"grouped_mm": lambda: torch._grouped_mm(taken, experts.mT, offs=ends)},
        y,
        reference,
        2e-12 * m * n * k,
        2 * UNIT_ROUNDOFF[case.dtype],
    )


def moe(case: Case) -> Trial:
    """A mixture of experts; the shape is tokens, elements, hidden elements, experts and
    choices. torch has grouped matmuls, and sorts and adds up around them."""
    tokens, depth, inner, experts, choices = case.shape
    x = random_tensor((tokens, depth), case.dtype)
    w13 = random_tensor((experts, 2 * inner, depth), case.dtype, depth**-0.5)
    w2 = random_tensor((experts, depth, inner), case.dtype, inner**-0.5)
    scores = torch.rand(tokens, experts, device="cuda")
    weights, ids = scores.topk(choices, 1)
    y = torch.empty_like(x)

    def peer() -> Tensor:
        order = ids.flatten().argsort(stable=True)
        counts = torch.bincount(ids.flatten(), minlength=experts)
        ends = counts.cumsum(0).int()
        rows = order // choices
        gates, values = torch._grouped_mm(x[rows], w13.mT, offs=ends).chunk(2, 1)
        found = torch._grouped_mm(F.silu(gates) * values, w2.mT, offs=ends)
        parts = found * weights.flatten()[order, None].to(found.dtype)
        return torch.zeros_like(x).index_add_(0, rows, parts)

    reference = torch.zeros(x.shape, dtype=torch.float64, device="cuda")
    for expert in range(experts):
        token, choice = (ids == expert).nonzero(as_tuple=True)
        both = x[token].double() @ w13[expert].double().t()
        gates, values = both.chunk(2, 1)
        part = (F.silu(gates) * values) @ w2[expert].double().t()
        reference.index_add_(0, token, part * weights[token, choice, None].double())
    given = ids.int()
    return Trial(
        lambda: kernels.moe(x, given, weights, w13, w2, out=y),
        {"grouped_mm": peer},
        y,
        reference,
        6e-12 * tokens * choices * depth * inner,
        4 * UNIT_ROUNDOFF[case.dtype],
        slack=8 * UNIT_ROUNDOFF[case.dtype],  # torch adds up rounded sums.
    )


def scaled_matmul(case: Case) -> Trial:
    """A matmul of fp8; the layout is what has a scale: "tensor", "rows" or "blocks"."""
    m, n, k = case.shape
    a, b = (random_tensor((rows, k), case.dtype) for rows in (m, n))
    depth = -(-k // 128)
    left, right = {
        "tensor": ((1,), (1,)),
        "rows": ((m,), (n,)),
        "blocks": ((m, depth), (-(-n // 128), depth)),
    }[case.layout]
    scales = [torch.rand(shape, device="cuda") + 0.5 for shape in (left, right)]
    theirs = scales
    factors = [each.double() for each in scales]
    if case.layout == "rows":
        theirs = [scales[0][:, None], scales[1][None, :]]
        factors = [each[:, None] for each in factors]
    if case.layout == "blocks":  # torch takes those of A with rows next to each other.
        theirs = [scales[0].t().contiguous().t(), scales[1].t()]
        factors = [each.repeat_interleave(128, 1)[:, :k] for each in factors]
        factors[1] = factors[1].repeat_interleave(128, 0)[:n]
    y = torch.empty(m, n, dtype=torch.bfloat16, device="cuda")
    kind = y.dtype
    unit = UNIT_ROUNDOFF["bf16"]
    return Trial(
        lambda: kernels.scaled_matmul(a, b, *scales, out=y),
        {"scaled_mm": lambda: torch._scaled_mm(a, b.t(), *theirs, out_dtype=kind)},
        y,
        (a.double() * factors[0]) @ (b.double() * factors[1]).t(),
        2e-12 * m * n * k,
        unit + 128 / 32 * 2**-16,  # Blocks have 128: see benchmarks/gemm.py.
        slack=unit + k / 32 * 2**-16,
    )


def attention(case: Case) -> Trial:
    """Attention; the shape is batches, queries and keys, heads of both, elements."""
    batch, length, heads, groups, depth = case.shape
    q = random_tensor((batch, length, heads, depth), case.dtype)
    k, v = (random_tensor((batch, length, groups, depth), case.dtype) for _ in range(2))
    y = torch.empty_like(q)
    is_causal = case.layout == "causal"

    def peer(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        heads_first = (x.transpose(1, 2) for x in (q, k, v))
        out = F.scaled_dot_product_attention(
            *heads_first, is_causal=is_causal, enable_gqa=heads != groups
        )
        return out.transpose(1, 2)

    # One head at a time: its scores in float64 have 8 bytes times length^2.
    reference = torch.empty(q.shape, dtype=torch.float64, device="cuda")
    for i in range(batch):
        for h in range(heads):
            one = (x[i : i + 1, :, g : g + 1].double() for x, g in _heads(q, k, v, h))
            reference[i : i + 1, :, h : h + 1] = peer(*one)
    pairs = (length + 1) / 2 if is_causal else length
    return Trial(
        lambda: kernels.attention(q, k, v, causal=is_causal, out=y),
        {"sdpa": lambda: peer(q, k, v)},
        y,
        reference,
        4e-12 * batch * heads * length * pairs * depth,
        2 * UNIT_ROUNDOFF[case.dtype],
    )


def _heads(q: Tensor, k: Tensor, v: Tensor, h: int) -> list[tuple[Tensor, int]]:
    """The head of queries `h`, and that of keys and values which it uses."""
    own = h // (q.shape[2] // k.shape[2])
    return [(q, h), (k, own), (v, own)]


def decode_attention(case: Case) -> Trial:
    """Decoding; the shape is batches, keys, heads of both, elements; a page's tokens or
    "whole" is the layout. A sequence has from half of the keys to all of them."""
    batch, length, heads, groups, depth = case.shape
    q = random_tensor((batch, 1, heads, depth), case.dtype)
    lengths = torch.randint(length // 2, length + 1, (batch,), device="cuda")
    cache = [
        random_tensor((batch, length, groups, depth), case.dtype) for _ in range(2)
    ]
    y, given, pages = torch.empty_like(q), {}, cache
    if case.layout != "whole":
        page = int(case.layout)
        table = torch.randperm(batch * length // page, device="cuda")
        pages = [torch.empty_like(x).view(-1, page, groups, depth) for x in cache]
        for ours, x in zip(pages, cache, strict=True):
            ours[table] = x.view(ours.shape)
        given["table"] = table.view(batch, -1).int()
    inside = torch.arange(length, device="cuda") < lengths[:, None]
    mask = inside[:, None, None, :]

    def peer(*arrays: Tensor) -> Tensor:
        heads_first = (x.transpose(1, 2) for x in arrays)
        out = F.scaled_dot_product_attention(
            *heads_first, attn_mask=mask, enable_gqa=heads != groups
        )
        return out.transpose(1, 2)

    counts = lengths.int()
    return Trial(
        lambda: kernels.decode_attention(q, *pages, counts, out=y, **given),
        {"sdpa": lambda: peer(q, *cache)},
        y,
        peer(*(x.double() for x in (q, *cache))),
        2.0 * int(lengths.sum()) * groups * depth * q.element_size(),
        2 * UNIT_ROUNDOFF[case.dtype],
    )


def mla_decode(case: Case) -> Trial:
    """Latent attention; the shape is batches, rows, heads, the rank and the elements
    beside it. The layout is the tokens of a page, or "sparse": of the rows of each
    sequence, a query sees 2048. All sequences have all rows."""
    batch, length, heads, rank, rest = case.shape
    q = random_tensor((batch, 1, heads, rank + rest), case.dtype)
    whole = random_tensor((batch, length, rank + rest), case.dtype)
    seen, scale, page = whole, 192**-0.5, 64
    if case.layout == "sparse":
        kept = torch.rand(batch, length, device="cuda").argsort(1)[:, :2048]
        seen = torch.stack([rows[own] for rows, own in zip(whole, kept, strict=True)])
        starts = length * torch.arange(batch, device="cuda")
        ids = (kept + starts[:, None])[:, None].int()
        cache, arguments = whole.view(-1, page, rank + rest), {"ids": ids}
    else:
        page = int(case.layout)
        table = torch.randperm(batch * length // page, device="cuda")
        cache = torch.empty_like(whole).view(-1, page, rank + rest)
        cache[table] = whole.view(cache.shape)
        lengths = torch.full((batch,), length, dtype=torch.int32, device="cuda")
        arguments = {"lengths": lengths, "table": table.view(batch, -1).int()}
    y = torch.empty((batch, 1, heads, rank), dtype=q.dtype, device="cuda")

    def peer(q: Tensor, rows: Tensor) -> Tensor:
        keys = rows[:, None]  # Heads are the queries of one head.
        return F.scaled_dot_product_attention(q, keys, keys[..., :rank], scale=scale)

    return Trial(
        lambda: kernels.mla_decode(
            q, cache, rank=rank, scale=scale, out=y, **arguments
        ),
        {"sdpa": lambda: peer(q, seen)},
        y,
        peer(q.double(), seen.double()),
        2e-12 * batch * seen.shape[1] * heads * (2 * rank + rest),
        2 * UNIT_ROUNDOFF[case.dtype],
    )
