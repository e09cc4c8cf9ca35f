"""The maps in docs/architecture.md are those of the source."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs/architecture.md").read_text()
HEADERS = ROOT / "dialect/tilews"
ANALYSIS = HEADERS / "Dialect/Tile/Analysis"


def section(title: str) -> str:
    """The text from a heading to the next one."""
    found = re.search(rf"^## {title}$(.*?)(?=^## |\Z)", PAGE, flags=re.M | re.S)
    return found.group(1)


def analysis_map() -> dict[Path, list[str]]:
    """The names that the page gives for each header."""
    found: dict[Path, list[str]] = {}
    text = section("Which analysis answers which question")
    for names, header in re.findall(r"^\| .* \| (.*) \| `(.*\.h)` \|$", text, re.M):
        path = ANALYSIS / header
        path = path if path.exists() else HEADERS / header
        found.setdefault(path, []).extend(re.findall(r"`(\w+)`", names))
    return found


def test_each_header_of_the_analyses_is_in_the_map():
    assert set(ANALYSIS.rglob("*.h")) <= set(analysis_map())


def test_headers_of_the_map_declare_what_it_names():
    assert len(analysis_map()) > 20
    for path, names in analysis_map().items():
        text = path.read_text()
        assert names, path
        for name in names:
            assert re.search(rf"\b{name}\b", text), f"{path.name}: no {name}"


def test_folders_of_the_map_are_those_of_lib():
    text = section("The folders of lib")
    named = set(re.findall(r"^\| `([\w/]+)` \|", text, flags=re.M))
    folders = {path.name for path in (ROOT / "lib").iterdir() if path.is_dir()}
    assert folders == {name.split("/")[0] for name in named}
    assert all((ROOT / "lib" / name).is_dir() for name in named)
    (rooms,) = re.findall(r"^\| `Dialect/Tile/Analysis` \| (.*) \|$", text, flags=re.M)
    for path in (ROOT / "lib/Dialect/Tile/Analysis").iterdir():
        if path.is_dir():
            assert f"`{path.name}`" in rooms


def test_modules_of_the_package_are_in_its_map():
    text = section("The Python package")
    first = re.findall(r"^\| (`[^|]*`) \|", text, flags=re.M)
    named = {name.strip("/`") for cell in first for name in cell.split(", ")}
    package = ROOT / "python/tilews"
    public = {
        path.name
        for path in package.iterdir()
        if not path.name.startswith("_") and (path.suffix == ".py" or path.is_dir())
    }
    missing = {name for name in public if not {name, name[:-3]} & named}
    assert not missing
    assert all((package / name).exists() for name in named)


def test_folders_of_tests_are_those_of_the_package():
    folders = {
        path.parent.name
        for path in (ROOT / "python/tilews").glob("*/__init__.py")
        if not path.parent.name.startswith("_")
    }
    assert {"sim", "spin"} <= folders
    # Where torch is missing, tests would take a folder of that name for it.
    others = {"torch": "torch_operators"}
    for name in folders - {"dialects"}:
        name = others.get(name, name)
        assert list((ROOT / "test/python" / name).rglob("test_*.py")), name


def test_folders_use_only_those_above_them():
    """The table lists the folders of lib/ from the ground floor up."""
    text = section("The folders of lib")
    order = re.findall(r"^\| `([\w/]+)` \|", text, flags=re.M)

    def floor(path: str) -> int | None:
        path = re.sub(r"^(lib|dialect/tilews)/", "", path)
        found = [name for name in order if path.startswith(f"{name}/")]
        return order.index(found[0]) if found else None

    for top in ("lib", "dialect/tilews"):
        for path in (ROOT / top).rglob("*"):
            if path.suffix not in (".cpp", ".h"):
                continue
            name = str(path.relative_to(ROOT))
            here = floor(name)
            for header in re.findall(r'^#include "(.*)"', path.read_text(), re.M):
                there = floor(header.removeprefix("tilews/"))
                if here is not None and there is not None:
                    assert there <= here, f"{name} includes {header}, a floor above"
