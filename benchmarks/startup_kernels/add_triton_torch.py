"""The first result of a process, by Triton."""

import json
import time

import torch

x, y = torch.rand(2, 1000, device="cuda")
expected = x + y
torch.cuda.synchronize()
start = time.perf_counter()

import triton  # noqa: E402
import triton.language as tl  # noqa: E402


@triton.jit
def add(X, Y, N, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    within = i < N
    tl.store(Y + i, tl.load(X + i, within) + tl.load(Y + i, within), within)


add[(triton.cdiv(x.shape[0], 256),)](x, y, x.shape[0], BLOCK=256)
torch.cuda.synchronize()
ms = 1e3 * (time.perf_counter() - start)
print(
    json.dumps({"ms": ms, "result": "right" if torch.equal(y, expected) else "wrong"})
)
