"""A slot that TMA fills and threads read by ordinary loads, on a Hopper GPU.

If its release has no proxy fence, TMA can fill the slot again before slow loads of it
have read. On an H200, 30 to 191 of the 512 elements are wrong then, if the kernel is
assembled with ``-O1``: that puts all loads of an iteration right before the release.
"""

import subprocess

import numpy as np
import pytest

import tilews
import tilews.language as tl
from tilews import compiler, runtime

torch = pytest.importorskip("torch", reason="torch is not installed")
if runtime.device_target() != "sm_90a" or not compiler.find_ptxas():
    pytest.skip("needs a Hopper GPU and ptxas", allow_module_level=True)


@tilews.kernel(threads=256)
def product_of_slices(
    A: tl.Tensor["M, K:8", tl.f16],
    B: tl.Tensor["N, L:8", tl.f16],
    C: tl.Tensor["M, N", tl.f32],
    mask: tl.Tensor["S", tl.i1],
    steps: tl.i32,
    STEP: tl.constexpr,
):
    tl.grid(1)
    a, b = tl.alloc_shared((32, 16), tl.f16), tl.alloc_shared((16, 16), tl.f16)
    acc = tl.zeros((32, 16), tl.f32)
    for k in tl.range(steps, num_stages=1):
        if tl.load(mask[k]):
            tl.copy(A[0, 0], a)
            tl.copy(B[0, (k % 2) * STEP], b)
            first = tl.gemm(a[:, 0:8], b[:, 0:8], acc, transpose_rhs=True)
            acc = tl.gemm(a[:, 8:16], b[:, 8:16], first, transpose_rhs=True)
        tl.store(tl.full((32, 16), 1, tl.f16), a)
    C[0, 0] = acc


@pytest.mark.parametrize("step", [16, 4096], ids=["data", "zeros-outside"])
@pytest.mark.parametrize("level", ["-O1", "-O3"])
def test_slots_are_read_before_they_are_filled_again(level, step, tmp_path):
    compiled = product_of_slices.compile("sm_90a", STEP=step)
    ptx, cubin = tmp_path / "kernel.ptx", tmp_path / "kernel.cubin"
    ptx.write_text(compiled.ptx)
    command = [compiler.find_ptxas(), level, "-arch=sm_90a", ptx, "-o", cubin]
    subprocess.run(command, check=True, timeout=60)
    kernel = runtime.LoadedKernel(compiled.manifest, cubin.read_bytes())
    random = np.random.default_rng(0)
    a = random.integers(-3, 4, (32, 16)).astype(np.float16)
    b = random.integers(-3, 4, (16, 32)).astype(np.float16)
    even, odd = b[:, :16], b[:, 16:] if step == 16 else np.zeros((16, 16))
    for steps in (0, 1, 7, 1000):
        c = torch.full((32, 16), float("nan"), device="cuda")
        mask = torch.ones(1000, dtype=torch.bool, device="cuda")
        kernel(torch.from_numpy(a).cuda(), torch.from_numpy(b).cuda(), c, mask, steps)
        weights = (steps + 1) // 2 * even + steps // 2 * odd
        expected = a.astype(np.float64) @ weights.T.astype(np.float64)
        np.testing.assert_array_equal(c.cpu().numpy(), expected)
