"""Runs random kernels on the GPU of this machine."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import ir, runtime
from ..compiler import compile_module

#: Seconds after which a kernel hangs. They all take milliseconds.
PATIENCE = 20.0


def targets() -> tuple[str, ...]:
    """What kernels are compiled for here: this GPU, and its ancestor without roles.

    Raises:
        LookupError: if there is no NVIDIA GPU with its driver, cuda-bindings and torch.
    """
    chip = runtime.device_target()
    if not chip.startswith("sm_"):
        raise LookupError("no NVIDIA GPU, or no cuda-bindings")
    try:
        import torch  # noqa: F401
    except ImportError:
        raise LookupError("torch is not installed") from None
    return (chip, "sm_80") if chip != "sm_80" else (chip,)


def run(module: ir.Module, arguments: Sequence[Any], target: str) -> None:
    """Compiles the only kernel of a module, and runs it; updates the arrays.

    Args:
        module: a kernel as written, with the target.
        arguments: numpy arrays, and numbers.
        target: one of :func:`targets`.

    Raises:
        CompileError: the kernel cannot be compiled.
        LaunchError: it cannot be launched.
        TimeoutError: it does not end. Only the end of the process frees the GPU.
    """
    compiled = compile_module(module, target)
    manifest = dict(compiled.manifest)
    for key in ("arguments", "parameters"):
        manifest[key] = [
            {**each, "dtype": "i8"} if _is_bytes(each.get("dtype", "")) else each
            for each in manifest[key]
        ]
    # The driver compiles PTX for another chip.
    is_own = target == runtime.device_target()
    image = compiled.cubin if is_own else compiled.ptx.encode()
    kernel = runtime.LoadedKernel(manifest, image)
    device = [_to_device(each) for each in arguments]
    kernel(*device)
    _wait()
    for array, found in zip(arguments, device, strict=True):
        if isinstance(array, np.ndarray):
            array[...] = _to_numpy(found, array)


def _wait() -> None:
    import torch

    done = torch.cuda.Event()
    done.record()
    deadline = time.monotonic() + PATIENCE
    while not done.query():
        if time.monotonic() > deadline:
            raise TimeoutError(f"the kernel did not end within {PATIENCE:.0f} s")
        time.sleep(1e-4)


def _is_bytes(dtype: str) -> bool:
    """Whether torch lacks an element type, so that arrays of it are bytes there."""
    return dtype.startswith(("f6", "float6"))


def _to_device(array: Any) -> Any:
    """A copy on the GPU, with the same strides."""
    import torch

    if not isinstance(array, np.ndarray):
        return array
    # Rows may have a gap between them, which belongs to the array's memory.
    whole = array if array.base is None else array.base
    # torch takes no array of an element type that is not numpy's own.
    bits = torch.from_numpy(whole.view(f"i{whole.itemsize}").copy()).cuda()
    if not _is_bytes(array.dtype.name):
        bits = bits.view(getattr(torch, array.dtype.name))
    return bits[..., : array.shape[-1]]


def _to_numpy(tensor: Any, like: np.ndarray) -> np.ndarray:
    import torch

    bits = tensor.contiguous().view(getattr(torch, f"int{8 * like.itemsize}"))
    found: np.ndarray = bits.cpu().numpy().view(like.dtype)
    return found
