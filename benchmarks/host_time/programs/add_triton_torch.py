"""The first result of a process, by Triton."""

import json
import pathlib
import sys
import time

import torch

x, y = torch.rand(2, 1000, device="cuda")
expected = x + y
torch.cuda.synchronize()
sys.path.insert(0, str(pathlib.Path(__file__).parent))
start = time.perf_counter()

import triton_add  # noqa: E402

triton_add.add[(4,)](x, y, y, x.shape[0], BLOCK=256)
torch.cuda.synchronize()
ms = 1e3 * (time.perf_counter() - start)
print(
    json.dumps({"ms": ms, "result": "right" if torch.equal(y, expected) else "wrong"})
)
