"""Runs the C++ unit tests of `unittests/`."""

import os
import pathlib
import subprocess

import pytest

PROGRAM = pathlib.Path(os.environ["TILEWS_BUILD_DIR"]) / "unittests/tilews-unittests"


@pytest.mark.skipif(
    not PROGRAM.exists(), reason="tilews-unittests is not built: see docs/testing.md"
)
def test_unittests():
    run = subprocess.run(
        [PROGRAM, "--gtest_brief=1"],
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    assert run.returncode == 0, run.stdout
