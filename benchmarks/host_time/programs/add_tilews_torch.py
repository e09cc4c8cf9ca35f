"""The first result of a process, by tilews."""

import json
import time

import torch

x, y = torch.rand(2, 1000, device="cuda")
expected = x + y
torch.cuda.synchronize()
start = time.perf_counter()

import tilews  # noqa: E402
import tilews.language as tl  # noqa: E402


@tilews.kernel
def add(X: tl.Tensor["N", "T"], Y: tl.Tensor["N", "T"]):
    i = tl.grid(tl.cdiv(X.shape[0], 256)) * 256
    Y[i] = tl.load(X[i], (256,)) + tl.load(Y[i], (256,))


add(x, y)
torch.cuda.synchronize()
ms = 1e3 * (time.perf_counter() - start)
print(
    json.dumps({"ms": ms, "result": "right" if torch.equal(y, expected) else "wrong"})
)
