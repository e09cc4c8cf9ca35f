"""The lint of sizes and names: each rule fires, and not on what is right."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[3] / ".ci/check_house.py"

needs_ctags = pytest.mark.skipif(not shutil.which("ctags"), reason="needs ctags")


def run(*arguments) -> subprocess.CompletedProcess:
    command = [sys.executable, SCRIPT, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True)


@pytest.fixture
def check(tmp_path):
    """What a rule finds in a tree of these files, by place."""

    def find(rule: str, files: dict[str, str]) -> list[str]:
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        result = run("--root", tmp_path, "--rules", rule)
        lines = result.stdout.splitlines()
        assert result.returncode == bool(lines), result.stderr
        assert all(line.endswith(f"[{rule}]") for line in lines)
        return sorted(line.split(": ")[0] for line in lines)

    return find


def test_lines(check):
    suffixes = [
        ".cpp",
        ".h",
        ".td",
        ".py",
        ".mlir",
        ".edits",
        ".cmake",
        ".md",
        ".md.in",
    ]
    names = [f"page{suffix}" for suffix in suffixes]
    assert check("lines", {name: "\n" * 500 for name in names}) == []
    files = {name: "\n" * 501 for name in [*names, "data.json"]}
    assert check("lines", files) == sorted(f"{name}:1" for name in names)
    generated = "<!-- Made from page.md.in; edit that. -->\n" + "\n" * 600
    assert "page.md:1" not in check("lines", {"page.md": generated})


def test_docstrings_are_lines(check):
    function = 'def f():\n    """Text.\n' + "\n" * 50 + '    """\n'
    rest = 500 - function.count("\n")
    assert check("lines", {"a.py": function + "\n" * rest}) == []
    assert check("lines", {"b.py": function + "\n" * (rest + 1)}) == ["b.py:1"]


def cpp_function(name: str, lines: int) -> str:
    return f"static int {name}(\n    int x) {{\n" + "  x++;\n" * (lines - 3) + "}\n"


def python_function(name: str, lines: int) -> str:
    return f"def {name}():\n" + "    pass\n" * (lines - 1)


@needs_ctags
def test_functions(check):
    cpp = cpp_function("right", 60) + "namespace {\n" + cpp_function("wrong", 61) + "}"
    python = "@cache\n" + python_function("right", 60) + python_function("wrong", 61)
    found = check("functions", {"a.cpp": cpp, "b.py": python})
    assert found == ["a.cpp:62", "b.py:62"]


@needs_ctags
def test_a_docstring_is_no_part_of_a_function(check):
    docstring = '    """Text.\n' + "\n" * 50 + '    """\n'
    right = f"def f():\n{docstring}" + "    pass\n" * 59
    wrong = f"def g():\n{docstring}" + "    pass\n" * 60
    assert check("functions", {"a.py": right}) == []
    assert check("functions", {"b.py": wrong}) == ["b.py:1"]


@needs_ctags
def test_a_lambda_is_part_of_its_function(check):
    body = "  auto add = [&](int y) {\n" + "    y++;\n" * 70 + "  };\n"
    assert check("functions", {"a.cpp": f"void f() {{\n{body}}}\n"}) == ["a.cpp:1"]


def cpp_class(name: str, count: int, base: str = "") -> str:
    functions = "".join(f"  int f{i}(int x);\n" for i in range(count))
    inherits = f" : public {base}" if base else ""
    return f"class {name}{inherits} {{\npublic:\n{functions}  int x = 1;\n}};\n"


@needs_ctags
def test_classes_of_cpp(check):
    assert check("classes", {"a.h": cpp_class("Right", 40)}) == []
    assert check("classes", {"a.h": cpp_class("Wrong", 41)}) == ["a.h:1"]


@needs_ctags
def test_definitions_outside_of_a_class_count_once(check):
    outside = "".join(f"int Right::f{i}(int x) {{ return x; }}\n" for i in range(40))
    assert check("classes", {"a.cpp": cpp_class("Right", 40) + outside}) == []


@needs_ctags
def test_bases_of_a_file_count(check):
    text = cpp_class("Base", 21) + cpp_class("Wrong", 20, "Base")
    assert check("classes", {"a.h": text}) == ["a.h:26"]
    python = "class Base:\n" + "".join(f"    def f{i}(self): pass\n" for i in range(21))
    python += "class Wrong(Base):\n" + "".join(
        f"    def g{i}(self): pass\n" for i in range(20)
    )
    assert check("classes", {"a.h": "", "b.py": python}) == ["b.py:23"]


def test_operators_of_python_are_one_responsibility(check):
    functions = "".join(f"    def __f{i}__(self): pass\n" for i in range(50))
    assert check("classes", {"b.py": f"class Right:\n{functions}"}) == []


def test_folders(check, tmp_path):
    for suffix in (".cpp", ".h", ".td", ".py", ".mlir"):
        assert check("folders", {f"lib/A/f{i}{suffix}": "" for i in range(20)}) == []
    assert check("folders", {"lib/A/more.mlir": ""}) == []
    assert check("folders", {"lib/A/more.cpp": ""}) == ["lib/A:1"]
    assert check("folders", {"lib/A/more.h": ""}) == ["lib/A:1", "lib/A:1"]
    Path(tmp_path / "lib/A/more.h").unlink()
    passes = {f"lib/Dialect/Tile/Transforms/f{i}.cpp": "" for i in range(30)}
    assert check("folders", passes) == ["lib/A:1"]


def test_files(check):
    right = [
        "lib/A/Foo.cpp",
        "dialect/tilews/A/Foo.h",
        "dialect/tilews/A/Foo.td",
        "dialect/tilews-c/Foo.h",
        "dialect/tilews/A/Passes.td",
        "dialect/tilews/B/Passes.td",
        "tools/a/main.cpp",
        "tools/b/main.cpp",
        "python/tilews/a/__init__.py",
        "python/tilews/b/__init__.py",
        "python/tilews/gemm.py",
        "python/tilews/dialects/Foo.td",
        "examples/gemm.py",
        "test/lit/A/invalid.mlir",
        "test/lit/B/invalid.mlir",
    ]
    assert check("files", dict.fromkeys(right, "")) == []
    wrong = ["lib/B/Foo.cpp", "lib/B/Foo.h", "python/tilews/a/gemm.py"]
    # The second of two names, in the order of paths, is the finding.
    found = check("files", dict.fromkeys(wrong, ""))
    assert found == ["lib/B/Foo.cpp:1", "lib/B/Foo.h:1", "python/tilews/gemm.py:1"]


def test_files_of_two_subjects_differ_in_more_than_the_suffix(check):
    right = ["dialect/tilews/A/Bar.h", "lib/A/Parts/Bar.cpp", "lib/InitAll.cpp"]
    right += ["dialect/tilews/InitAll.h", "test/python/launch.py"]
    assert check("files", dict.fromkeys([*right, "python/tilews/launch.py"], "")) == []
    assert check("files", {"lib/B/Bar.cpp": ""}) == ["lib/B/Bar.cpp:1"]
    wrong = {"lib/B/Bar.cpp": "", "lib/C/Baz.h": "", "lib/D/Baz.cpp": ""}
    wrong["python/tilews/sim/_launch.py"] = ""
    assert check("files", wrong) == [
        "lib/B/Bar.cpp:1",
        "lib/D/Baz.cpp:1",
        "python/tilews/sim/_launch.py:1",
    ]


@needs_ctags
def test_names(check):
    a = """namespace tilews { class Twice { class Inner; }; }
