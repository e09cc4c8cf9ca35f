"""The examples of docs/layouts.md, and the pictures of layouts."""

import doctest
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from tilews import layout as L

PAGE = Path(__file__).parents[3] / "docs/layouts.md"
SVG = "{http://www.w3.org/2000/svg}"


def test_examples():
    results = doctest.testfile(str(PAGE), module_relative=False, encoding="utf-8")
    assert results.attempted > 40
    assert results.failed == 0


def read_svg(path):
    """The rectangles of the cells, and all texts."""
    root = ElementTree.parse(path).getroot()
    cells = [r for r in root.iter(f"{SVG}rect") if r.get("stroke")]
    texts = [t.text for t in root.iter(f"{SVG}text")]
    return cells, texts


def test_layout_svg(tmp_path):
    path = tmp_path / "layout.svg"
    layout = L.Layout("(3,5):(7,1)")
    layout.plot(path)
    cells, texts = read_svg(path)
    assert len(cells) == 15
    assert str(layout) in texts
    assert {str(offset) for offset in layout.offsets()} <= set(texts)


def test_fragment_svg(tmp_path):
    path = tmp_path / "fragment.svg"
    acc = L.mma_sync(16).acc
    acc.plot([16, 8], str(path))
    cells, texts = read_svg(path)
    assert len(cells) == 128
    assert {f"T{t} V{v}" for t in range(32) for v in range(4)} <= set(texts)
    # Threads have different colors.
    by_color = {}
    for cell in cells:
        by_color.setdefault(cell.get("fill"), []).append(cell)
    assert len(by_color) == 12


def test_fragment_with_copies_and_holes():
    copies = L.FragmentLayout([(2, 1, 0), (2, 0, 0)], [])
    assert copies.picture([3]).splitlines()[-1].split() == [
        *("0", "|", "T0", "V0", "+1", "T1", "V0", "+1")
    ]


def test_picture_errors(tmp_path):
    layout = L.Layout((4, 4))
    with pytest.raises(ValueError, match=r"ends in \.svg or \.png"):
        layout.plot(tmp_path / "layout.jpg")
    with pytest.raises(ValueError, match="is too large"):
        L.Layout((1024, 1024)).table()
    with pytest.raises(ValueError, match="rank 1 or 2"):
        L.FragmentLayout.blocked([2, 2, 2], 4).picture([2, 2, 2])


def test_png(tmp_path):
    path = tmp_path / "layout.png"
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        with pytest.raises(ValueError, match="needs matplotlib"):
            L.Layout((2, 2)).plot(path)
        return
    L.Layout((2, 2)).plot(path)
    assert path.read_bytes().startswith(b"\x89PNG")
