#!/usr/bin/env python3
"""Check that the code stays in rooms that a reader can survey.

lines      no source, test of IR, page of docs or build file has more than 500 lines.
           Comments and docstrings count; generated pages are left out.
functions  no function of C++ or Python has more than 60 lines, its docstring, a page of
           the reference, left out
classes    no class has more than 40 functions, those of bases in its file included
           and operators of Python (`__add__`) left out
folders    no folder has more than 20 .cpp, 20 .h, 20 .td or 20 .py files; tests of IR
           and pages of docs are not counted
files      no two sources have one name, suffixes and leading underscores left out;
           a header and the source of one subject do
names      no two classes of C++, and no two of Python, have one name, nested ones
           and those of tests included. No enum of a namespace has the name of a
           class or of another one, and no class of the package tilews that of a
           class of a namespace, but for those that mirror it
openings   each .cpp begins with three lines on what it does and how
width      no line of a comment in C++ or TableGen has more than 80 columns; ruff checks
           Python, and clang-format code
statistics passes count with ALWAYS_ENABLED_STATISTIC only: a release build of libMLIR
           neither keeps nor prints `Pass::Statistic`
remarks    remarks start with `remarkAt(op, ...)`: `op->emitRemark()` prints the kernel

C++ is read by universal-ctags. What git ignores is not checked.
"""

from __future__ import annotations

import argparse
import ast
import collections
import functools
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from prose_text import is_generated

ROOT = Path(__file__).resolve().parents[1]
MAX_LINES = 500
MAX_FUNCTION = 60
MAX_METHODS = 40
MAX_SOURCES = 20
MIN_OPENING = 3
MAX_COLUMNS = 80

#: One pass is one file, one flag and one test: they stand side by side.
LARGE_FOLDERS = {"lib/Dialect/Tile/Transforms"}
#: Names that tools or conventions fix.
FIXED_NAMES = {
    "__init__.py",
    "__main__.py",
    "conftest.py",
    "main.cpp",
    "Passes.td",
    "Passes.h",
}
#: Python classes that are what the C++ class of the same name is.
MIRRORS = {
    "Argument",
    "Buffer",
    "Counterexample",
    "Exploration",
    "Layout",
    "TensorMap",
}
#: The C interface has the names of what it gives access to.
_C_INTERFACE = "dialect/tilews-c/"
_CODE = (".cpp", ".h", ".td", ".py")
_TEXTS = (".mlir", ".edits", ".md", ".in", ".pyi", ".cmake", ".txt", ".yml", ".toml")

Finding = tuple[str, int, str]


def untracked(root: Path) -> Iterator[Path]:
    """The files below a folder without git, but for the environment and builds."""
    for path in root.rglob("*"):
        name = path.relative_to(root)
        if not name.parts[0].startswith((".venv", "build")):
            yield name


