"""The lemmas of the verifier's proof are numbered, and name code that exists."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGES = [f"docs/verifier-{part}.md" for part in ("proof", "states", "memory")]
PAGE = "\n".join((ROOT / page).read_text() for page in PAGES)
LEMMAS = re.findall(
    r"^\*\*Lemma (\d+)\*\* \(.+?\)\. .+?\n\n\*Why\.\* .+?\n\n\*Where\.\* (.+?)\n\n",
    PAGE,
    re.M | re.S,
)


def test_lemmas_are_numbered():
    assert [int(number) for number, _ in LEMMAS] == list(range(1, len(LEMMAS) + 1))
    assert len(LEMMAS) == PAGE.count("**Lemma")
    for number in re.findall(r"Lemmas? (\d+)", PAGE):
        assert int(number) <= len(LEMMAS)


@pytest.mark.parametrize(("number", "where"), LEMMAS)
def test_code_of_a_lemma_exists(number, where):
    names = re.findall(r"`([^`]+)`", where)
    assert names[0].endswith((".cpp", ".h"))
    text = ""
    for name in names:
        if name.endswith((".cpp", ".h")):
            text = (ROOT / "lib/Verifier" / name).read_text()
        else:
            assert re.search(rf"\b{name}\(", text), name