struct Once { struct Part {}; };
template <> struct Info<int> {};
"""
    b = """class Once; // a declaration
namespace { struct Twice {}; struct Other { struct Piece {}; }; }
template <> struct Info<long> {};
"""
    assert check("names", {"a.cpp": a, "b.cpp": b}) == ["b.cpp:2"]


@needs_ctags
def test_names_of_nested_classes(check):
    a = "struct First { struct Part {}; };\n"
    b = "struct Second {\n  struct Part {};\n};\n"
    c = "void f() {\n  struct First {};\n}\n"
    files = {"lib/A.h": a, "lib/B.cpp": b, "unittests/C.cpp": c}
    assert check("names", files) == ["lib/B.cpp:2", "unittests/C.cpp:2"]


@needs_ctags
def test_names_of_enums(check):
    a = "namespace tilews {\nenum class Kind { X };\n"
    a += "struct S {\n  enum Row { R };\n};\n}\n"
    b = "namespace {\nstruct T {\n  enum class Kind { X };\n  enum Row { R };\n};\n}\n"
    # Nested enums, which are named with their class, may have one name.
    assert check("names", {"lib/A.h": a, "lib/B.cpp": b}) == []
    c = "namespace {\nenum class Kind { X };\nstruct S {};\n}\n"
    assert check("names", {"lib/C.cpp": c}) == ["lib/C.cpp:2", "lib/C.cpp:3"]


@needs_ctags
def test_names_of_both_languages(check):
    cpp = "namespace tilews {\nstruct Guards {\n  struct Part {};\n};\n"
    cpp += "struct Layout {};\n}\n"
    cpp += "namespace {\nstruct Options {};\n}\n"
    python = "".join(
        f"class {name}: pass\n" for name in ("Part", "Options", "Layout", "Guards")
    )
    files = {"lib/A.h": cpp, "python/tilews/a.py": python}
    assert check("names", files) == ["python/tilews/a.py:4"]


@needs_ctags
def test_names_of_python_classes(check):
    a = "class First:\n    class Part:\n        pass\n"
    b = "def make():\n    class Part:\n        pass\n\n\nclass Second:\n    pass\n"
    # A class of C++ may have the name of a class of Python.
    files = {"a.py": a, "test/b.py": b, "Second.h": "struct Second {};\n"}
    assert check("names", files) == ["test/b.py:2"]


HEADER = """//===- A.cpp - Title ---===//
//
// License
//
//===----------------------------------------------------------------------===//
"""
RULE = (
    "//===----------------------------------------------------------------------===//\n"
)


def test_openings(check):
    text = "// What this does,\n// and how:\n//\n// by an example.\n"
    right = HEADER + "//\n" + text + "//\n" + RULE + "#include <x>\n"
    assert check("openings", {"lib/A.cpp": right, "tools/a/main.cpp": HEADER}) == []
    short = HEADER + "//\n// What this does,\n//\n// and how.\n//\n" + RULE
    later = HEADER + "#include <x>\n" + text
    wrong = {"lib/B.cpp": HEADER, "lib/C.cpp": short, "lib/D.cpp": later}
    assert check("openings", wrong) == ["lib/B.cpp:1", "lib/C.cpp:1", "lib/D.cpp:1"]


def test_statistics(check):
    right = """#include "llvm/ADT/Statistic.h"
