"""Ready operations on arrays of torch, CuPy, JAX and numpy.

Each is a kernel and a function that checks arguments, allocates results, chooses a
configuration and launches::

    from tilews import kernels

    y = kernels.rms_norm(x, weight, residual=r)
    kernels.rms_norm.kernel.compile("sm_90a", T=tl.bf16, ...)

Arrays on a GPU are computed there, and those in host memory by the reference
interpreter. The operations need row-major arrays and copy nothing.
"""

from .attentions.decode import decode_attention
from .attentions.forward import attention
from .attentions.latent import mla_decode
from .experts.mixture import moe
from .experts.row_sums import combine_rows
from .experts.sorting import sort_by_expert
from .matmuls.dense import matmul
from .matmuls.grouped import grouped_matmul
from .matmuls.scaled import scaled_matmul
from .operation import Operation
from .rows.cross_entropy import cross_entropy
from .rows.cumulative import cumsum
from .rows.dropout import dropout
from .rows.fp8 import cast_to_fp8
from .rows.gated import gated, gelu_and_mul, silu_and_mul
from .rows.layer_norm import layer_norm
from .rows.rms_norm import rms_norm
from .rows.rotary import rope
from .rows.selection import argmax, top_k
from .rows.softmax import softmax

__all__ = [
    "Operation",
    "argmax",
    "attention",
    "cast_to_fp8",
    "combine_rows",
    "cross_entropy",
    "cumsum",
    "decode_attention",
    "dropout",
    "gated",
    "gelu_and_mul",
    "grouped_matmul",
    "layer_norm",
    "matmul",
    "mla_decode",
    "moe",
    "rms_norm",
    "rope",
    "scaled_matmul",
    "silu_and_mul",
    "softmax",
    "sort_by_expert",
    "top_k",
]
