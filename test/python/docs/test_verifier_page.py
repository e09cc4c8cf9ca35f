"""The kernels and verdicts that the pages on the verifier show."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from support import edited_kernels

ROOT = Path(__file__).parents[3]
INPUTS = ROOT / "test/lit/Verifier/Inputs"
TOOL = Path(os.environ["TILEWS_BUILD_DIR"]) / "bin/tilews-opt"
PAGES = sorted((ROOT / "docs").glob("verifier*.md"))
TEXT = "\n".join(page.read_text() for page in PAGES)
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", TEXT, flags=re.M | re.S)


def verify(module: str, *options: str) -> subprocess.CompletedProcess:
    command = [TOOL, "-", f"--pass-pipeline={edited_kernels.PASS}", *options]
    command += ["-o", os.devnull, "--mlir-print-op-on-diagnostic=false"]
    return subprocess.run(command, input=module, capture_output=True, text=True)


def blocks(language: str) -> list[str]:
    found = [text for name, text in BLOCKS if name == language]
    assert found
    return found


@pytest.fixture
def read(tmp_path):
    """Reads a list of edits of the bases that the tests have."""
    (tmp_path / "Inputs").symlink_to(INPUTS)

    def read(edits: str) -> dict[str, edited_kernels.EditedCase]:
        path = tmp_path / "page.edits"
        path.write_text(edits)
        return edited_kernels.read(path)

    return read


@pytest.mark.parametrize("block", blocks("mlir"), ids=lambda block: block.split()[1])
def test_excerpts_are_of_the_kernels(block):
    """The lines of an excerpt follow each other in its file, but for gaps."""
    head, *lines = block.splitlines()
    source = (INPUTS / head.removeprefix("// ")).read_text().splitlines()
    place, gap = 0, True
    for line in lines:
        if line.strip() == "...":
            gap = True
            continue
        place = source.index(line, place) if gap else place
        assert source[place] == line
        place, gap = place + 1, False


@pytest.mark.parametrize("block", blocks("edits"), ids=lambda block: block.split()[1])
def test_verdicts(block, read):
    text = edited_kernels.SEPARATOR.join(case.text() for case in read(block).values())
    result = verify(text, "--split-input-file", "--verify-diagnostics=only-expected")
    assert result.returncode == 0, result.stderr


def test_counterexample(read):
    (report,) = blocks("text")
    edits = BLOCKS[BLOCKS.index(("text", report)) - 1][1]
    *_, case = read(edits).values()
    said = verify("\n".join(case.kernel.lines)).stderr
    found = re.findall(r"^<stdin>:\d+:\d+: ((?:error|note): .*)$", said, flags=re.M)
    assert found == report.splitlines()


@pytest.mark.parametrize(
    "base, states", [("mask_ahead", 84), ("alternating_roles", 404)]
)
def test_numbers_of_states(base, states):
    assert f"{states} states" in " ".join(TEXT.split())
    said = verify((INPUTS / f"{base}.mlir").read_text()).stderr
    assert re.search(rf"is proved: .*, {states} states", said)
