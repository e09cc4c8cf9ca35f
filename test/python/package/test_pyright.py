"""Kernels pass pyright, which has no plugins.

It is run as basedpyright, whose package brings its own Node.js, in the mode of pyright.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import tilews

pytest.importorskip("basedpyright", reason="basedpyright is not installed")
ROOT = Path(__file__).parents[3]
KERNELS = """
from typing import Annotated

import tilews
import tilews.language as tl


@tilews.kernel(threads=64)
def kernel(
    Xs: list[tl.Tensor["M, K:16", "T"]],
    Y: tl.Tensor["M, K", tl.f32, "s, 1"],
    bias: tl.Tensor["K", "T"] | None,
    scale: Annotated[float, tl.f32],
    F: tl.constexpr = None,
) -> None:
    x, y = tl.grid(4, 5)
    tl.grid(4) + 1
    for X in Xs:
        Y[x, y] = tl.load(X[0, 0], (8, F)) * scale + F(x)
    M, K = Y.shape
    bias.shape  # reportOptionalMemberAccess
    Y.shap  # reportAttributeAccessIssue
    tl.gemm(Y, Y, transpose_rhs="yes")  # reportArgumentType


kernel.compil("sm_90a")  # reportAttributeAccessIssue
"""


def run_pyright(folder, *files):
    """The rule and the place of each error.

    The package gets MLIR's stubs, which `.ci/check_types.py` makes.
    """
    package, built = folder / "packages/tilews", Path(tilews.__file__).parent
    stubs = ROOT / "build/types/tilews/_mlir_libs/_mlir"
    subprocess.run(
        [sys.executable, ROOT / ".ci/check_types.py", "--version"], check=True
    )
    (package / "_mlir_libs").mkdir(parents=True)
    for entry in built.iterdir():
        if entry.name != "_mlir_libs":
            (package / entry.name).symlink_to(entry)
    (package / "_mlir_libs/_mlir").symlink_to(stubs)
    for entry in (built / "_mlir_libs").glob("*.py*"):
        (package / "_mlir_libs" / entry.name).symlink_to(entry)
    config = {
        "include": [str(file) for file in files],
        "extraPaths": [str(package.parent), str(ROOT / "examples")],
        "typeCheckingMode": "standard",
    }
    (folder / "pyrightconfig.json").write_text(json.dumps(config))
    command = [sys.executable, "-m", "basedpyright", "--outputjson", "-p", folder]
    command += ["--pythonpath", sys.executable]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    return [
        (error["rule"], error["file"], error["range"]["start"]["line"])
        for error in json.loads(found.stdout)["generalDiagnostics"]
        if error["severity"] == "error"
    ]


def test_examples_and_mistakes(tmp_path):
    path = tmp_path / "kernels.py"
    path.write_text(KERNELS)
    examples = sorted((ROOT / "examples").glob("*.py"))
    found = run_pyright(tmp_path, path, *examples)
    expected = [
        (line.partition("  # ")[2], str(path), number)
        for number, line in enumerate(KERNELS.splitlines())
        if "  # " in line
    ]
    # torch is optional.
    support = str(ROOT / "examples/support.py")
    found = [e for e in found if e[:2] != ("reportMissingImports", support)]
    assert sorted(found) == sorted(expected)
