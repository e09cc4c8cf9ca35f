"""Functions that the examples share."""

from typing import Any

import numpy as np

from tilews.runtime import device_target


def run(kernel: Any, args: list[np.ndarray], **constants: Any) -> None:
    """Runs a kernel on numpy arrays: on the GPU if torch can reach one, else on the
    CPU. The arrays are updated."""
    target = device_target()
    if target == "cpu":
        kernel(*args, **constants)
        print("ran on the CPU, by the reference interpreter")
        return
    import torch

    tensors = [torch.from_numpy(array).cuda() for array in args]
    kernel(*tensors, **constants)
    for array, tensor in zip(args, tensors, strict=True):
        array[...] = tensor.cpu().numpy()
    print(f"ran on the GPU ({target})")


def relative_error(result: np.ndarray, expected: np.ndarray) -> float:
    """The largest error relative to the largest element."""
    difference = np.abs(result.astype(np.float64) - expected)
    return float(difference.max() / np.abs(expected).max())


def check(name: str, result: np.ndarray, expected: np.ndarray) -> None:
    """Stops the program if the error is larger than rounding explains."""
    error, bound = relative_error(result, expected), error_bound(result)
    if not error <= bound:
        raise SystemExit(f"{name}: relative error {error:.1e}, expected {bound:.1e}")


def error_bound(result: np.ndarray) -> float:
    """The relative error that rounding to the element type explains."""
    if np.issubdtype(result.dtype, np.integer):
        return 0.0
    return 4 * float(np.finfo(result.dtype).eps)


def report(name: str, result: np.ndarray, expected: np.ndarray) -> None:
    """Prints the error, and stops the program if it is too large."""
    error, bound = relative_error(result, expected), error_bound(result)
    print(f"{name}: maximum relative error {error:.1e} (bound {bound:.1e})")
    check(name, result, expected)
