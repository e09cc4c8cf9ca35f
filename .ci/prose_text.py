"""Finds the prose in a file: comments, docstrings, descriptions and messages.

Prose comes as paragraphs. Code spans and code blocks in them are blanked out, so
that a lint of words does not see identifiers.
"""

from __future__ import annotations

import ast
import dataclasses
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

#: What a code span is replaced by, one for each character.
CODE = "\N{DOTTED SQUARE}"


@dataclasses.dataclass
class Paragraph:
    """Lines of prose that belong together, with the line number of each.

    `is_message` holds for a string that a program prints or compares. Sentences of all
    other prose (pages, descriptions, comments, docstrings) must be short.
    """

    lines: list[tuple[int, str]]
    is_message: bool = False

    @property
    def text(self) -> str:
        return " ".join(line for _, line in self.lines)

    def line_at(self, offset: int) -> int:
        """The number of the line that the character `offset` of the text is in."""
        for number, line in self.lines:
            if offset <= len(line):
                return number
            offset -= len(line) + 1
        return self.lines[-1][0]


def _blank(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", CODE, match[0])


def _space(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", match[0])


_SPANS = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)", re.DOTALL)
_LINK_TARGETS = re.compile(r"(?<=\])\([^)\s]*\)|<?https?://\S+|<[/!a-zA-Z][^>]*>")


def _hide_code(text: str) -> str:
    """Blanks code spans, addresses and tags; lines and lengths stay.

    A span may go over the end of a line, not over the end of a paragraph.
    """
    paragraphs = re.split(r"(\n[ \t]*\n)", text)
    text = "".join(_SPANS.sub(_blank, p) for p in paragraphs)
    return _LINK_TARGETS.sub(_space, text)


#: What begins an item or a title: a mark, a number, or `:param`; not ":class:`X`".
_STARTS = re.compile(rf"([*+-]|\d+[.)]|#+|\||:(?!\w+:{CODE})\w+|\w+:$) ?")
#: A row of a table that is laid out with spaces: a wide gap after a word.
_COLUMNS = re.compile(r"\w.*?[^.!?:]   +\S")


def _paragraphs(text: str, first: int, is_message: bool = False) -> Iterator[Paragraph]:
    """Paragraphs of text that starts on line `first`, such as a comment."""
    current: list[tuple[int, str]] = []
    for number, line in enumerate(_hide_code(text).split("\n"), first):
        stripped = line.strip()
        starts = _STARTS.match(stripped) or _COLUMNS.match(stripped)
        if (not stripped or starts) and current:
            yield Paragraph(current, is_message)
            current = []
        if stripped.startswith("|"):
            for cell in stripped.strip("|").split("|"):
                yield Paragraph([(number, cell.strip())], is_message)
        elif stripped:
            current.append((number, stripped))
    if current:
        yield Paragraph(current, is_message)


# --- Markdown -----------------------------------------------------------------


def markdown(text: str, first: int = 1) -> Iterator[Paragraph]:
    """Prose of a page, or of a description in a TableGen file."""
    text = re.sub(r"<!--.*?-->", _space, text, flags=re.DOTALL)
    lines = text.split("\n")
    fence, was_blank, in_block = None, True, False
    for i, line in enumerate(lines):
        mark = re.match(r"\s*(```+|~~~+)", line)
        if fence or mark:
            if fence is None:
                fence = mark[1]
            elif mark and mark[1].startswith(fence):
                fence = None
            lines[i] = ""
            continue
        # Four spaces after a blank line begin a block of code, unless in a list.
        is_indented = line.startswith("    ")
        if is_indented and (was_blank or in_block):
            in_block, lines[i] = True, ""
        elif line.strip():
            in_block = False
        was_blank = not line.strip()
    yield from _paragraphs("\n".join(lines), first)


# --- C++ and TableGen ---------------------------------------------------------

_CPP = re.compile(
    r"""(?P<line>//[^\n]*)
      | (?P<block>/\*.*?\*/)
      | R"(?P<mark>\w*)\(.*?\)(?P=mark)"
      | (?P<string>"(?:\\.|[^"\\\n])*"(?:\s*"(?:\\.|[^"\\\n])*")*)
      | (?<![0-9a-fA-F])'(?:\\.|[^'\\\n])'
      | (?P<code>\[\{.*?\}\])""",
    re.DOTALL | re.VERBOSE,
)
_BANNER = re.compile(r"^[/ ]*===.*$|^[/ ]*-{4,}.*$")
_TEST_LINE = re.compile(
    r"^/+ *([A-Z0-9_]+(-[A-Z]+)*(\{.*?\})?:|expected-|-----|@below|RUN\b)"
)


def _comment_text(line: str) -> str:
    """What a `//` comment says; nothing for banners, tests' lines and code."""
    if _BANNER.match(line):
        # The title of a file is prose.
        title = re.match(r"//=+- [\w.-]+ - (.*?) -*(-\*-.*)?=*//$", line)
        return title[1] if title else ""
    if _TEST_LINE.match(line):
        return ""
    text = line.lstrip("/")
    text = re.sub(r"^<( |$)", " ", text)
    return "" if text.startswith("     ") else text.replace("\\p ", "   ")


def _cpp_string(match: str, number: int) -> Iterator[Paragraph]:
    lines = []
    for i, line in enumerate(match.split("\n")):
        parts = re.findall(r'"((?:\\.|[^"\\])*)"', line)
        said = " ".join(" ".join(parts).replace("\\n", "  ").split())
        lines.append((number + i, said))
    if any(" " in said for _, said in lines) or len(lines) > 1:
        said = [(n, _SPANS.sub(_blank, s)) for n, s in lines if s]
        yield Paragraph(said, is_message=True)


def cpp(text: str, tablegen: bool = False, first: int = 1) -> Iterator[Paragraph]:
    """Comments and messages of C++; of TableGen, descriptions as well."""
    pending: list[tuple[int, str]] = []
    position, number, last = 0, first, -1
    for match in _CPP.finditer(text):
        number += text.count("\n", position, match.start())
        is_alone = not text[position : match.start()].strip()
        position = match.start()
        if match["line"]:
            if pending and (number != last + 1 or not is_alone):
                yield from _join(pending)
                pending = []
            pending.append((number, _comment_text(match["line"])))
            last = number
        elif match["block"]:
            body = re.sub(r"^\s*\*", "", match["block"][2:-2], flags=re.MULTILINE)
            yield from _paragraphs(body, number)
        elif match["code"] and tablegen:
            yield from _code(text, match, number)
        elif match["string"] and not _is_directive(text, match.start()):
            if tablegen and re.search(r"(summary|description) =\s*$", text[:position]):
                yield from markdown(match["string"].replace('"', " "), number)
            else:
                yield from _cpp_string(match["string"], number)
        number += match[0].count("\n")
        position = match.end()
    yield from _join(pending)


def _is_directive(text: str, start: int) -> bool:
    return text[text.rfind("\n", 0, start) + 1 : start].lstrip().startswith("#include")


def _code(text: str, match: re.Match[str], number: int) -> Iterator[Paragraph]:
    """A `[{...}]` of TableGen: a description, or C++."""
    inside = match[0][2:-2]
    before = text[max(0, match.start() - 60) : match.start()]
    if re.search(r"(summary|[dD]escription) =\s*$|Method<\s*$", before):
        # The code blocks of a description are relative to its own margin.
        margins = re.findall(r"^( *)\S", inside.partition("\n")[2], re.MULTILINE)
        margin = min(map(len, margins), default=0)
        inside = re.sub(rf"^ {{{margin}}}", "", inside, flags=re.MULTILINE)
        yield from markdown(inside, number)
    else:
        yield from cpp(inside, first=number)


def _join(pending: list[tuple[int, str]]) -> Iterator[Paragraph]:
    if pending:
        yield from _paragraphs("\n".join(text for _, text in pending), pending[0][0])


# --- Python and files whose comments begin with # -----------------------------

_NOT_PROSE = re.compile(
    r"%\w|\bdef \w+\(|[{};]\s*$|^\s*(import|return)\b|^\s*(//|#)|\w\.\w+\(",
    re.MULTILINE,
)


def hash_comments(text: str) -> Iterator[Paragraph]:
    """Comments of CMake, shell, YAML, TOML and make."""
    pending: list[tuple[int, str]] = []
    for number, line in enumerate(text.split("\n"), 1):
        match = re.match(r"\s*#(?!!)[:#]? ?(.*)$", line)
        if match:
            pending.append((number, match[1]))
        else:
            yield from _join(pending)
            pending = []
            if match := re.search(r"\s#\s(.*)$", line):
                yield from _paragraphs(match[1], number)
    yield from _join(pending)


def _python_comments(text: str) -> Iterator[Paragraph]:
    pending: list[tuple[int, str]] = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type != tokenize.COMMENT:
            continue
        number = token.start[0]
        if pending and number != pending[-1][0] + 1:
            yield from _join(pending)
            pending = []
        pending.append((number, re.sub(r"^#+[:!]?", "", token.string)))
    yield from _join(pending)


def _documentation(nodes: list[ast.AST]) -> set[int]:
    """Ids of docstrings, strings that document an assignment included."""
    found = set()
    for node in nodes:
        body = getattr(node, "body", None)
        for child in body if isinstance(body, list) else []:
            if isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant):
                found.add(id(child.value))
    return found


