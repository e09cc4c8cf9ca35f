"""The glossary of docs/index.md: each word is the name of a folder or a file."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs/index.md"


def homes() -> dict[str, list[str]]:
    """The files and folders that the glossary links from each word."""
    text = PAGE.read_text().split("## Glossary")[1]
    return {
        word: [
            str((PAGE.parent / link).resolve().relative_to(ROOT))
            for link in re.findall(r"\]\(([^)#]+)\)", cell)
        ]
        for word, cell in re.findall(r"^\| \*\*(\w+)\*\* \| .* \| (.*) \|$", text, re.M)
    }


def is_named_after(path: str, word: str) -> bool:
    """Whether a folder or the file itself has the word in its name."""
    names = [re.sub(r"\..*", "", part) for part in Path(path).parts]
    words = [part for name in names for part in re.findall(r"[A-Z]?[a-z]+", name)]
    forms = {word.lower() + ending for ending in ("", "s", "d")}
    return any(part.lower() in forms for part in words)


def test_glossary_has_its_words():
    assert len(homes()) == 20


@pytest.mark.parametrize("word", homes())
def test_a_home_has_the_word_in_its_name(word):
    sources = [home for home in homes()[word] if not home.endswith(".md")]
    assert sources
    assert any(is_named_after(home, word) for home in sources), sources


def test_what_counts_as_a_name():
    assert is_named_after("lib/Layout/SwizzledLayout.cpp", "Layout")
    assert is_named_after("lib/Utils/Stages.h", "Stage")
    assert not is_named_after("lib/Analysis/Refusal.h", "Remark")
    assert not is_named_after("lib/Pipelines", "Phase")
