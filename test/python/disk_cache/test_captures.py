"""The digest of what a kernel depends on: each of it counts, and nothing is guessed."""

import importlib
import subprocess
import sys

import pytest

from tilews.disk_cache.captures import digest

FILES = {
    "kernel.py": """
import dataclasses
import enum
import functools
import math

import numpy as np
import tilews.language as tl

import config
from functions import helper, outer, scaled
from shapes import Mode, Point, Sizes, Tiled

FACTOR = 2.0
TABLE = {"a": (1, 2), "b": [3.0, None]}
WEIGHTS = np.array([1.0, 2.0], np.float32)
STEP = np.int64(5)
half = functools.partial(scaled, by=2)
CALLS = {"f": lambda x: x + FACTOR}
SIZES = Sizes(4, 5)
POINT = Point(1.5)
TILED = Tiled(16)


def make(shift):
    def kernel(x, scale=3, *, extra=len("abc")):
        y = helper(x, config.BLOCK) + FACTOR * shift + scale + outer(2) + STEP
        y += half(TABLE["a"][0]) + WEIGHTS[0] + SIZES.area() + POINT.moved().x
        z = [config.sizes.WIDTH for _ in tl.static_range(2)]
        if Mode.FAST is Mode.FAST and math.gcd(4, 6) == 2:
            y = CALLS["f"](y) + np.float32(1.0)
        assert TILED.tile % 2 == 0
        return y + max(z[0], extra)

    return kernel


kernel = make(7)
""",
    "config.py": "import sizes\nBLOCK = 64\nUNUSED = 1\n",
    "sizes.py": "WIDTH = 8\n",
    "functions.py": """
import functools

LIMIT = 10


def helper(x, block):
    return x + block + inner(x)


def inner(x):
    return min(x, LIMIT)


@functools.lru_cache
def outer(x):
    return x * 3


def scaled(x, by):
    return x * by
""",
    "shapes.py": """
import dataclasses
import enum
import typing


class Mode(enum.Enum):
    FAST = 1
    SLOW = 2


class Sizes(typing.NamedTuple):
    m: int
    n: int

    def area(self):
        return self.m * self.n


@dataclasses.dataclass(frozen=True)
class Point:
    x: float
    y: float = 0.5

    def moved(self):
        return Point(self.x + self.y)


class Tiled:
    def __init__(self, extent):
        self.extent = extent

    @property
    def tile(self):
        return self.extent * 2
""",
}

PRINT = """
import sys
sys.path[:] = {path!r}
from kernel import kernel
from tilews.disk_cache.captures import digest
print(digest((kernel,)))
"""


def digest_of(folder, *change):
    """The digest in a new process, after a change of one file."""
    for name, text in FILES.items():
        if change and change[0] == name:
            assert change[1] in text
            text = text.replace(change[1], change[2], 1)
        (folder / name).write_text(text)
    script = PRINT.format(path=[str(folder), *sys.path])
    command = [sys.executable, "-B", "-c", script]
    return subprocess.run(
        command, capture_output=True, text=True, check=True
    ).stdout.strip()


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    folder = tmp_path_factory.mktemp("first")
    return folder, digest_of(folder)


def test_processes_agree(first):
    folder, found = first
    assert len(found) == 64
    assert digest_of(folder) == found


CHANGES = [
    ("kernel.py", "x, config.BLOCK", "x, config.BLOCK + 1"),
    ("kernel.py", "\nFACTOR", "\n\nFACTOR"),
    ("kernel.py", "FACTOR = 2.0", "FACTOR = 2"),
    ("kernel.py", '"a": (1, 2)', '"a": (1, True)'),
    ("kernel.py", "[3.0, None]", "[3.0, 0]"),
    ("kernel.py", "[1.0, 2.0]", "[1.0, 2.5]"),
    ("kernel.py", "np.float32)\n", "np.float64)\n"),
    ("kernel.py", "int64(5)", "int64(6)"),
    ("kernel.py", "by=2", "by=3"),
    ("kernel.py", "Sizes(4, 5)", "Sizes(5, 4)"),
    ("kernel.py", "Point(1.5)", "Point(1.25)"),
    ("kernel.py", "Tiled(16)", "Tiled(32)"),
    ("kernel.py", "make(7)", "make(8)"),
    ("kernel.py", "scale=3", "scale=4"),
    ("kernel.py", '"abc"', '"abcd"'),
    ("kernel.py", "% 2 == 0", "% 4 == 0"),
    ("kernel.py", "Mode.FAST is Mode.FAST", "Mode.FAST is Mode.SLOW"),
    ("config.py", "BLOCK = 64", "BLOCK = 32"),
    ("sizes.py", "WIDTH = 8", "WIDTH = 9"),
    ("functions.py", "LIMIT = 10", "LIMIT = 11"),
    ("functions.py", "return x * 3", "return x * 4"),
    ("shapes.py", "SLOW = 2", "SLOW = 3"),
    ("shapes.py", "self.m * self.n", "self.m + self.n"),
    ("shapes.py", "y: float = 0.5", "y: float = 0.25"),
    ("shapes.py", "self.x + self.y", "self.x - self.y"),
    ("shapes.py", "self.extent * 2", "self.extent * 4"),
]