def _docstring(text: str, first: int) -> Iterator[Paragraph]:
    """Prose of a docstring: without doctests, examples and what follows `::`."""
    lines, in_code, margin = text.split("\n"), False, 0
    for i, line in enumerate(lines):
        indent = len(line) - len(line.lstrip())
        if in_code and line.strip() and indent <= margin:
            in_code = False
        if in_code or line.lstrip().startswith(">>>"):
            lines[i] = ""
        elif line.rstrip().endswith("::") or line.strip() in ("Example:", "Examples:"):
            in_code, margin = True, indent
    yield from _paragraphs("\n".join(lines), first)


def python(text: str) -> Iterator[Paragraph]:
    """Comments, docstrings and messages of Python."""
    yield from _python_comments(text)
    nodes = list(ast.walk(ast.parse(text)))
    documentation = _documentation(nodes)
    parts = {
        id(part)
        for node in nodes
        if isinstance(node, ast.JoinedStr)
        for part in ast.walk(node)
        if part is not node
    }
    for node in nodes:
        if isinstance(node, ast.JoinedStr):
            pieces = [
                str(v.value) if isinstance(v, ast.Constant) else CODE
                for v in node.values
            ]
            yield from _message("".join(pieces), node.lineno)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            if id(node) in documentation:
                yield from _docstring(node.value, node.lineno)
            elif id(node) not in parts:
                yield from _message(node.value, node.lineno)


