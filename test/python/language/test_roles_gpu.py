"""Hand-written roles on a GPU."""

import numpy as np
import pytest

from kernels import gemm, roles
from kernels import role_copies as copies
from tilews import runtime
from tilews.runtime import device_target

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.skipif(
    device_target() != "sm_90a", reason="needs a Hopper GPU"
)


def on_gpu(*arrays):
    return [torch.from_numpy(array).cuda() for array in arrays]


@pytest.mark.parametrize("stages", [1, 2, 4])
@pytest.mark.parametrize("registers", [(None, None), (232, 40)])
@pytest.mark.parametrize("k", [16, 96, 2080])
def test_roles(stages, registers, k):
    a, b, c = roles.operands(k=k)
    tensors = on_gpu(a, b, c)
    warps = 1 if registers[0] is None else 4
    roles.by_roles(*tensors, STAGES=stages, REGISTERS=registers, LOAD_WARPS=warps)
    expected = a.astype("f4") @ b.astype("f4")
    np.testing.assert_array_equal(tensors[2].cpu().numpy(), expected)


@pytest.mark.parametrize("density", [0.0, 0.5, 1.0])
def test_guards_in_persistent_loops(density):
    a, b, c = roles.operands()
    mask = np.random.default_rng(1).random((3, 7)) < density
    tensors = on_gpu(a, b, mask, c)
    roles.persistent_roles(*tensors)
    wide = np.repeat(np.repeat(mask, gemm.BM, 0)[:136], roles.BK, 1)[:, :208]
    expected = (a * wide).astype("f4") @ b.astype("f4")
    np.testing.assert_array_equal(tensors[3].cpu().numpy(), expected)


def load(kernel, target, tensors, **constants):
    """The kernel for a chip; the driver compiles the PTX of other chips."""
    compiled = kernel.compile_for(*tensors, target=target, **constants)
    if target == device_target():
        return compiled
    return runtime.LoadedKernel(compiled.manifest, compiled.ptx.encode())


@pytest.mark.parametrize("target", ["sm_80", "sm_90", "sm_90a"])
@pytest.mark.parametrize("k", [16, 48, 336, 2080])
@pytest.mark.parametrize(("kernel", "what"), copies.KERNELS, ids=lambda x: x.__name__)
def test_copies_beside_channels(kernel, what, k, target):
    a, d, c = copies.operands(k)
    tensors = on_gpu(a, d, c)
    compiled = load(kernel, target, tensors)
    for _ in range(3):
        tensors[2].zero_()
        compiled(*tensors)
        torch.cuda.synchronize()
        np.testing.assert_array_equal(
            tensors[2].cpu().numpy(), copies.expect(a, d, what)
        )


@pytest.mark.parametrize("target", ["sm_80", "sm_90"])
@pytest.mark.parametrize("stages", [1, 2, 4])
@pytest.mark.parametrize("k", [16, 96, 2080])
def test_roles_of_older_chips(stages, k, target):
    a, b, c = roles.operands(k=k)
    tensors = on_gpu(a, b, c)
    load(roles.by_roles, target, tensors, STAGES=stages)(*tensors)
    torch.cuda.synchronize()
    expected = a.astype("f4") @ b.astype("f4")
    np.testing.assert_array_equal(tensors[2].cpu().numpy(), expected)
