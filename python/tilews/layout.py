"""Layouts of shared buffers, fragments and matrix instructions, without IR."""

from ._layout_recognition import recognize
from ._mlir_libs._tilews.layout import (
    FragmentLayout,
    Layout,
    Mma,
    SharedLayout,
    TmaBoxes,
    WgmmaDescriptor,
    bank_conflicts,
    mfma,
    mma_sync,
    tma_boxes,
    wgmma,
    wgmma_descriptor,
    wmma_gfx11,
    wmma_gfx12,
)

__all__ = [
    "FragmentLayout",
    "Layout",
    "Mma",
    "SharedLayout",
    "TmaBoxes",
    "WgmmaDescriptor",
    "bank_conflicts",
    "mfma",
    "mma_sync",
    "recognize",
    "tma_boxes",
    "wgmma",
    "wgmma_descriptor",
    "wmma_gfx11",
    "wmma_gfx12",
]
