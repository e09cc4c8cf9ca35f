"""The lint of words and sentences: what it finds, and what it leaves alone."""

import importlib
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SCRIPT = ROOT / ".ci/check_prose.py"


def run(*arguments, cwd: Path = ROOT) -> subprocess.CompletedProcess:
    command = [sys.executable, SCRIPT, *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True)


@pytest.fixture
def find(tmp_path):
    """What the lint says about a file with this text: line and word."""

    def check(text: str, name: str = "page.md") -> list[tuple[int, str]]:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        result = run("--only", name, cwd=tmp_path)
        found = []
        for line in result.stdout.splitlines():
            place, _, word = line.partition(": ")
            assert place.startswith(f"{name}:"), line
            found.append((int(place.split(":")[1]), word.split(" -> ")[0]))
        assert result.returncode == bool(found), result.stderr
        return found

    return check


WRONG = {
    "The loop runs three turns.": "turns",
    "Roles take tiles in turn.": "turn",
    "A barrier stands behind the copy.": "behind",
    "The product reads two tiles.": "product",
    "Products are slow.": "Products",
    "The threads meet here.": "meet",
    "They have met before.": "met",
    "Guards on the counter of a loop.": "counter",
    "Two ways join.": "ways",
    "Every way through the kernel counts.": "Every way through",
    "At the begin of the kernel.": "the begin",
    "The role waits for ever.": "for ever",
    "Whoever waits for it.": "Whoever",
    "As everybody does.": "everybody",
    "The two cannot be told apart.": "told apart",
    "Nothing tells it that the phase is over.": "Nothing tells it",
    "The task knows that it is complete.": "task knows",
    "Of a warp each lane arrives.": "Of a warp",
}
RIGHT = [
    "The pass turns the loop into a pipeline.",
    "This turns off the pass.",
    "The logical product of two layouts, and the dot product of two rows.",
    "A matrix product of the operands; the product of the extents is 12.",
    "The requirements are met, as the layout meets the conditions.",
    "A hardware counter of the GPU.",
    "The two ends differ in several ways.",
    "A copy is under way, and on its way to memory.",
    "It begins there.",
    "Of course it does.",
    "Code like `turn = product(behind)` and `--tile-overlap-products` is code.",
    "The flag --tile-overlap-products and the name turn_products, too.",
    "As in product.py, and in lib/turn/behind.cpp.",
    "See [the page](turn/behind.md).",
    "A counterexample, a turnaround.",
]


@pytest.mark.parametrize("text", WRONG)
def test_word_is_found(find, text):
    assert find(f"# Title\n\n{text}\n") == [(3, WRONG[text])]


@pytest.mark.parametrize("text", RIGHT)
def test_right_words_are_left_alone(find, text):
    assert find(text) == []


def test_phrase_over_two_lines(find):
    assert find("One two three the\nbegin of it.\n") == [(1, "the begin")]


def test_code_in_pages(find):
    page = """Text.

```python
turn = "behind the product"
```

    turn behind

1. An item.

   ~~~
   turn
   ~~~
| a turn | `turn` |
<!-- a turn -->
"""
    assert find(page) == [(14, "turn")]


def test_cpp(find):
    source = """//===- Turn.cpp - Loops by turns -----------===//
#include "product behind.h"
/// Runs a turn.
///     %turn = behind
int product = 0; // a product
void f() {
  emitError("the product is wrong ") << "met";
  emitError("two lines, the second "
            "behind the first");
  char c = '"'; int n = 1'000; // behind
  auto s = R"(turn " behind)";
}
"""
    assert find(source, "lib/Turn.cpp") == [
        (1, "turns"),
        (3, "turn"),
        (5, "product"),
        (7, "product"),
        (9, "behind"),
        (10, "behind"),
    ]


def test_tablegen(find):
    source = """
// A turn.
def Foo : Pass<"tile-products behind"> {
  let summary = "one product";
  let description = [{
    Text behind it, with `turn`:
    ```mlir
    %turn = product behind
    ```

        turn
  }];
  let extraClassDeclaration = [{
    /// The product.
    int product(turn behind);
  }];
}
"""
    assert find(source, "Foo.td") == [
        (2, "turn"),
        (3, "behind"),
        (4, "product"),
        (6, "behind"),
        (14, "product"),
    ]


def test_python(find):
    source = '''"""One turn.

>>> turn = behind
"""
import itertools  # a product

x = itertools.product(turn, "turn")
y = f"the product of {x} is " "behind"
z = """
%turn = "a product of behind"
"""
#: Documented behind.
w = 1
"""A string behind it."""
'''
    assert find(source, "a.py") == [
        (1, "turn"),
        (5, "product"),
        (8, "behind"),
        (8, "product"),
        (12, "behind"),
        (14, "behind"),
    ]