// A Statistic loops{...} would not count.
ALWAYS_ENABLED_STATISTIC(numLoops, "Loops");
struct StatisticsPrinter {};
static cl::opt<bool> print("x", cl::desc("Print each Statistic (all)"));
"""
    assert check("statistics", {"a.cpp": right}) == []
    wrong = """struct A : PassWrapper<A> {
  Pass::Statistic loops{this, "loops", "Loops"};
  Statistic stores = Statistic(this, "stores", "Stores");
  Pass::Statistic first = {}, second;
};
STATISTIC(numLoops, "Loops");
"""
    definition = 'def APass {\n  let statistics = [Statistic<"n", "x", "">];\n}'
    found = check("statistics", {"b.cpp": wrong, "c.td": definition})
    assert found == [f"b.cpp:{line}" for line in (2, 3, 4, 6)] + ["c.td:2"]


def test_width(check):
    right = "// " + "x" * 77 + '\nf("' + "x" * 90 + '");\n'
    assert check("width", {"a.cpp": right, "c.py": "# " + "x" * 84 + "\n"}) == []
    wrong = f"int x;\n  /// {'x' * 75}\n"
    assert check("width", {"b.h": wrong, "b.td": wrong}) == ["b.h:2", "b.td:2"]


def test_remarks(check):
    right = """// Not op->emitRemark().
remarkAt(op, "tile-a-0001: ");
return emitRemark(value.getLoc(), "layout");
"""
    assert check("remarks", {"a.cpp": right}) == []
    wrong = 'op->emitRemark("a");\n\n  auto diag = loop.emitRemark();\n'
    assert check("remarks", {"b.cpp": wrong}) == ["b.cpp:1", "b.cpp:3"]


def test_only_prints_what_is_asked_for(tmp_path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "long.mlir").write_text("\n" * 600)
    result = run("--root", tmp_path, "--rules", "lines", "--only", "b/")
    assert result.returncode == 1
    assert result.stdout.startswith("b/long.mlir:1: 600 lines")
    assert run("--root", tmp_path, "--only", "c/", "--rules", "lines").returncode == 0


def test_help_names_each_rule():
    result = run("--help")
    assert result.returncode == 0
    rules = ["lines", "functions", "classes", "folders", "files", "names", "openings"]
    for rule in [*rules, "width", "statistics", "remarks"]:
        assert f"\n{rule} " in result.stdout
