"""Which files the script of clang-tidy checks. The tool itself is a stand-in here."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[3] / ".ci/clang-tidy"
SOURCES = [
    "lib/A/One.cpp",
    "test/lib/TestPass.cpp",
    "tools/opt/main.cpp",
    "unittests/A/OneTest.cpp",
]


@pytest.fixture
def tree(tmp_path):
    """A checkout with the script and a build, and tools that do nothing."""
    for folder in (".ci", "bin", "build/dev"):
        (tmp_path / folder).mkdir(parents=True)
    shutil.copy(SCRIPT, tmp_path / ".ci")
    (tmp_path / "build/dev/compile_commands.json").write_text("[]")
    for name, text in (("clang-tidy-22", 'echo "${!#}"'), ("ninja", "true")):
        (tmp_path / "bin" / name).write_text(f"#!/bin/bash\n{text}\n")
        (tmp_path / "bin" / name).chmod(0o755)
    git(tmp_path, "init", "-q", "-b", "main")
    return tmp_path


def git(tree, *arguments):
    identity = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
    subprocess.run(["git", *identity, *arguments], cwd=tree, check=True)


def commit(tree, files):
    for name, text in files.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(text)
    git(tree, "add", *files)
    git(tree, "commit", "-q", "-m", "change")


def run(tree, *arguments):
    path = f"{tree / 'bin'}:{os.environ['PATH']}"
    return subprocess.run(
        [tree / ".ci/clang-tidy", *arguments],
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
    )


def test_all_sources(tree):
    commit(tree, dict.fromkeys([*SOURCES, "python/a.py", "lib/A/One.h"], ""))
    result = run(tree, "--all")
    assert result.returncode == 0, result.stderr
    assert sorted(result.stdout.split()) == SOURCES


def test_all_of_nothing_is_an_error(tree):
    result = run(tree, "--all")
    assert result.returncode == 2
    assert "git lists no sources here" in result.stderr


def test_changed_headers_are_checked_with_a_source(tree):
    commit(
        tree,
        {
            "lib/A/One.cpp": '#include "Own.h"\n',
            "lib/A/Two.cpp": '#include "tilews/A/Public.h"\n',
            "unittests/A/OneTest.cpp": '#include "Helper.h"\n',
            "test/lib/TestPass.cpp": "",
        },
    )
    git(tree, "checkout", "-q", "-b", "change")
    headers = ["lib/A/Own.h", "dialect/tilews/A/Public.h", "unittests/A/Helper.h"]
    commit(tree, dict.fromkeys(headers, ""))
    result = run(tree)
    assert result.returncode == 0, result.stderr
    found = ["lib/A/One.cpp", "lib/A/Two.cpp", "unittests/A/OneTest.cpp"]
    assert sorted(result.stdout.split()) == found


def test_nothing_has_changed(tree):
    commit(tree, dict.fromkeys(SOURCES, ""))
    result = run(tree)
    assert result.returncode == 0
    assert "nothing to check" in result.stdout