def test_lit_tests(find):
    source = """// RUN: tilews-opt %s --behind turn
// Wrong: one turn too many.
// CHECK: behind
// CHECK-SAME: the product
// expected-error @below {{the product is behind}}
%turn = product behind
"""
    assert find(source, "a.mlir") == [(2, "turn")]


HASHED = ["CMakeLists.txt", "a.cmake", "b.yml", "c.toml", "CODEOWNERS", ".clang-tidy"]


@pytest.mark.parametrize("name", [*HASHED, "lit.cfg.py.in"])
def test_files_with_hash_comments(find, name):
    assert find("set(x behind) # a turn\n# behind\n", name) == [
        (1, "turn"),
        (2, "behind"),
    ]


def test_sentences_of_pages_are_short(find):
    words = " ".join(["word"] * 40)
    assert find(f"{words}. A `span of many words` e.g. this.\n\n{words}\n") == []
    ((line, found),) = find(f"Short.\n\n{words}\nmore.\n")
    assert line == 3 and found.startswith("sentence of 41 words")


def test_each_cell_and_each_item_is_a_sentence(find):
    words = " ".join(["word"] * 25)
    assert find(f"* {words}\n* {words}\n\n| {words} | {words} |\n") == []


def test_sentences_of_comments_are_short(find):
    half = " ".join(["word"] * 21)
    assert find(f"// {half}\n//\n// {half}\n", "a.cpp") == []
    assert [line for line, _ in find(f"// {half}\n// {half}\n", "a.cpp")] == [1]
    assert [line for line, _ in find(f"# {half}\n# {half}\n", "a.cmake")] == [1]
    docstring = f'"""{half}\n{half}"""\n'
    assert [line for line, _ in find(docstring, "a.py")] == [1]
    assert [line for line, _ in find(docstring, "a.pyi")] == [1]
    item = f'"""Text.\n\n    x: {half}\n    :class:`Y` {half}\n"""\n'
    assert [line for line, _ in find(item, "a.py")] == [3]


def test_messages_tables_and_examples_have_no_sentences(find):
    words = " ".join(["word"] * 60)
    assert find(f'emitError("{words}");\n', "a.cpp") == []
    assert find(f'raise ValueError("{words}")\n', "a.py") == []
    row = f"// a    {' '.join(['word'] * 25)}\n"
    assert find(row * 2, "a.cpp") == []
    assert find(f'"""Text.\n\nExample:\n    {words}\n"""\n', "a.py") == []


def test_descriptions_have_short_sentences(find):
    words = " ".join(["word"] * 60)
    description = f'let summary = "x";\nlet description = [{{\n{words}\n}}];\n'
    assert [line for line, _ in find(description, "a.td")] == [3]


def test_generated_pages_are_left_alone(find):
    assert find("<!-- Generated from x; edit that. -->\n\nA turn.\n") == []


def test_layout_algebra_has_products(find):
    text = "// The product of A and B.\n"
    assert find(text, "lib/Layout/Divide.cpp") == [(1, "product")]


def test_layout_algebra_in_a_checkout_has_products(tmp_path):
    (tmp_path / ".git").mkdir()
    folder = tmp_path / "lib/Layout"
    folder.mkdir(parents=True)
    (folder / "Divide.cpp").write_text("// The product of A and B.\n")
    assert run("--only", "lib", cwd=tmp_path).returncode == 0


def test_subjects_of_new_commits_are_short(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(SCRIPT.parent)
    check_prose = importlib.import_module("check_prose")

    def git(*arguments) -> str:
        identity = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
        command = ["git", *identity, *arguments]
        done = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
        return done.stdout.decode().strip()

    git("init", "-q")
    for subject in ("x" * 101, "old " + "x" * 97, "y" * 101, "z" * 100):
        git("commit", "-q", "--allow-empty", "-m", subject)
    first = git("rev-parse", "HEAD~2")
    found = list(check_prose.long_subjects(tmp_path, first))
    assert len(found) == 1 and "subject of 101 characters: 'yyy" in found[0]
    # A shallow clone does not have the first commit.
    assert len(list(check_prose.long_subjects(tmp_path, "0" * 40))) == 3


def test_paths(tmp_path):
    result = run("--only", "nothing.md", cwd=tmp_path)
    assert result.returncode == 1 and "no such file or folder" in result.stderr
    (tmp_path / "a.md").write_text("A turn.\n")
    result = run("--count", "--only", str(tmp_path))
    assert result.returncode == 1 and "a.md" in result.stdout


def test_help_says_what_is_checked():
    result = run("--help")
    assert result.returncode == 0 and "--only" in result.stdout


def test_whole_tree_takes_seconds():
    start = time.process_time()
    run()
    assert time.process_time() - start < 20
