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


def test_the_theorem_uses_each_lemma():
    theorem = PAGE.partition("**Theorem.**")[2].partition("\n## ")[0]
    used = set()
    for first, last in re.findall(r"\b(\d+)(?: to (\d+))?", theorem):
        used.update(range(int(first), int(last or first) + 1))
    assert used == {int(number) for number, _ in LEMMAS}


def test_words_are_of_files_that_exist():
    table = PAGE.partition("## Words of the code")[2].partition("\n## ")[0]
    files = re.findall(r"`([A-Za-z/]+\.h)`", table)
    assert len(files) > 8
    for name in files:
        assert (ROOT / "lib/Verifier" / name).is_file(), name


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_to_headings(page):
    text = (ROOT / page).read_text()
    for other, anchor in re.findall(r"\]\(([a-z-]*(?:\.md)?)#([\w-]+)\)", text):
        target = (ROOT / "docs" / other).read_text() if other else text
        headings = re.findall(r"^#+ (.+)$", target, re.M)
        anchors = {
            re.sub(r"[^\w -]", "", e).lower().replace(" ", "-") for e in headings
        }
        assert anchor in anchors, (other, anchor)


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
