"""The programs of docs/torch.md and of docstrings run."""

import re
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is not installed")

import tilews.torch
from support import doc_examples

DOCS = Path(__file__).parents[3] / "docs"
PROGRAMS = re.findall(
    r"^```python\n(.*?)^```$", (DOCS / "torch.md").read_text(), re.M | re.S
)


@pytest.mark.parametrize("place", range(len(PROGRAMS)))
def test_program(place, tmp_path):
    doc_examples.run_program(PROGRAMS[place], tmp_path / "program.py")


def test_the_example_of_op(tmp_path):
    text = tilews.torch.op.__doc__.partition("Example:\n")[2]
    code = re.sub(r"^        ", "", text, flags=re.M)
    doc_examples.run_program(f"import torch, tilews.torch\n{code}", tmp_path / "op.py")
