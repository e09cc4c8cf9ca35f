"""Arrays on an NVIDIA GPU with the element types of ml_dtypes, which torch lacks."""

import importlib.util

import numpy as np

from tilews.runtime import device_target


def has_nvidia_gpu():
    """Whether tests can run kernels on a GPU of this machine."""
    return device_target().startswith("sm_") and bool(importlib.util.find_spec("torch"))


class GpuArray:
    """A copy of a host array on the current GPU.

    Launches find it by its interface, whose ``typestr`` is the numpy type itself: the
    string of a type of ml_dtypes does not name it.
    """

    def __init__(self, array: np.ndarray):
        import torch

        self.shape, self.dtype = array.shape, array.dtype
        data = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        self._bytes = torch.from_numpy(data.copy()).cuda()

    @property
    def __cuda_array_interface__(self):
        return {
            "version": 3,
            "shape": self.shape,
            "typestr": self.dtype,
            "data": (self._bytes.data_ptr(), False),
        }

    def to_numpy(self) -> np.ndarray:
        """A copy of the elements on the host; waits for the GPU."""
        return self._bytes.cpu().numpy().view(self.dtype).reshape(self.shape)
