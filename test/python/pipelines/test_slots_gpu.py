"""Slots that TMA fills and threads read by ordinary loads, on a Hopper GPU.

Each second fill lies outside of the array. TMA writes its zeros soon after the slot is
released, before slow loads of the slot have read.
"""

import pytest

import tilews
import tilews.language as tl
from tilews import runtime

torch = pytest.importorskip("torch", reason="torch is not installed")
if runtime.device_target() != "sm_90a":
    pytest.skip("needs a Hopper GPU", allow_module_level=True)


@tilews.kernel(threads=256)
def product_of_slices(
    A: tl.Tensor["M, K:8", tl.f16],
    B: tl.Tensor["N, K:8", tl.f16],
    C: tl.Tensor["M, N", tl.f32],
    steps: tl.i32,
    STAGES: tl.constexpr,
):
    tl.grid(1)
    a, b = tl.alloc_shared((32, 16), tl.f16), tl.alloc_shared((16, 16), tl.f16)
    acc = tl.zeros((32, 16), tl.f32)
    for k in tl.range(steps, num_stages=STAGES):
        tl.copy(A[0, (k % 2) * 4096], a)
        tl.copy(B[0, (k % 2) * 4096], b)
        first = tl.gemm(a[:, 0:8], b[:, 0:8], acc, transpose_rhs=True)
        acc = tl.gemm(a[:, 8:16], b[:, 8:16], first, transpose_rhs=True)
    C[0, 0] = acc


@pytest.mark.parametrize("stages", [1, 2, 3])
def test_slots_are_read_before_they_are_filled_again(stages):
    torch.manual_seed(0)
    a = torch.randint(-3, 4, (32, 16), device="cuda").to(torch.float16)
    b = torch.randint(-3, 4, (16, 16), device="cuda").to(torch.float16)
    c = torch.zeros(32, 16, device="cuda")
    for steps in (0, 1, 7, 1000):
        product_of_slices(a, b, c, steps, STAGES=stages)
        expected = (steps + 1) // 2 * (a.float() @ b.float().T)
        assert torch.equal(c, expected)
