"""A softmax over tiles of scores, of which each is seen once."""

from typing import Any

import tilews
import tilews.language as tl

from .score_options import LOG2_E


@tilews.func
def weigh(scores: Any, state: Any, scale: Any) -> Any:
    """The weights of a tile's scores, and the state as its highest score asks for.

    The state is the sum of weighted values, the highest score so far, and the sum of
    weights, both relative to that score, which is in powers of two (Milakov and
    Gimelshein: Online normalizer calculation for softmax, 2018)."""
    out, top, total = state
    higher = tl.maximum(top, tl.max(scores, axis=1) * scale)
    weights = tl.exp2(scores * scale - higher[:, None])
    factor = tl.exp2(top - higher)
    total = total * factor + tl.sum(weights, axis=1)
    return weights, (out * factor[:, None], higher, total)


@tilews.func
def weighted_mean(out: Any, total: Any) -> Any:
    """The weighted mean of values, and 0 for rows without keys."""
    factor = tl.where(total > 0.0, 1.0 / total, 0.0)
    return out * factor[:, None]


@tilews.func
def log_sum(top: Any, total: Any) -> Any:
    """The natural logarithm of the sum of exponentials."""
    return (top + tl.log2(total)) * (1 / LOG2_E)
