"""Kernels pass mypy --strict, with the plugin of tilews."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tilews.language import types

pytest.importorskip("mypy", reason="mypy is not installed")
ROOT = Path(__file__).parents[3]
CONFIG = f"""
[mypy]
strict = true
plugins = {ROOT}/python/tilews/mypy_plugin.py
mypy_path = {ROOT}/python:{ROOT}/build/types:{ROOT}/examples
cache_dir = {ROOT}/build/types/strict-cache
namespace_packages = true
explicit_package_bases = true

[mypy-tilews.*]
follow_imports = silent

[mypy-tilews._mlir_libs._mlir.*,tilews.ir,tilews.passmanager]
ignore_errors = true

[mypy-tilews.dialects.*,torch.*]
follow_imports = skip
ignore_missing_imports = true
"""
KERNELS = """
from typing import Annotated

import tilews
import tilews.language as tl


class Holder:
    @tilews.kernel(threads=64)
    def method(X: tl.Tensor["M, N:16", "T"], n: tl.i32 = 3) -> None: ...


@tilews.func
def act(x: tl.Tile) -> tl.Tile:
    return tl.maximum(x, 0.0)


def make() -> None:
    @tilews.kernel
    def kernel(
        Xs: list[tl.Tensor["M, K", tl.f32]],
        Y: tl.Tensor["M, K", tl.f32, "s, 1"],
        bias: tl.Tensor["K", "T"] | None,
        Z: Annotated[tl.Buffer, tl.Tensor("M, K", tl.f32)],
        count: Annotated[int, tl.i32],
        scale: tl.f32,
SCALARS
        F: tl.constexpr = None,
    ) -> None:
        for X in Xs:
            x = tl.load(X[0, 0], (8, 8))
        if bias is not None:
            x = tl.load(bias[0], (8,))
        Y[0, 0] = tl.exp(F(x) * scale)[:, None] + tl.sum(x, axis=1)
        for a, b in tl.persistent(2, 3):
            Y[a, b] = x.to(tl.f16).T
        bias.shape  # None
        Y.shap  # attribute
        Z.shap  # attribute
        count.shap  # attribute
        tl.gemm(Y, Y, transpose_rhs=1)  # arg-type
        Xs.sum()  # attribute
        tl.exp(tl.cumsum(tl.zeros((8,), tl.f32))).nothing  # attribute
        tl.scan((x, x), lambda a, b, c, d: (a, b))[0].nothing  # attribute
        tl.exp2(1.0).ndim  # attribute
        tl.maximum(0.0, x).nothing  # attribute
        tl.maximum(1.0, 2.0).nothing  # attribute
        tl.clamp(x, 0.0, 1.0).nothing  # attribute
        tl.where(x, 0.0, 1.0).nothing  # attribute
        tl.exp(F(x)).anything

    kernel.compil("sm_90a")  # attribute
"""
# A scalar of each type, whose default is a number.
SCALARS = "\n".join(f"        x_{d}: tl.{d} = 1," for d in map(str, types.DTYPES))
EXPECTED = {
    "# None": ["union-attr"],
    "# attribute": ["attr-defined"],
    "# arg-type": ["arg-type"],
}


def run_mypy(folder, *files):
    config = folder / "mypy.ini"
    config.write_text(CONFIG)
    command = [ROOT / ".ci/check_types.py", "--config-file", config, *files]
    found = subprocess.run(
        [sys.executable, *command], capture_output=True, text=True, check=False
    )
    return [line for line in found.stdout.splitlines() if ": error: " in line]


def test_kernels_are_checked(tmp_path):
    path = tmp_path / "kernels.py"
    text = KERNELS.replace("SCALARS", SCALARS)
    path.write_text(text)
    found = run_mypy(tmp_path, path, *sorted((ROOT / "examples").glob("*.py")))
    codes = {}
    for line in found:
        place = re.fullmatch(r".*kernels\.py:(\d+): error: .*\[(.*)\]", line)
        assert place, line
        codes.setdefault(int(place[1]), []).append(place[2])
    expected = {
        number: EXPECTED[mark]
        for number, line in enumerate(text.splitlines(), 1)
        for mark in EXPECTED
        if line.endswith(mark)
    }
    assert codes == expected, "\n".join(found)
