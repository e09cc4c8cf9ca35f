"""The links, kernels, commands and figures of the documentation are right."""

import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import tilews.language as tl
from tilews import passes
from tilews.compiler import find_ptxas

ROOT = Path(__file__).parents[3]
PAGES = sorted(
    page
    for folder in (".", "docs", "docs/reference", "examples", "benchmarks")
    for page in (ROOT / folder).glob("*.md")
)
TOOLS = Path(os.environ["TILEWS_BUILD_DIR"]) / "bin"


def read(page: str) -> str:
    return (ROOT / page).read_text()


def code_blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, flags=re.M | re.S)


def without_code(text: str) -> str:
    return re.sub(r"^```.*?^```|`[^`\n]*`", "", text, flags=re.M | re.S)


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub names them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), flags=re.M)
    names = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings)
    return {name.replace(" ", "-") for name in names}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    for link in re.findall(r"\]\(([^)\s]+)\)", without_code(page.read_text())):
        if re.match(r"\w+:", link):
            continue
        name, _, anchor = link.partition("#")
        target = page.parent / name if name else page
        assert target.exists(), f"{link}: no such file"
        assert target.resolve().is_relative_to(ROOT), f"{link} leaves the repository"
        if anchor:
            assert anchor in anchors(target), f"{link}: no such heading"


def test_every_page_is_in_the_map():
    index = read("docs/index.md")
    for page in (ROOT / "docs").glob("*.md"):
        assert page.name == "index.md" or f"({page.name})" in index, page.name


def test_every_remark_is_tested_and_described():
    tests = [path.read_text() for path in (ROOT / "test/lit").rglob("*.mlir")]
    ids = set(re.findall(r"\btile-[a-z]+-\d{4}\b", "".join(tests)))
    assert ids == set(re.findall(r"\btile-[a-z]+-\d{4}\b", read("docs/remarks.md")))


def test_readme_kernel_runs(tmp_path, capsys):
    (code,) = code_blocks(read("README.md"), "python")
    path = tmp_path / "readme.py"
    path.write_text(code)
    runpy.run_path(str(path))
    assert "v_mfma_f32" in capsys.readouterr().out


def test_assembly_of_the_language_page_runs(tmp_path):
    (assembly,) = (
        block
        for block in code_blocks(read("docs/language.md"), "python")
        if "tl.asm" in block
    )
    header = "import tilews\nimport tilews.language as tl\n\n"
    path = tmp_path / "assembly.py"
    start = "@tilews.kernel\ndef apply(X: tl.Tensor['64', tl.f32]):\nx = tl.load(X)\n"
    body = (start + assembly + "X[0] = y\n").splitlines()
    body[2:] = ["    " + line for line in body[2:]]
    path.write_text(header + "\n".join(body) + "\n")
    x = np.linspace(-2, 2, 64, dtype=np.float32)
    kernel = runpy.run_path(str(path))["apply"]
    assert "tanh.approx.f32" in kernel.compile("sm_90a").ptx
    wanted = np.tanh(x)
    kernel(x)
    np.testing.assert_allclose(x, wanted, rtol=1e-6)


def test_kernel_of_the_language_page_runs(tmp_path, capsys):
    # The page leaves its arguments open.
    arguments = (
        "import numpy as np\n"
        "a, b = (np.ones(s, np.float16) for s in ((130, 72), (136, 72)))\n"
        "c = np.zeros((130, 136), np.float32)\n"
    )
    blocks = code_blocks(read("docs/language.md"), "python")
    code, _, recurrence, dropout, _, embedding = blocks[:6]
    _, _, in_place, plan, _, roles = blocks[6:]
    path = tmp_path / "language.py"
    path.write_text(arguments + code + "assert (c == 72).all()\n")
    runpy.run_path(str(path))
    assert "tile.gemm" in capsys.readouterr().out

    header = "import tilews\nimport tilews.language as tl\n\n"
    path = tmp_path / "in_place.py"
    setup = "import numpy as np\nx = np.ones(700, np.float32)\n"
    path.write_text(header + setup + in_place + "assert (x == 2).all()\n")
    runpy.run_path(str(path))

    path = tmp_path / "dropout.py"
    path.write_text(header + dropout)
    x, y = np.ones(1000, np.float32), np.zeros(1000, np.float32)
    runpy.run_path(str(path))["dropout"](x, y, 5, 0.75)
    kept = tl.rand(5, np.arange(1000)) >= 0.75
    assert 200 < kept.sum() < 300 and (y == np.where(kept, 4, 0)).all()

    path = tmp_path / "embedding.py"
    path.write_text(header + embedding)
    table = np.arange(9 * 72).reshape(9, 72).astype(np.float16)
    words, y = np.array([3, 8, 0, 9, -1], np.int32), np.ones((5, 72), np.float16)
    runpy.run_path(str(path))["embedding"](table, words, y)
    assert (y[:3] == table[words[:3]]).all() and (y[3:] == 0).all()

    path = tmp_path / "recurrence.py"
    path.write_text(header + recurrence)
    a, b, h = np.full((2, 64), 0.5, np.float32), np.ones((2, 64), np.float32), x[:128]
    runpy.run_path(str(path))["linear_recurrence"](a, b, h.reshape(2, 64))
    assert (h[:3] == (1, 1.5, 1.75)).all() and h[63] == h[127] == 2

    # The same matmul with a plan that is given by hand.
    lines = code.splitlines(keepends=True)
    first = next(i for i, line in enumerate(lines) if "num_stages=3" in line)
    lines[first : first + 4] = ["    " + x for x in plan.splitlines(keepends=True)]
    path = tmp_path / "planned.py"
    path.write_text(arguments + "".join(lines) + "assert (c == 72).all()\n")
    runpy.run_path(str(path))
    assert "tile.stage = 2" in capsys.readouterr().out

    path = tmp_path / "roles.py"
    path.write_text(header + roles)
    gemm = runpy.run_path(str(path))["gemm"]
    a, b = np.ones((130, 80), np.float16), np.ones((80, 144), np.float16)
    c = np.zeros((130, 144), np.float32)
    gemm(a, b, c)
    assert (c == 80).all()
    assert "setmaxnreg" in gemm.compile("sm_90a").ptx