class Tree:
    """The sources of a checkout, read once."""

    def __init__(self, root: Path) -> None:
        self.root = root
        command = ["git", "ls-files", "-co", "--exclude-standard", "-z"]
        result = subprocess.run(command, cwd=root, capture_output=True, text=True)
        if result.returncode == 0:
            names = filter(None, result.stdout.split("\0"))
        else:
            names = (str(path) for path in untracked(root))
        self.files = sorted(
            name
            for name in set(names)
            if Path(name).suffix in _CODE + _TEXTS
            and (root / name).is_file()
            and not (root / name).is_symlink()
        )

    def of(self, *suffixes: str) -> list[str]:
        return [name for name in self.files if Path(name).suffix in suffixes]

    @functools.cache  # noqa: B019 (there is one tree)
    def text(self, name: str) -> str:
        return (self.root / name).read_text()

    @functools.cached_property
    def tags(self) -> list[dict]:
        """What ctags says about functions and classes of C++."""
        names = self.of(".cpp", ".h")
        if not names:
            return []
        if not shutil.which("ctags"):
            sys.exit("check_house: needs ctags (Debian: universal-ctags)")
        command = ["ctags", "--output-format=json", "--languages=c++", "-L", "-"]
        command += ["--kinds-c++=cfgps", "--fields=+neSKsi", "-o", "-"]
        result = subprocess.run(
            command,
            cwd=self.root,
            input="\n".join(names),
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        return [json.loads(line) for line in result.stdout.splitlines()]

    @functools.cached_property
    def python(self) -> dict[str, list[ast.AST]]:
        """The classes and functions of each Python file."""
        return {
            name: list(_scopes(ast.parse(self.text(name)))) for name in self.of(".py")
        }


def _scopes(node: ast.AST) -> Iterator[ast.AST]:
    """Classes and functions in `node`. Walks statements only, which is fast."""
    for field in ("body", "orelse", "finalbody", "handlers", "cases"):
        children = getattr(node, field, None)
        for child in children if isinstance(children, list) else []:
            if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                yield child
            yield from _scopes(child)


def check_lines(tree: Tree) -> Iterator[Finding]:
    for name in tree.files:
        count = tree.text(name).count("\n")
        if count > MAX_LINES and not is_generated(tree.root / name):
            yield name, 1, f"{count} lines, at most {MAX_LINES}: split it by subject"


def _docstring_lines(node: ast.AST) -> int:
    """The lines of the docstring of a function or a class."""
    if ast.get_docstring(node, clean=False) is None:
        return 0
    return node.body[0].end_lineno - node.body[0].lineno + 1


def check_functions(tree: Tree) -> Iterator[Finding]:
    lengths = [
        (tag["path"], tag["line"], tag["name"], tag["end"] - tag["line"] + 1)
        for tag in tree.tags
        if tag["kind"] == "function"
        and "end" in tag
        # A lambda is part of the function that it is in.
        and not tag["name"].startswith("__anon")
    ]
    for name, nodes in tree.python.items():
        for node in nodes:
            if not isinstance(node, ast.ClassDef):
                count = node.end_lineno - node.lineno + 1 - _docstring_lines(node)
                lengths.append((name, node.lineno, node.name, count))
    for name, line, function, count in lengths:
        if count > MAX_FUNCTION:
            yield (
                name,
                line,
                f"{function}() has {count} lines, at most {MAX_FUNCTION}",
            )


def _cpp_classes(tree: Tree) -> Iterator[tuple[str, int, str, set, list[str]]]:
    """File, line, name, own functions and bases of each C++ class."""
    by_file = collections.defaultdict(list)
    for tag in tree.tags:
        by_file[tag["path"]].append(tag)
    for name, tags in by_file.items():
        for tag in tags:
            if tag["kind"] not in ("class", "struct"):
                continue
            own = {
                (t["name"], re.sub(r"\s", "", t.get("signature", "")))
                for t in tags
                if t["kind"] in ("function", "prototype")
                and tag["line"] < t["line"] <= tag.get("end", tag["line"])
                and t.get("scope", "").split("::")[-1] == tag["name"]
            }
            bases = re.findall(r"\w+", tag.get("inherits", ""))
            yield name, tag["line"], tag["name"], own, bases


def _python_classes(tree: Tree) -> Iterator[tuple[str, int, str, set, list[str]]]:
    for name, nodes in tree.python.items():
        for node in nodes:
            if isinstance(node, ast.ClassDef):
                own = {
                    (child.name, "")
                    for child in node.body
                    if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef)
                    # Operators are one responsibility, however many there are.
                    and not re.fullmatch(r"__\w+__", child.name)
                }
                bases = [base.id for base in node.bases if isinstance(base, ast.Name)]
                yield name, node.lineno, node.name, own, bases


def check_classes(tree: Tree) -> Iterator[Finding]:
    classes = [*_cpp_classes(tree), *_python_classes(tree)]
    known = {(name, cls): (own, bases) for name, _, cls, own, bases in classes}

    def functions(name: str, cls: str, seen: frozenset[str]) -> int:
        if (name, cls) not in known or cls in seen:
            return 0
        own, bases = known[name, cls]
        seen |= {cls}
        return len(own) + sum(functions(name, base, seen) for base in bases)

    for name, line, cls, _, _ in classes:
        count = functions(name, cls, frozenset())
        if count > MAX_METHODS:
            yield (
                name,
                line,
                f"class {cls} has {count} functions, at most {MAX_METHODS}: "
                "split it by responsibility",
            )


def check_folders(tree: Tree) -> Iterator[Finding]:
    counts = collections.Counter(
        (str(Path(name).parent), Path(name).suffix) for name in tree.of(*_CODE)
    )
    for (folder, suffix), count in sorted(counts.items()):
        if count > MAX_SOURCES and folder not in LARGE_FOLDERS:
            yield folder, 1, f"{count} {suffix} files, at most {MAX_SOURCES}"


def _are_one_subject(a: Path, b: Path) -> bool:
    """Whether two files of one name are, for example, a header and its source."""
    if a.suffix == b.suffix:
        return False
    # dialect/tilews/ has the headers of lib/.
    rooms = [
        re.sub(r"^(lib|dialect/tilews)(/|$)", "", str(path.parent)) for path in (a, b)
    ]
    return any(Path(one).is_relative_to(other) for one, other in (rooms, rooms[::-1]))


def check_files(tree: Tree) -> Iterator[Finding]:
    """One name is one subject.

    A header and its source share a name, in folders that mirror each other, or one of
    which lies in the other. Files of Python in different top-level folders may: no
    import can take one for the other. Tests of IR are named after what they test, in
    folders that mirror lib/.
    """
    homes = collections.defaultdict(list)
    for name in tree.of(*_CODE):
        path = Path(name)
        if path.name in FIXED_NAMES or name.startswith(_C_INTERFACE):
            continue
        top = (
            path.parts[0] if path.suffix == ".py" or name.startswith("python/") else ""
        )
        homes[top, path.suffix == ".py", path.stem.lstrip("_")].append(path)
    for paths in homes.values():
        for i, path in enumerate(paths):
            for other in paths[:i]:
                if not _are_one_subject(path, other):
                    yield str(path), 1, f"has the name of {other}"
                    break


