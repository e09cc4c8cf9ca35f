"""The generated pages are up to date, and the examples in them compile."""

import importlib.util
import os
import re
from pathlib import Path

import pytest

from tilews import ir
from tilews._mlir_libs import _tilews

ROOT = Path(__file__).parents[3]
BUILD = Path(os.environ["TILEWS_BUILD_DIR"])

#: Types of the names that the examples leave undefined.
SHARED = "#gpu.address_space<workgroup>"
TYPES = {
    "%A": "memref<?x?xf16>",
    "%Q": "memref<?x?x?x64xf16>",
    "%X": "memref<?x1000xf32>",
    "%As": f"memref<128x64xf16, {SHARED}>",
    "%Qs": f"memref<128x64xf16, {SHARED}>",
    "%lowest": "f32",
    "%ok": "i1",
    "%ch": "!tile.channel<4>",
    "%p": "!tile.cursor<4>",
    "%q": "!tile.cursor<4>",
    "%full": "!tile.mbarrier<4>",
    "%empty": "!tile.mbarrier<4>",
    "%slot": "i32",
    "%parity": "i32",
    **dict.fromkeys(
        ["%b", "%h", "%k", "%m", "%n", "%r", "%tiles_m", "%tiles_n"], "index"
    ),
}
#: Exceptions: names that one example uses for another type.
SPECIAL = {
    "tile.slice": {"%x": "tensor<128x256xf32>"},
    "tile.view": {"%a": f"memref<128x64xf16, {SHARED}>"},
    "tile.store": {"%t": "tensor<128x64xf16>", "%C": "memref<?x?xf16>"},
    "tile.atomic_rmw": {
        "%t": "tensor<128x64xf32>",
        "%C": "memref<?x?xf32>",
        "%one": "tensor<i32>",
        "%next": "memref<1xi32>",
    },
    "tile.atomic_cas": {
        "%free": "tensor<i32>",
        "%taken": "tensor<i32>",
        "%lock": "memref<1xi32>",
    },
    "tile.atomic_load": {"%ready": "memref<?xi32>", "%i": "index"},
    "tile.copy": {
        "%rows": f"memref<128xi32, {SHARED}>",
        "%X": "memref<?x?xf16>",
        "%K": "memref<?x64xf16>",
        "%Ks": f"memref<128x64xf16, {SHARED}>",
        "%first": "index",
        "%end": "index",
    },
    "tile.gather": {
        "%first": "index",
        "%end": "index",
        "%rows": "tensor<64x1xi32>",
        "%page": "tensor<64x1xi32>",
        "%place": "tensor<64x1xi32>",
        "%inside": "tensor<256xi1>",
        "%K": "memref<?x16x128xf16>",
        "%X": "memref<?xf32>",
    },
    "tile.scatter": {
        "%rows": "tensor<64x1xi32>",
        "%t": "tensor<64x128xf16>",
        "%C": "memref<?x?xf16>",
    },
    "tile.atomic_scatter": {
        "%one": "tensor<256xi32>",
        "%expert": "tensor<256xi32>",
        "%count": "memref<?xi32>",
    },
    "tile.gemm": {
        "%a": f"memref<128x64xf16, {SHARED}>",
        "%b": f"memref<256x64xf16, {SHARED}>",
        "%c": "tensor<128x256xf32>",
        "%p": f"memref<128x64xi8, {SHARED}>",
        "%q": f"memref<256x128xf8E4M3FN, {SHARED}>",
        "%s": "tensor<128x4xf8E8M0FNU>",
        "%t": "tensor<256x4xf8E8M0FNU>",
    },
    "tile.gemm_wait": {
        "%a": f"memref<128x64xf16, {SHARED}>",
        "%b": f"memref<64x128xf16, {SHARED}>",
        "%c": "tensor<128x128xf32>",
    },
    "tile.gemm_sp": {
        "%a": f"memref<128x32xf16, {SHARED}>",
        "%e": f"memref<128x4xi16, {SHARED}>",
        "%b": f"memref<64x128xf16, {SHARED}>",
        "%c": "tensor<128x128xf32>",
    },
    "tile.reduce": {"%x": "tensor<128x64xf32>"},
    "tile.scan": {"%x": "tensor<128x64xf32>"},
    "tile.broadcast": {"%x": "tensor<128x1xf32>"},
    "tile.expand_dims": {"%x": "tensor<128xf32>"},
    "tile.transpose": {"%x": "tensor<128x64xf32>"},
    "tile.flip": {"%x": "tensor<128x64xf32>"},
    "tile.reshape": {"%x": "tensor<128x64xf32>"},
    "tile.convert_layout": {
        "%x": "tensor<16x8xf32, #tile.fragment<thread = (4, 8):(2*d1, 1*d0), "
        "value = (2, 2):(1*d1, 8*d0)>>"
    },
    "tile.channel": {
        "%As": f"memref<4x128x64xf16, {SHARED}>",
        "%Bs": f"memref<4x256x64xf16, {SHARED}>",
    },
    "tile.slot": {"%As": f"memref<4x128x64xf16, {SHARED}>"},
    "tile.persistent": {"%C": "memref<?x?xf32>", "%zero": "tensor<1x1xf32>"},
    "tile.print": {
        **{"%m": "tensor<128xf32>", "%b": "tensor<128xi8>", "%n": "i32"},
        **dict.fromkeys(("%x", "%y", "%z"), "index"),
    },
    "tile.assert": dict.fromkeys(("%x", "%y", "%z"), "index"),
    "tile.asm": {"%x": "tensor<128x64xf32>"},
    "tile.subview": {"%S": f"memref<4x64x64xf16, {SHARED}>", "%i": "index"},
    "tile.bitcast": {"%bytes": "tensor<64x32xi8>"},
}