def test_packed_elements_of_the_language_page(tmp_path):
    packed = code_blocks(read("docs/language.md"), "python")[1]
    imports = ("ml_dtypes", "numpy as np", "tilews", "tilews.language as tl")
    path = tmp_path / "packed.py"
    path.write_text("".join(f"import {name}\n" for name in imports) + packed)
    runpy.run_path(str(path))


def test_lock_of_the_language_page_runs(tmp_path):
    lock = code_blocks(read("docs/language.md"), "python")[-2]
    path = tmp_path / "lock.py"
    path.write_text(
        "import tilews\nimport tilews.language as tl\n\n"
        + "@tilews.kernel(threads=128)\n"
        + 'def add(Lock: tl.Tensor["1", tl.i32], X: tl.Tensor["N, 256", tl.f32],\n'
        + '        Sum: tl.Tensor["256", tl.f32]):\n'
        + "    block = tl.grid(X.shape[0])\n"
        + textwrap.indent(lock, "    ")
    )
    rows, total = np.ones((9, 256), np.float32), np.zeros(256, np.float32)
    runpy.run_path(str(path))["add"](np.zeros(1, np.int32), rows, total)
    assert (total == 9).all()


def test_code_of_the_interpreter_page_runs(monkeypatch):
    (code,) = code_blocks(read("docs/interpreter.md"), "python")
    monkeypatch.chdir(ROOT)
    names = {}
    exec(code, names)
    assert abs(names["y"].sum(axis=1) - 1).max() < 1e-5


def commands() -> list[str]:
    """The commands that pages show for tilews' own tools."""
    found = []
    for page in ("docs/launch.md", "docs/lowering.md", "examples/README.md"):
        text = read(page).replace("\\\n", " ")
        found += re.findall(r"^(?: {4})?((?:tilews|python -m tilews)\b.*)$", text, re.M)
    return [re.sub(r"\s+#.*", "", command) for command in found]


@pytest.mark.parametrize("command", commands())
def test_command_works(command, tmp_path):
    if ".cubin" in command and not find_ptxas():
        pytest.skip("needs ptxas")
    # Pages name the examples with their folder or without.
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    shutil.copytree(ROOT / "examples", tmp_path, dirs_exist_ok=True)
    words = shlex.split(command.removeprefix("python -m "))
    if words[0] == "tilews":
        words = [sys.executable, "-m", *words]
    environment = {**os.environ, "PATH": f"{TOOLS}:{os.environ['PATH']}"}
    result = subprocess.run(
        words, cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert result.returncode == 0, result.stderr
    if "-o" in words and (output := words[words.index("-o") + 1]) != "/dev/null":
        assert (tmp_path / output).stat().st_size > 0


def test_readme_figures_are_those_of_the_results():
    readme = read("README.md")
    (results,) = re.findall(r"\((benchmarks/results/.*?\.md)\)", readme)
    measured = {}
    for group, section in re.findall(
        r"^## (\w+): .*?$(.*?)(?=^## |\Z)", read(results), flags=re.M | re.S
    ):
        head, _, *rows = re.findall(r"^\| (.*) \|$", section, flags=re.M)
        for row in rows:
            values = dict(zip(head.split(" | "), row.split(" | "), strict=True))
            measured[f"{group} {values['case']}"] = values
    rows = re.findall(
        r"^\| (\w+ [\dx]+ .*?) \| (.*?) \| (.*?) \| (.*?) \|$", readme, re.M
    )
    assert len(rows) >= 5
    for case, ours, peer, ratio in rows:
        values = measured[case]
        assert ours.split()[0] == values["tilews"], case
        assert ratio == values["of best peer"], case
        peers = [values[name] for name in ("torch", "triton", "tilelang")]
        numbers = [float(p) for p in peers if re.fullmatch(r"[\d.]+", p)]
        assert float(peer) == max(numbers), case


def _passes_of(pipeline: str) -> list[str]:
    return [step.partition("{")[0] for step in passes.expand(pipeline)]


@pytest.mark.parametrize("dialect", ["nvvm", "rocdl"])
def test_the_table_of_lowering_has_the_passes_of_the_pipelines(dialect):
    other = {"nvvm": "rocdl", "rocdl": "nvvm"}[dialect]
    ran = _passes_of(f"tilews-to-{dialect}")
    foreign = {*_passes_of(f"tilews-to-{other}")} - {*ran}
    table = read("docs/lowering.md").partition("| flag |")[2].partition("\n\n")[0]
    listed = [
        step
        for row in table.splitlines()[2:]
        for flag in re.findall(r"`--([\w-]+)`", row.split("|")[1])
        for step in _passes_of(flag)
        if step not in foreign
    ]
    assert {*listed} == {*ran}
    rest = iter(ran)  # that the order is the same: each is found after the one before
    for step in listed:
        assert step in rest, f"{step} is listed too late, or too early"