def _cpp_class(tree: Tree, tag: dict) -> bool:
    """Whether a tag is the definition of a class with a name of its own."""
    # A specialization has the name of its template.
    if tag["kind"] not in ("class", "struct") or "<" in tag["name"]:
        return False
    if tag["name"].startswith("__anon") or tag["path"].startswith(_C_INTERFACE):
        return False
    line = tree.text(tag["path"]).splitlines()[tag["line"] - 1]
    return not re.search(rf"\b{tag['name']}\s*<", line)


def _is_of_namespace(tag: dict) -> bool:
    """Whether other files see the class or enum under its own name."""
    scope = tag.get("scope", "")
    return tag.get("scopeKind") == "namespace" and "__anon" not in scope


def check_names(tree: Tree) -> Iterator[Finding]:
    classes = [
        ("C++", tag["name"], tag["path"], tag["line"])
        for tag in tree.tags
        if _cpp_class(tree, tag)
        or (
            tag["kind"] == "enum"
            and tag.get("scopeKind") in (None, "namespace")
            and not tag["name"].startswith("__anon")
        )
    ]
    for path, nodes in tree.python.items():
        for node in nodes:
            if isinstance(node, ast.ClassDef):
                classes.append(("Python", node.name, path, node.lineno))
    homes = collections.defaultdict(list)
    for language, name, path, line in classes:
        homes[language, name].append((path, line))
    for (_, name), places in homes.items():
        for path, line in places[1:]:
            first, first_line = places[0]
            yield path, line, f"class {name} has the name of {first}:{first_line}"
    seen = {
        tag["name"]: f"{tag['path']}:{tag['line']}"
        for tag in tree.tags
        if _cpp_class(tree, tag) and _is_of_namespace(tag)
    }
    for language, name, path, line in classes:
        if language == "Python" and path.startswith("python/") and name in seen:
            if name not in MIRRORS:
                yield path, line, f"class {name} has the name of {seen[name]}"


def check_openings(tree: Tree) -> Iterator[Finding]:
    for name in tree.of(".cpp"):
        if Path(name).name == "main.cpp":
            continue
        parts = re.split(
            r"^//===-+===//\n", tree.text(name), maxsplit=2, flags=re.MULTILINE
        )
        lines = parts[1].splitlines() if len(parts) == 3 else []
        if sum(bool(re.search(r"\w{2}", line)) for line in lines) < MIN_OPENING:
            yield (
                name,
                1,
                f"begins with less than {MIN_OPENING} lines on what it does, and how, "
                "between '//===---===//' after the license and the first #include",
            )


def check_width(tree: Tree) -> Iterator[Finding]:
    for name in tree.of(".cpp", ".h", ".td"):
        for line, text in enumerate(tree.text(name).splitlines(), 1):
            if len(text) > MAX_COLUMNS and text.lstrip().startswith("//"):
                yield name, line, f"{len(text)} columns, at most {MAX_COLUMNS}"


#: In a .td file `Statistic<...>`, in C++ a member `Statistic name{...}`, or a macro.
_DEAD_STATISTIC = re.compile(
    r"^[^/\"\n]*\b(?:Statistic\s*<|(?:Pass::)?Statistic\s+\w+\s*[{=;(]|STATISTIC\s*\()",
    re.M,
)


def check_statistics(tree: Tree) -> Iterator[Finding]:
    for name in tree.of(".cpp", ".h", ".td"):
        text = tree.text(name)
        for match in _DEAD_STATISTIC.finditer(text):
            line = text.count("\n", 0, match.end()) + 1
            yield name, line, "counts in some builds only: use ALWAYS_ENABLED_STATISTIC"


def check_remarks(tree: Tree) -> Iterator[Finding]:
    for name in tree.of(".cpp", ".h"):
        for match in re.finditer(
            r"^[^/\n]*(?:\.|->)emitRemark\(", tree.text(name), re.M
        ):
            line = tree.text(name).count("\n", 0, match.end()) + 1
            yield name, line, "prints all of the kernel: use remarkAt(op, ...)"


RULES: dict[str, Callable[[Tree], Iterator[Finding]]] = {
    "lines": check_lines,
    "functions": check_functions,
    "classes": check_classes,
    "folders": check_folders,
    "files": check_files,
    "names": check_names,
    "openings": check_openings,
    "width": check_width,
    "statistics": check_statistics,
    "remarks": check_remarks,
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--rules",
        nargs="+",
        choices=RULES,
        default=list(RULES),
        metavar="RULE",
        help="the rules to check; all if not given",
    )
    parser.add_argument(
        "--only",
        nargs="+",
        default=[""],
        metavar="PREFIX",
        help="print findings in paths from the root that begin like this",
    )
    parser.add_argument("--root", type=Path, default=ROOT, help=argparse.SUPPRESS)
    options = parser.parse_args()
    tree = Tree(options.root)
    total = 0
    for rule in options.rules:
        for name, line, message in RULES[rule](tree):
            if name.startswith(tuple(options.only)):
                total += 1
                print(f"{name}:{line}: {message} [{rule}]")
    if total:
        sys.exit(f"{total} findings")


if __name__ == "__main__":
    main()