def _message(text: str, number: int) -> Iterator[Paragraph]:
    """A string that a user may read: of several words, and no code."""
    if " " not in text.strip():
        return
    if "\n" in text and _NOT_PROSE.search(text):
        return
    yield from _paragraphs(text, number, is_message=True)


# --- Files --------------------------------------------------------------------

_HASHED = {".cmake", ".yaml", ".yml", ".toml", ".sh", ".cfg"}
_HASHED_NAMES = {"CMakeLists.txt", "Makefile", "CODEOWNERS", ".clang-tidy"}
_HASHED_NAMES |= {".clang-format", ".gitignore", ".git-blame-ignore-revs"}


def read(path: Path) -> Iterator[Paragraph]:
    """The prose of a file; none if it is of a kind that has none."""
    try:
        text = path.read_text()
    except (UnicodeDecodeError, FileNotFoundError, IsADirectoryError):
        return
    suffix = path.suffix
    if path.name.endswith(".md.in") or suffix == ".md":
        yield from markdown(text)
    elif suffix in {".cpp", ".h", ".mlir", ".edits"} or path.name.endswith(".h.in"):
        yield from cpp(text)
    elif suffix == ".td":
        yield from cpp(text, tablegen=True)
    elif suffix in {".py", ".pyi"}:
        yield from python(text)
    elif (
        suffix in _HASHED or path.name in _HASHED_NAMES or path.name.endswith(".py.in")
    ):
        yield from hash_comments(text)
    elif not suffix and text.startswith("#!/bin/"):
        yield from hash_comments(text)


def is_generated(path: Path) -> bool:
    """Whether a program writes this page."""
    if path.suffix != ".md":
        return False
    with path.open(errors="replace") as file:
        return bool(re.match(r"<!-- (Generated|Made) ", file.readline()))
