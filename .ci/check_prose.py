#!/usr/bin/env python3
"""Check the words and the sentences of comments, docs and messages.

Prints `file:line: word -> what to say instead` for each word that this project does
without (see prose_words.py), and each sentence of a page, a comment, a docstring or a
TableGen description that has more than 40 words. Code spans, code blocks, tables and
identifiers are not looked at. Generated pages are not either: their sources are.

Without `--only` it also checks the subjects of commits: at most 100 characters.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import prose_text
from prose_words import RULES

ROOT = Path(__file__).resolve().parents[1]
MAX_WORDS = 40
MAX_SUBJECT = 100
#: The subjects of later commits are checked.
FIRST_COMMIT = "7fd803ef"
#: Reports of measurements; this lint, which names the words; licenses.
_EXEMPT = re.compile(
    r"^(benchmarks/results/|\.ci/prose_words\.py|test/python/ci/|LICENSE)"
)
_SENTENCE_END = re.compile(r"""[.!?]["')*_]*(?=\s+|$)""")
_ABBREVIATION = re.compile(r"(\b(e\.g|i\.e|vs|cf|etc|Fig|Sec|No)|^\d+)\.$")


def sentences(text: str) -> Iterator[tuple[int, str]]:
    """Each sentence of a paragraph, with the offset at which it starts."""
    start = 0
    for match in _SENTENCE_END.finditer(text):
        if not _ABBREVIATION.search(text[start : match.end()].strip()):
            yield start, text[start : match.end()]
            start = match.end() + 1
    if start < len(text):
        yield start, text[start:]


def count_words(sentence: str) -> int:
    """Words of a sentence; a code span is one."""
    return sum(
        any(c.isalnum() or c == prose_text.CODE for c in word)
        for word in sentence.split()
    )


def check(path: Path, name: str, shown: str) -> Iterator[tuple[int, str]]:
    """Findings in the file `path`, whose name from the root is `name`."""
    if _EXEMPT.match(name) or prose_text.is_generated(path):
        return
    for paragraph in prose_text.read(path):
        text = paragraph.text
        for rule in RULES:
            for match in rule.find(text, name):
                line = paragraph.line_at(match.start())
                yield line, f"{shown}:{line}: {match[0].strip()} -> {rule.say}"
        if not paragraph.is_message:
            for start, sentence in sentences(text):
                if (count := count_words(sentence)) > MAX_WORDS:
                    line = paragraph.line_at(start)
                    begin = " ".join(sentence.split()[:6])
                    yield (
                        line,
                        f"{shown}:{line}: sentence of {count} words: '{begin} …' -> "
                        f"at most {MAX_WORDS}, better 20",
                    )


def root_of(path: Path) -> Path:
    """The checkout that a file lies in; the root of all files if there is none."""
    for parent in path.parents:
        if (parent / ".git").exists():
            return parent
    return Path(path.anchor)


def tracked(folder: Path) -> list[Path]:
    """Files below a folder that git tracks, or would."""
    command = ["git", "ls-files", "-co", "--exclude-standard", "-z"]
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if result.returncode == 0:
        names = filter(None, result.stdout.split("\0"))
        return sorted({folder / name for name in names})
    # Without git: all but the environment and builds.
    skipped = (".venv", "build")
    return sorted(
        path
        for path in folder.rglob("*")
        if path.is_file() and not path.relative_to(folder).parts[0].startswith(skipped)
    )


def select(only: list[str]) -> list[Path]:
    """The files to check: of `only` paths, or the whole tree."""
    files: list[Path] = []
    for path in [Path(p).absolute() for p in only] or [ROOT]:
        if not path.exists():
            sys.exit(f"check_prose: no such file or folder: {path}")
        files += tracked(path) if path.is_dir() else [path]
    return [path for path in files if path.is_file() and not path.is_symlink()]


def long_subjects(folder: Path, first: str = FIRST_COMMIT) -> Iterator[str]:
    """A finding for each commit since `first` whose subject is too long.

    A shallow clone has the newest of them only.
    """
    command = ["git", "log", "--format=%H %s"]
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    for line in result.stdout.splitlines():
        commit, _, subject = line.partition(" ")
        if commit.startswith(first):
            return
        if len(subject) > MAX_SUBJECT:
            yield (
                f"{commit[:10]}: subject of {len(subject)} characters: '{subject}' -> "
                f"at most {MAX_SUBJECT}"
            )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--only", nargs="+", default=[], metavar="PATH", help="files or folders"
    )
    parser.add_argument(
        "--count", action="store_true", help="print findings by file, most first"
    )
    options = parser.parse_args()
    total, counts = 0, {}
    for path in select(options.only):
        name = str(path.relative_to(root_of(path)))
        shown = os.path.relpath(path) if options.only else name
        found = sorted(set(check(path, name, shown)))
        total += len(found)
        counts[shown] = len(found)
        if not options.count:
            print(*(line for _, line in found), sep="\n", end="\n" * bool(found))
    if not options.only:
        found = list(long_subjects(ROOT))
        total += len(found)
        print(*found, sep="\n", end="\n" * bool(found))
    if options.count:
        for shown, count in sorted(counts.items(), key=lambda item: -item[1]):
            if count:
                print(f"{count:5} {shown}")
    if total:
        sys.exit(f"{total} findings. Words and exceptions: .ci/prose_words.py")


if __name__ == "__main__":
    main()
