"""Matmuls on an NVIDIA GPU from buffers with requested layouts.

They show that wgmma's descriptors and ldmatrix's addresses fit the layouts."""

import pytest

import tilews
import tilews.language as tl
from tilews import runtime

torch = pytest.importorskip("torch", reason="torch is not installed")
if not runtime.device_target().startswith("sm_"):
    pytest.skip("no NVIDIA GPU, or no cuda-bindings", allow_module_level=True)

M, N, K = 128, 128, 192


@tilews.kernel(threads=256)
def gemm(
    A: tl.Tensor["R, S", "T"],
    B: tl.Tensor["U, V", "T"],
    C: tl.Tensor["M, N", tl.f32],
    LA: tl.constexpr,
    LB: tl.constexpr,
    TA: tl.constexpr,
    TB: tl.constexpr,
):
    a = tl.alloc_shared((64, 128) if TA else (128, 64), A.dtype, layout=LA)
    b = tl.alloc_shared((128, 64) if TB else (64, 128), B.dtype, layout=LB)
    acc = tl.zeros((128, 128), tl.f32)
    for k in tl.range(3):
        if TA:
            tl.copy(A[k * 64, 0], a)
        else:
            tl.copy(A[0, k * 64], a)
        if TB:
            tl.copy(B[0, k * 64], b)
        else:
            tl.copy(B[k * 64, 0], b)
        acc = tl.gemm(a, b, acc, transpose_lhs=TA, transpose_rhs=TB, allow_tf32=True)
    tl.store(acc, C[0, 0])


def xor_rows(i, j):
    """The 128-byte swizzle of rows of 64 halves, by hand."""
    return i * 64 + (j // 8 ^ i % 8) * 8 + j % 8


#: Layouts of 128 x 64 and of 64 x 128 halves; "columns" are column-major.
TALL = {
    "none": None,
    "128": "swizzle_128B",
    "64": "swizzle_64B",
    "32": "swizzle_32B",
    "cores": "(128,(8,8)):(8,(1,1024))",
    "cores with gaps": "((8,16),(8,8)):((8,640),(1,72))",
    "columns": "Sw<3,3,3> o ((64,2),64):((1,4096),64)",
    "padded": "padded",
    "xor": xor_rows,
}
WIDE = {
    "none": None,
    "128": "swizzle_128B",
    "64": "swizzle_64B",
    "cores": "(64,(8,16)):(8,(1,512))",
    "columns": "Sw<3,3,3> o (64,128):(1,64)",
    "padded": "padded",
}


def check(left, right, transposed, dtype=torch.float16):
    """Compares a matmul with torch's."""
    ta, tb = transposed
    generator = torch.Generator().manual_seed(0)
    a = torch.randn(M, K, generator=generator).to(dtype).cuda()
    b = torch.randn(K, N, generator=generator).to(dtype).cuda()
    c = torch.zeros(M, N, device="cuda")
    stored_a = a.t().contiguous() if ta else a
    stored_b = b.t().contiguous() if tb else b
    gemm(stored_a, stored_b, c, LA=left, LB=right, TA=ta, TB=tb)
    torch.testing.assert_close(c, a.float() @ b.float(), rtol=2e-2, atol=2e-1)


@pytest.mark.parametrize("name", TALL)
def test_left_operands(name):
    check(TALL[name], None, (False, True))


@pytest.mark.parametrize("name", TALL)
def test_right_operands(name):
    check(None, TALL[name], (False, True))


@pytest.mark.parametrize("name", WIDE)
def test_transposed_left_operands(name):
    check(WIDE[name], None, (True, True))


@pytest.mark.parametrize("name", WIDE)
def test_transposed_right_operands(name):
    check(None, WIDE[name], (False, False))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
@pytest.mark.parametrize(
    "transposed", [(False, True), (False, False), (True, True), (True, False)]
)
def test_chosen_layouts(dtype, transposed):
    check(None, None, transposed, dtype)
