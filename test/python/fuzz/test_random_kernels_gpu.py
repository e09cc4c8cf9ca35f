"""Random kernels on an NVIDIA GPU."""

import pytest

from tilews.fuzz import on_gpu, processes
from tilews.fuzz.check import Options

try:
    TARGETS = on_gpu.targets()
except LookupError as error:
    pytest.skip(str(error), allow_module_level=True)


# In 199, TMA filled a slot that threads still read. In 3576, an assembler lost the
# constant of a sum of two 16-bit integers.
@pytest.mark.parametrize("seed", [*range(40), 199, 3576])
def test_gpu_computes_the_same(seed):
    options = Options(TARGETS, reference_every=0, on_gpu=True)
    ((_, found),) = processes.run([seed], options, jobs=0)
    assert not found
