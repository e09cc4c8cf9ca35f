"""Accesses at indices and under masks, on a GPU."""

import numpy as np
import pytest

from runtime.gpu_arrays import has_nvidia_gpu
from support.gather_cases import CASES, copies

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.skipif(not has_nvidia_gpu(), reason="needs a GPU")


@pytest.mark.parametrize("name", CASES)
def test_kernels(name):
    case = CASES[name]
    tensors = [
        torch.from_numpy(x).cuda() if isinstance(x, np.ndarray) else x
        for x in copies(case.arguments)
    ]
    case.kernel(*tensors, **case.constants)
    case.check([x.cpu().numpy() if isinstance(x, torch.Tensor) else x for x in tensors])
