"""The names that pages, hints and messages mention: texts, and what they refer to.

Each function ``find_*`` returns the names in a text that do not exist.
"""

import ast
import functools
import importlib
import inspect
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import tilews
import tilews.language as tl
from tilews.pass_list import read_passes

ROOT = Path(__file__).parents[3]
BUILD = Path(os.environ["TILEWS_BUILD_DIR"])


@functools.cache
def tracked() -> list[str]:
    """The files of the repository."""
    command = ["git", "ls-files", "-co", "--exclude-standard"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if run.returncode == 0:
        return run.stdout.splitlines()
    return [str(path.relative_to(ROOT)) for path in ROOT.rglob("*") if path.is_file()]


# --- Texts ------------------------------------------------------------------------


@functools.cache
def pages() -> dict[str, str]:
    """The pages. The changelog and reports of measurements name things of the past."""
    found = {}
    for name in tracked():
        past = name.startswith(("CHANGELOG", "benchmarks/results/", "docs/upstream/"))
        if name.endswith((".md", ".md.in")) and not past:
            found[name] = (ROOT / name).read_text()
    # The first column has the names of other systems.
    other = "docs/coming-from.md"
    found[other] = re.sub(r"^\|[^|]*\|", "|", found[other], flags=re.M)
    return found


@functools.cache
def messages() -> dict[str, str]:
    """The strings of the sources, docstrings and descriptions included, by file."""
    found = {}
    for name in tracked():
        if name.startswith("python/tilews/") and name.endswith(".py"):
            tree = ast.parse((ROOT / name).read_text())
            strings = (
                node.value
                for node in ast.walk(tree)
                if isinstance(node, ast.Constant) and isinstance(node.value, str)
            )
        elif name.startswith(("lib/", "tools/")) and name.endswith((".cpp", ".h")):
            code = re.sub(r"//[^\n]*", "", (ROOT / name).read_text())
            # Adjacent literals are one string.
            code = re.sub(r'"\s*\n\s*"', "", code)
            strings = re.findall(r'"((?:\\.|[^"\\\n])*)"', code)
        elif name.startswith("dialect/") and name.endswith(".td"):
            strings = [(ROOT / name).read_text()]
        else:
            continue
        found[name] = "\n\n".join(strings)
    return found


def texts() -> dict[str, str]:
    return pages() | messages()


def code_spans(text: str) -> list[str]:
    """The code spans of a page; one may go over the end of a line."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    spans: list[str] = []
    for paragraph in re.split(r"\n[ \t]*\n", text):
        found = re.findall(r"(?<!`)`(?!`)([^`]+)`(?!`)", paragraph)
        spans += (" ".join(span.split()) for span in found)
    return spans


# --- Python -----------------------------------------------------------------------


def find_language_names(text: str) -> set[str]:
    """Names such as tl.load."""
    # A name that ends in "_" is continued by a value.
    names = re.findall(r"(?<![\w.])tl\.([A-Za-z]\w*)(?<!_)\b", text)
    return {f"tl.{name}" for name in names if not hasattr(tl, name)}


def find_keywords(text: str) -> set[str]:
    """Arguments by name of functions of the language, such as tl.range(n, step=2)."""
    found = set()
    for match in re.finditer(r"(?<![\w.])tl\.(\w+)\(", text):
        item = getattr(tl, match[1], None)
        if item is None or (inspect.isclass(item) and item is not tl.Tensor):
            continue
        parameters = inspect.signature(item).parameters
        for keyword in re.findall(
            r"(?:^|[(,]) *(\w+)=(?!=)", inside(text, match.end())
        ):
            if keyword not in parameters:
                found.add(f"tl.{match[1]}({keyword}=)")
    return found


def inside(text: str, start: int) -> str:
    """The text up to the parenthesis that closes, without what is nested in it."""
    depth, kept = 0, []
    for letter in text[start : start + 400]:
        depth += (letter in "([{") - (letter in ")]}")
        if depth < 0:
            return "".join(kept)
        if depth == 0 or letter == ",":
            kept.append(letter if depth == 0 else " ")
    return ""  # Not a call, but a piece of text.


def find_modules(text: str) -> set[str]:
    """Names such as tilews.passes.run."""
    names = re.findall(r"(?<![\w./-])tilews(?:\.[A-Za-z_]\w*)+(?!\w|/)", text)
    files = r"\.(py|md|json|td|h|cpp|so|mlir)$"
    return {n for n in names if not re.search(files, n) and not exists(n)}


def exists(name: str) -> bool:
    """Whether a dotted name of the package can be imported."""
    item, path = tilews, "tilews"
    for part in name.split(".")[1:]:
        path = f"{path}.{part}"
        try:
            if not hasattr(item, part):
                importlib.import_module(path)
        except ImportError as error:
            return error.name == "torch"  # It need not be installed.
        item = getattr(item, part)
    return True


def find_functions(text: str) -> set[str]:
    """Calls of functions of the modules that pages import, such as sim.trace()."""
    found = set()
    for module, name in re.findall(
        r"(?<![\w.])(passes|schedule|sim|compiler|runtime)\.([a-z_]\w*)\(", text
    ):
        if not exists(f"tilews.{module}.{name}"):
            found.add(f"{module}.{name}")
    return found


# --- The compiler -----------------------------------------------------------------


@functools.cache
def passes() -> dict[str, set[str]]:
    """The passes and pipelines by their flags, with their options."""
    return {one.flag: {*one.options} for one in read_passes()}


#: Options of tilews-opt whose names begin as those of passes.
FLAGS = {"tilews-statistics"}
_OPTIONS = r"(?:=(\"[^\"]*\"|[^\s`'\",)]+)|\{([^{}]*)\})"


def find_passes(text: str) -> set[str]:
    """Flags of passes and pipelines, and their options."""
    found = set()
    flag = r"(?:tile|tilews-to|convert-tile)-[a-z][\w-]*\w"
    for name in re.findall(rf"(?<![\w-])--({flag}|tilews-[a-z-]+\w)", text):
        if name not in passes() and name not in FLAGS:
            found.add(f"--{name}")
    for name, quoted, braced in re.findall(rf"(?<![\w.#!])({flag}){_OPTIONS}", text):
        if name not in passes():
            continue
        for word in (quoted.strip('"') or braced).split():
            option = word.partition("=")[0]
            if re.fullmatch(r"[a-z][a-z-]*", option) and option not in passes()[name]:
                found.add(f"{name}={option}")
    return found


@functools.cache
def remarks() -> set[str]:
    """The ids that docs/remarks.md describes."""
    page = (ROOT / "docs/remarks.md").read_text()
    return {*re.findall(r"^\| `(tile-[a-z]+-\d{4})` \|", page, flags=re.M)}


def find_remarks(text: str) -> set[str]:
    return {*re.findall(r"\btile-[a-z]+-\d{4}\b", text)} - remarks()


@functools.cache
def dialect() -> set[str]:
    """The operations, attributes and types of the dialect, and its attribute names."""
    page = (ROOT / "docs/dialect.md").read_text()
    found = {*re.findall(r"^### `(tile\.\w+)`", page, flags=re.M)}
    sources = (name for name in tracked() if name.startswith("dialect/"))
    text = "".join((ROOT / name).read_text() for name in sources)
    found |= {*re.findall(r'StringLiteral k\w+ = "(tile\.\w+)"', text)}
    names = re.findall(r'(?:mnemonic = |AttrDef<\w+, )"(\w+)"', text)
    names += re.findall(r'Tile_\w*(?:Attr|Type)\w*<"\w+", "([a-z]\w*)"', text)
    names += re.findall(r'EnumAttr<\w+, \w+, "(\w+)"', text)
    return found | {f"tile.{name}" for name in names}


def find_operations(text: str) -> set[str]:
    """Operations, attributes and types such as tile.gemm."""
    return {*re.findall(r"(?<![\w./])(tile\.[a-z]\w*)\b(?!\()", text)} - dialect()


# --- Commands ---------------------------------------------------------------------


@functools.cache
def scripts() -> dict[str, str]:
    """The commands that the package installs."""
    text = (ROOT / "pyproject.toml").read_text()
    section = text.partition("[project.scripts]\n")[2].partition("\n\n")[0]
    return dict(re.findall(r'^([\w-]+) = "(.*)"$', section, flags=re.M))


def commands(text: str) -> Iterator[list[str]]:
    """The words of the commands of a page: in blocks, and in code spans."""
    blocks = re.findall(r"^```(?:sh|text)\n(.*?)^```", text, flags=re.M | re.S)
    blocks += re.findall(r"(?:^ {4,}\S.*\n)+", text, flags=re.M)
    blocks += re.findall(r"^\{\{(.*?)(?: \| select .*)?\}\}$", text, flags=re.M)
    lines = [line for block in blocks for line in join(block)] + code_spans(text)
    for line in lines:
        for part in re.split(r" && | \| |; ", line.strip().removeprefix("$ ")):
            try:
                words = shlex.split(part, comments=True)
            except ValueError:
                continue  # Prose with an apostrophe.
            while words and re.fullmatch(r"[A-Z_]+=\S*", words[0]):
                words = words[1:]
            if words:
                yield words


def join(block: str) -> list[str]:
    """The lines of a block, continued lines joined."""
    return re.sub(r"\\\n\s*", "", block).splitlines()


def program(words: list[str]) -> tuple[str, ...] | None:
    """The program of a command, if it is one of ours: what to run for its help."""
    head = re.sub(r"^(?:\.venv|build/dev)/bin/", "", words[0])
    rest = words[1:]
    if head in ("python", "python3") and rest:
        if rest[0] == "-m" and rest[1:] and re.match("tilews|benchmarks", rest[1]):
            sub = rest[2:3] if rest[1] == "tilews" else []
            return ("-m", rest[1], *sub)
        own = rest[0].endswith(".py") and "/" in rest[0]
        return (rest[0],) if own and (ROOT / rest[0]).exists() else None
    if head == "tilews":
        return ("-m", "tilews", *[word for word in rest[:1] if word.isalpha()])
    if head in scripts() and (BUILD / "bin" / head).exists():
        return (head,)
    if head in scripts():
        module, _, function = scripts()[head].partition(":")
        return ("-c", f"from {module} import {function}; {function}()")
    return None


@functools.cache
def options(program: tuple[str, ...]) -> set[str] | None:
    """The options of a program, from its help.

    None if it has no such subcommand; empty if it has no help.
    """
    if (BUILD / "bin" / program[0]).exists():
        command = [str(BUILD / "bin" / program[0]), "--help-hidden"]
    else:
        command = [sys.executable, *program, "--help"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    if "No such command" in run.stderr:
        return None
    return {*re.findall(r"(?<![\w-])(--?[A-Za-z][\w-]*)", run.stdout)}


def find_options(text: str) -> set[str]:
    """Commands and options of tools that do not exist."""
    found = set()
    for words in commands(text):
        if words[0] == "make":
            wanted = {word for word in words[1:] if "=" not in word}
            found |= {f"make {word}" for word in wanted - targets()}
            continue
        which = program(words)
        given = {word.partition("=")[0] for word in words[1:] if word.startswith("-")}
        given = {one for one in given if re.fullmatch(r"--?[A-Za-z][\w-]*", one)}
        # Asking each program for its help takes time.
        if which is None or not (given - {"-m"} or "tilews" in which):
            continue
        known = options(which)
        if known is None:
            found.add(" ".join(words[:3]))
        elif known:
            wrong = {one for one in given if not {one, f"-{one}"} & known}
            found |= {f"{words[0]} {one}" for one in wrong - {"-m"}}
    return found


@functools.cache
def targets() -> set[str]:
    """The targets of the Makefile."""
    text = (ROOT / "Makefile").read_text()
    found = {*re.findall(r"^([a-z][\w-]*):", text, flags=re.M)}
    (nightly,) = re.findall(r"^NIGHTLY := (.*)$", text, flags=re.M)
    return found | {f"nightly-{name}" for name in nightly.split()}


# --- Files ------------------------------------------------------------------------


def find_files(text: str) -> set[str]:
    """Sources that a page names without their folder, or with a part of it."""
    suffixes = "cpp|h|td|py|edits|md|in"
    programs = {*re.findall(r"^```python\n# (\w+\.py)$", text, flags=re.M)}
    found = set()
    for span in code_spans(text):
        if re.fullmatch(rf"[\w./-]*\w\.(?:{suffixes})", span) and span not in programs:
            is_there = any(f"/{name}".endswith(f"/{span}") for name in tracked())
            if not is_there and not (ROOT / span).exists():
                found.add(span)
    return found


def find_paths(text: str) -> set[str]:
    """Files of the repository that are named by their path."""
    tops = r"(?:\.ci|benchmarks|cmake|dialect|docs|examples|lib|python|test|tools)"
    suffixes = "cpp|edits|h|in|md|mlir|py|svg|td"
    paths = re.findall(
        rf"(?<![\w/.*-])({tops}/[\w./-]+\.(?:{suffixes}))\b(?![*\w])", text
    )
    return {path for path in paths if not (ROOT / path).exists()}


def find_variables(text: str) -> set[str]:
    """Environment variables that nothing reads."""
    return {*re.findall(r"(?<!\w)TILEWS_[A-Z_]+\b", text)} - variables()


@functools.cache
def variables() -> set[str]:
    """The variables and options that the package, the build and the lints have."""
    tops = ("python/", "lib/", "tools/", "cmake/", ".ci/", "CMake", "test/lit/")
    suffixes = (".py", ".cpp", ".h", ".txt", ".cmake", ".json")
    found: set[str] = set()
    for name in tracked():
        if name.startswith(tops) and (name.endswith(suffixes) or "." not in name[1:]):
            text = (ROOT / name).read_text(errors="replace")
            found |= {*re.findall(r"(?<!\w)TILEWS_[A-Z_]+", text)}
    return found
