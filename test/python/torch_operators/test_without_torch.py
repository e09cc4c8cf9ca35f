"""Without torch, the import of tilews.torch says what is missing."""

import subprocess
import sys


def test_torch_is_named():
    code = """
import sys
sys.modules["torch"] = None
import tilews
try:
    import tilews.torch
except ImportError as error:
    assert str(error).startswith("tilews.torch needs torch 2.6 or later (")
    assert str(error).endswith("): pip install torch")
else:
    raise AssertionError("it was imported")
"""
    subprocess.run([sys.executable, "-c", code], check=True)
