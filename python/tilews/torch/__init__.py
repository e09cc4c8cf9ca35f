"""Kernels as operators of torch: for torch.compile, torch.export and autograd.

:func:`op` makes an operator of a kernel, or of a function that launches kernels. The
operations of :mod:`tilews.kernels` are operators ``torch.ops.tilews.*`` as soon as this
module is imported; their kernels are loaded with the first call.
"""

from __future__ import annotations

try:
    import torch  # noqa: F401
except ImportError as error:
    raise ImportError(
        f"tilews.torch needs torch 2.6 or later ({error}): pip install torch",
        name="torch",
    ) from error

from . import library_experts, library_matmuls, library_rows  # noqa: F401
from .registration import op

__all__ = ["op"]
