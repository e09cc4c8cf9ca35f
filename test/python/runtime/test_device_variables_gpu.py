"""Prints and assertions on a real NVIDIA GPU; a failure ends a process of its own."""

import subprocess
import sys

import pytest

from tilews import runtime

pytest.importorskip("torch", reason="torch is not installed")
if not runtime.device_target().startswith("sm_"):
    pytest.skip("no NVIDIA GPU, or no cuda-bindings", allow_module_level=True)

PROGRAM = """
import sys
import torch
import tilews
import tilews.language as tl

@tilews.kernel(threads=128)
def checked(X: tl.Tensor["N", tl.f32]):
    i = tl.grid(tl.cdiv(X.shape[0], 128)) * 128
    x = tl.load(X[i], (128,))
    tl.print("x", x)
    tl.device_assert(x >= 0.0, "negative")

x = torch.arange(256, dtype=torch.float32, device="cuda")
checked(x)
torch.cuda.synchronize()
if "fail" in sys.argv:
    x[200] = -1
    checked(x)
    try:
        torch.cuda.synchronize()
    except Exception:
        pass
    checked(x)
"""


def run(tmp_path, *arguments, **variables):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    command = ["env", *(f"{k}={v}" for k, v in variables.items()), sys.executable]
    return subprocess.run(
        [*command, path, *arguments], capture_output=True, text=True, timeout=300
    )


def test_prints_name_block_and_elements(tmp_path):
    lines = run(tmp_path).stdout.splitlines()
    expected = [
        f"block ({i // 128}, 0, 0): x ({i % 128}:{i % 128 + 8})"
        + "".join(f" {number:12g}" for number in range(i, i + 8))
        for i in range(0, 256, 8)
    ]
    assert sorted(lines) == sorted(expected)
    first = [line for line in lines if line.startswith("block (0,")]
    assert first == expected[:16]  # One thread prints a block's lines in order.


def test_the_limit_is_obeyed(tmp_path):
    lines = run(tmp_path, TILEWS_PRINT_LINES=10).stdout.splitlines()
    assert len(lines) == 11
    assert sum(line.startswith("... and more") for line in lines) == 1


def test_the_error_names_the_assertion(tmp_path):
    result = run(tmp_path, "fail")
    assert result.returncode != 0
    assert (
        "assertion failed in kernel 'checked': negative (program.py:" in result.stderr
    )
    assert "block (1, 0, 0), element (72)" in result.stderr
