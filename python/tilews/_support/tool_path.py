"""Where Python packages put NVIDIA's assembler."""

from __future__ import annotations

import importlib.util
import pathlib


def directories() -> list[str]:
    """The directories of installed ``nvidia-cuda-nvcc`` wheels that hold ``ptxas``."""
    found = []
    spec = importlib.util.find_spec("nvidia")
    for root in (spec and spec.submodule_search_locations) or ():
        # python -m looks for packages in the current directory, too.
        if pathlib.Path(root).resolve().parent == pathlib.Path.cwd():
            continue
        # The wheel of CUDA 12 has a folder of its own, later ones one for all.
        for ptxas in sorted(pathlib.Path(root).glob("c*/bin/ptxas"), reverse=True):
            found.append(str(ptxas.parent))
    return found