def load_generator(name: str = "generate"):
    """A module of docs/."""
    spec = importlib.util.spec_from_file_location(name, ROOT / f"docs/{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def read_examples() -> dict[str, str]:
    """The examples of all operations and attributes that have a section."""
    path = BUILD / "dialect/tilews/Dialect/Tile/IR/TileDialect.md"
    sections = re.split(r"^### ", path.read_text(), flags=re.M)[1:]
    examples = {}
    for section in sections:
        name = re.match(r"`?([\w.]+)`?", section).group(1)
        found = re.search(r"```mlir\n(.*?)```", section, flags=re.S)
        examples[name] = found.group(1) if found else ""
    return examples


EXAMPLES = read_examples()
OPERATIONS = [name for name in EXAMPLES if name.startswith("tile.")]
# These are shown in other examples, or are enumerations.
NO_EXAMPLE = {"tile.role", "tile.yield"}


def complete(name: str, example: str) -> str:
    """A module around the example that defines the example's free names."""
    code = re.sub(r"//.*", "", example)
    if code.strip().startswith("#"):
        return f"func.func private @f() attributes {{example = {code}}}"
    if code.strip().startswith(("memref", "!tile")):
        return f"func.func private @f({code})"
    if code.strip().startswith("gpu.func"):
        return f"gpu.module @m {{ {code} {{ gpu.return }} }}"
    types = TYPES | SPECIAL.get(name, {})
    defined = set(re.findall(r"^\s*(%\w+) =", code, flags=re.M))
    for arguments in re.findall(r"tile\.persistent \((.*?)\)", code):
        defined |= set(re.findall(r"%\w+", arguments))
    used = dict.fromkeys(n for n in re.findall(r"%\w+", code) if n not in defined)
    arguments = ", ".join(f"{n}: {types[n]}" for n in used)
    return f"func.func @f({arguments}) {{\n{code}\nreturn\n}}"


@pytest.mark.parametrize("name", [n for n in EXAMPLES if EXAMPLES[n]])
def test_example_compiles(name):
    text = complete(name, EXAMPLES[name])
    with ir.Context():
        module = ir.Module.parse(text)
        assert module.operation.verify()
        if name.startswith("tile."):
            assert name in str(module), "the example does not show the operation"


def test_every_operation_has_an_example():
    assert len(OPERATIONS) > 15
    assert {n for n in OPERATIONS if not EXAMPLES[n]} == NO_EXAMPLE


@pytest.mark.parametrize("page", ["dialect.md", "passes.md"])
def test_page_is_up_to_date(page):
    expected = load_generator().render(BUILD)[page]
    found = (ROOT / "docs" / page).read_text()
    assert found == expected, f"docs/{page} is out of date: run `make docs`"


def test_every_pipeline_has_a_section_with_its_options():
    page = load_generator().render(BUILD)["passes.md"]
    _, _, text = page.partition("\n## Pipelines\n")
    sections = dict(re.findall(r"^### `--(.*?)`\n(.*?)(?=^### |\Z)", text, re.M | re.S))
    pipelines = _tilews.pipelines()
    assert sections.keys() == {flag for flag, *_ in pipelines}
    for flag, summary, options in pipelines:
        assert f"_{summary}_" in sections[flag]
        for name, _, what in options:
            assert re.search(rf"^-{name} +: {re.escape(what)}$", sections[flag], re.M)


def test_walk_through_the_phases_is_up_to_date():
    expected = load_generator("pipeline").render()
    found = (ROOT / "docs/pipeline.md").read_text()
    assert found == expected, "docs/pipeline.md is out of date: run `make docs`"


def test_timeline_is_up_to_date(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs")
    expected = load_generator("timeline").render()
    found = (ROOT / "docs/timeline.svg").read_text()
    assert found == expected, "docs/timeline.svg is out of date: run `make docs`"


@pytest.mark.parametrize("chip", ["sm_90a", "sm_80"])
def test_what_the_walk_shows_is_the_ir(chip):
    """Aliases and line breaks leave the IR as it is."""
    pipeline = load_generator("pipeline")
    forms = pipeline.forms(chip)
    assert len(forms) > 20
    for point in ("after tile-plan-pipeline", "after tile-plan-shared-memory"):
        definitions, text = pipeline.alias_types(forms[point])
        assert any(definition.startswith("!shared") for definition in definitions)
        lines = [
            p for x in [*definitions, *text.splitlines()] for p in pipeline.wrap(x)
        ]
        assert max(map(len, lines)) <= pipeline.WIDTH
        with ir.Context():
            assert str(ir.Module.parse("\n".join(lines))) == forms[point]


def test_what_nothing_matches_is_an_error():
    pipeline = load_generator("pipeline")
    with pytest.raises(ValueError, match="nothing the compiler prints matches 'zzz'"):
        pipeline.show_ir("module {\n}", "zzz")
