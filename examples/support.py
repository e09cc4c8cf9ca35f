"""What the examples share."""

from typing import Any

import numpy as np
from tilews.runtime import device_target


def run(kernel: Any, args: list[np.ndarray]) -> None:
    """Runs a kernel on numpy arrays: on the GPU if torch can reach one, else on the
    CPU. The arrays are updated."""
    target = device_target()
    if target == "cpu":
        kernel(*args)
        print("ran on the CPU, by the reference interpreter")
        return
    import torch

    tensors = [torch.from_numpy(array).cuda() for array in args]
    kernel(*tensors)
    for array, tensor in zip(args, tensors, strict=True):
        array[...] = tensor.cpu().numpy()
    print(f"ran on the GPU ({target})")


def relative_error(result: np.ndarray, expected: np.ndarray) -> float:
    """The largest error relative to the largest element."""
    difference = np.abs(result.astype(np.float64) - expected)
    return float(difference.max() / np.abs(expected).max())


def report(name: str, result: np.ndarray, expected: np.ndarray) -> None:
    """Prints the error, and fails if it is more than the element type explains."""
    error = relative_error(result, expected)
    bound = 4 * float(np.finfo(result.dtype).eps)
    print(f"{name}: maximum relative error {error:.1e} (bound {bound:.1e})")
    if not error <= bound:
        raise SystemExit(f"{name}: the result is wrong")
