"""The checks of the night are the same in the Makefile, the workflow and the page."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]


def find_targets() -> list[str]:
    """The targets that `make nightly` runs."""
    (names,) = re.findall(
        r"^NIGHTLY := (.+)$", (ROOT / "Makefile").read_text(), re.MULTILINE
    )
    return [f"nightly-{name}" for name in names.split()]


def test_the_workflow_runs_every_target():
    text = (ROOT / ".github/workflows/nightly.yml").read_text()
    assert re.findall(r"\{ target: ([\w-]+),", text) == find_targets()


def test_the_page_names_every_target():
    _, section = (ROOT / "docs/testing.md").read_text().split("\n## Nightly\n")
    assert re.findall(r"^\| `([\w-]+)` \|", section, re.MULTILINE) == find_targets()
