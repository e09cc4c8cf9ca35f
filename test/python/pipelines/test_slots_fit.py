"""Legal kernels compile: pipelines get fewer slots if shared memory has no room.

The scratch memory of conversions is known after layouts only, when the slots of a
pipeline were chosen already.
"""

import math
import re

import pytest

import tilews
import tilews.language as tl
from tilews import passes

CHIPS = ("sm_80", "sm_90a", "gfx942", "gfx950", "gfx1100")
#: Chips with matmuls of fp8.
FP8_CHIPS = ("sm_90a", "gfx942", "gfx950")
TYPES = {"f16": tl.f16, "bf16": tl.bf16, "fp8": tl.e4m3}
#: Depths, keys and queries. Each chip has no room for the slots of some of them.
TILES = [(128, 128, 128), (64, 256, 64), (256, 256, 128)]


@tilews.kernel
def weighted_sums(
    Q: tl.Tensor["S, D1", "T"],
    K: tl.Tensor["L:32, D2", "T"],
    V: tl.Tensor["L:32, D3", "T"],
    Y: tl.Tensor["S, D4", tl.f32],
    DEPTH: tl.constexpr,
    QUERIES: tl.constexpr,
    KEYS: tl.constexpr,
    STAGES: tl.constexpr,
):
    """Attention with scores of keys x queries."""
    m = tl.grid(tl.cdiv(Q.shape[0], QUERIES)) * QUERIES
    scale = math.log2(math.e) / math.sqrt(DEPTH)
    queries = tl.transpose(tl.load(Q[m : m + QUERIES, 0:DEPTH]))
    Ks = tl.alloc_shared((KEYS, DEPTH), Q.dtype)
    Vs = tl.alloc_shared((KEYS, DEPTH), Q.dtype)
    out = tl.zeros((DEPTH, QUERIES), tl.f32)
    top = tl.full((QUERIES,), -1e30, tl.f32)
    total = tl.zeros((QUERIES,), tl.f32)
    for k in tl.range(tl.cdiv(K.shape[0], KEYS), num_stages=STAGES):
        tl.copy(K[k * KEYS, 0], Ks)
        none = tl.zeros((KEYS, QUERIES), tl.f32)
        scores = tl.gemm(Ks, queries, none, policy="full_col")
        higher = tl.maximum(top, tl.max(scores, axis=0) * scale)
        weights = tl.exp2(scores * scale - higher[None, :])
        factor = tl.exp2(top - higher)
        total = total * factor + tl.sum(weights, axis=0)
        tl.copy(V[k * KEYS, 0], Vs)
        out = tl.gemm(
            Vs,
            weights.to(Q.dtype),
            out * factor[None, :],
            transpose_lhs=True,
            policy="full_col",
        )
        top = higher
    Y[m : m + QUERIES, 0:DEPTH] = tl.transpose(out / total[None, :])


def lower(chip, dtype, depth, keys, stages, queries=128):
    """The messages; raises CompileError if the kernel does not compile."""
    family = "nvvm" if chip.startswith("sm_") else "rocdl"
    depths = {f"D{i}": depth for i in range(1, 5)}
    module = weighted_sums.build(
        chip,
        threads=2 * queries,
        T=TYPES[dtype],
        DEPTH=depth,
        QUERIES=queries,
        KEYS=keys,
        STAGES=stages,
        **depths,
    )
    return passes.run(module, f"tilews-to-{family}{{chip={chip}}}")


def has_room(chip, dtype, depth, keys, queries):
    """Whether the kernel fits in shared memory without stages; raises other errors."""
    try:
        lower(chip, dtype, depth, keys, None, queries)
    except tilews.CompileError as error:
        if not re.search("needs .* bytes of shared memory, but", str(error)):
            raise
        return False
    return True


@pytest.mark.parametrize(
    "chip, dtype, depth, keys, stages, slots",
    [
        ("gfx950", "bf16", 128, 128, 2, "1 slot instead of 2"),
        ("sm_90a", "f16", 128, 128, 4, "3 slots instead of 4"),
        ("sm_80", "f16", 128, 96, 4, "3 slots instead of 4"),
        ("sm_80", "f16", 192, 64, 4, "3 slots instead of 4"),
    ],
)
def test_a_remark_names_the_slots(chip, dtype, depth, keys, stages, slots):
    messages = [str(m) for m in lower(chip, dtype, depth, keys, stages)]
    (remark,) = [m for m in messages if "tile-pipe-0018" in m]
    assert slots in remark and "bytes of shared memory" in remark
    assert "is not pipelined" not in remark


@pytest.mark.parametrize(
    "chip, dtype",
    [
        (chip, dtype)
        for chip in CHIPS
        for dtype in TYPES
        if dtype != "fp8" or chip in FP8_CHIPS
    ],
)
def test_more_stages_never_fail_where_none_compile(chip, dtype):
    fitting = [tile for tile in TILES if has_room(chip, dtype, *tile)]
    assert fitting
    fewer = False
    for depth, keys, queries in fitting:
        for stages in (1, 2, 3, 4):
            messages = lower(chip, dtype, depth, keys, stages, queries)
            fewer |= any("tile-pipe-0018" in str(each) for each in messages)
    assert fewer, "no tile has too many slots"
