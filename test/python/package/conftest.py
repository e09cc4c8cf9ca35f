"""Fixtures of the tests of commands and files."""

import pytest

KERNEL = """
gpu.module @kernels [#rocdl.target<chip = "gfx1100">] {
  llvm.func @nothing() attributes {rocdl.kernel, tile.arguments = []} {
    llvm.return
  }
}
"""


@pytest.fixture
def source(tmp_path):
    """A file with a kernel that is compiled fast: it has been lowered to LLVM."""
    path = tmp_path / "kernel.mlir"
    path.write_text(KERNEL)
    return path
