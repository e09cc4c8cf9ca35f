"""The first code of a process, by tilews, for gfx942."""

import json
import time

import numpy as np

x, y = np.ones((2, 1000), np.float32)
start = time.perf_counter()

import tilews  # noqa: E402
import tilews.language as tl  # noqa: E402


@tilews.kernel
def add(X: tl.Tensor["N", "T"], Y: tl.Tensor["N", "T"]):
    i = tl.grid(tl.cdiv(X.shape[0], 256)) * 256
    Y[i] = tl.load(X[i], (256,)) + tl.load(Y[i], (256,))


code = add.compile_for(x, y, target="gfx942").binary
ms = 1e3 * (time.perf_counter() - start)
print(json.dumps({"ms": ms, "result": "right" if code[:4] == b"\x7fELF" else "none"}))