@pytest.mark.parametrize("change", CHANGES, ids=" -> ".join)
def test_each_change_counts(first, tmp_path, change):
    # The folder is a part of the digest, because lines of the source are in the code.
    folder, found = first
    other = digest_of(folder, *change)
    assert len(other) == 64
    assert other != found


def test_what_is_not_asked_for_does_not_count(first):
    folder, found = first
    assert digest_of(folder, "config.py", "UNUSED = 1", "UNUSED = 2") == found


UNKNOWN = {
    "the time": "import time\ndef f(x):\n    return x + time.time()",
    "the environment": "import os\ndef f(x):\n    return x + len(os.environ)",
    "a file": "def f(x):\n    return x + len(open('/etc/hostname').read())",
    "an open file": "F = open('/etc/hostname')\ndef f(x):\n    return F",
    "random numbers": "import random\ndef f(x):\n    return x + random.random()",
    "an import": "def f(x):\n    import config\n    return x + config.BLOCK",
    "a module as a value": "import math\ndef f(x):\n    m = math\n    return m.pi",
    "a name that is made": "def f(x):\n    return getattr(x, 'real')",
    "a generator": "G = iter([1, 2])\ndef f(x):\n    return next(G)",
    "code as text": "def f(x):\n    return eval('x')",
    "a global that is assigned": "N = 1\ndef f(x):\n    global N\n    N += 1",
    "hash, which differs between processes": "def f(x):\n    return hash('x')",
    "an array of objects": (
        "import numpy as np\nA = np.array([object()])\ndef f(x):\n    return A[0]"
    ),
    "a cell without a value": (
        "def make():\n    def f(x):\n        return x + y\n    return f\n    y = 1\n"
        "f = make()"
    ),
}


@pytest.mark.parametrize("what", UNKNOWN)
def test_there_is_no_digest_of(tmp_path, monkeypatch, what):
    (tmp_path / "unknown_values.py").write_text(UNKNOWN[what] + "\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "unknown_values", raising=False)
    importlib.invalidate_caches()
    module = importlib.import_module("unknown_values")
    assert digest((module.f,)) is None


def test_values_that_hold_themselves_end():
    items = [1]
    items.append(items)
    other = [1]
    other.append([1, other])
    assert digest((items,)) is not None
    assert digest((items,)) != digest((other,))


def test_a_function_without_text_needs_a_given_one():
    text = "def f(x):\n    return x\n"
    scope = {}
    exec(text, scope)
    assert digest((scope["f"],)) is None
    assert digest((scope["f"],), text) is not None
    assert digest((scope["f"],), text + "\n") != digest((scope["f"],), text)


def test_functions_in_one_line_differ(tmp_path, monkeypatch):
    (tmp_path / "in_one_line.py").write_text(
        "f = lambda x: x + 1; g = lambda x: x + 2; h = lambda x: x * 1\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    module = importlib.import_module("in_one_line")
    found = {digest((function,)) for function in (module.f, module.g, module.h)}
    assert len(found - {None}) == 3


def test_a_function_that_calls_itself_has_a_digest(tmp_path, monkeypatch):
    (tmp_path / "recursive_function.py").write_text("def f(x):\n    return f(x - 1)\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    module = importlib.import_module("recursive_function")
    assert digest((module.f,)) is not None


LAZY = """
import tilews.language as tl
from tilews.disk_cache.captures import digest

def f(x):
    return tl.exp(x)

def g(x):
    return tl.exp(x)

first = digest((f,))
"""


@pytest.mark.parametrize(
    "change, is_same",
    [
        ("tl.exp", True),  # All functions are loaded with the first one.
        ("import tilews.language.math", True),
        ("tl.exp\ntl.exp = g", False),
        ("tl.exp = g", False),
        ("tl.exp = None", False),
        ("tl.__getattr__ = lambda name: g", False),
        ("import tilews.language.math as m\nm.exp = g", False),
        ("import tilews.language.math as m\ntl.exp\nm.exp = m.log", False),
    ],
)
def test_functions_of_the_language_count_before_they_are_loaded(
    change, is_same, tmp_path
):
    path = tmp_path / "captures.py"
    path.write_text(f"{LAZY}{change}\nprint(first is not None, digest((f,)) == first)")
    run = subprocess.run(
        [sys.executable, str(path)], capture_output=True, text=True, check=True
    )
    assert run.stdout == f"True {is_same}\n"
