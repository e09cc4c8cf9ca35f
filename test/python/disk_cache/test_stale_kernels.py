"""What differs between two kernels is in their digests, or there is no digest."""

import itertools
import linecache
import types

import pytest

from tilews.disk_cache.captures import digest

_NUMBERS = itertools.count()


def module_of(text):
    """A module, whose file Python knows."""
    name = f"stale_{next(_NUMBERS)}"
    module = types.ModuleType(name)
    # All have one name: what differs is in them.
    file = f"/stale_{abs(hash(text))}.py"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    module.__dict__["__name__"] = "stale"
    exec(compile(text, file, "exec"), vars(module))
    return module


#: A module, and what changes in it at run time; the function is `f`.
CHANGED = {
    "name": ("def f(x):\n    return x", "f.__name__ = 'g'"),
    "sign of a NaN": ("N = float('nan')\ndef f(x):\n    return x + N", "N = -N"),
    "sign of a zero": ("N = 0.0\ndef f(x):\n    return x + N", "N = -N"),
    "large integer": ("N = 10**6000\ndef f(x):\n    return x + N", "N += 1"),
    "type of a local name": (
        "import tilews.language as tl\nT = tl.f32\ndef f(x):\n    y: T = 0\n"
        "    return x + y",
        "T = tl.f16",
    ),
    "function of the language": (
        "import types\nimport tilews.language as original\noriginal.exp\n"
        "tl = types.ModuleType('tilews.language')\nvars(tl).update(vars(original))\n"
        "def f(x):\n    return tl.exp(x)",
        "tl.exp = tl.log",
    ),
    "attribute of an enumeration's member": (
        "import enum\nclass E(enum.Enum):\n    A = 1\nE.A.tile = 64\n"
        "def f(x):\n    return x + E.A.tile",
        "E.A.tile = 32",
    ),
    "attribute of an enumeration": (
        "import enum\nclass E(enum.Enum):\n    A = 1\nE.tile = 64\n"
        "def f(x):\n    return x + E.tile",
        "E.tile = 32",
    ),
    "attribute of a list": (
        "class L(list):\n    pass\nS = L([1])\nS.n = 1\ndef f(x):\n    return x + S.n",
        "S.n = 2",
    ),
    "attribute of a metaclass": (
        "class M(type):\n    n = 1\nclass A(metaclass=M):\n    pass\n"
        "def f(x):\n    return x + A.n",
        "M.n = 2",
    ),
    "order of a set of numbers": (
        "S = {8, 0, 16}\ndef f(x):\n    return x + [*S][0]",
        "S = {0, 8, 16}",
    ),
    "number of numpy, and array": (
        "import numpy as np\nN = np.float32(1)\ndef f(x):\n    return x + N",
        "N = np.array(1, np.float32)",
    ),
    "range": ("R = range(4)\ndef f(x):\n    return x + len(R)", "R = range(5)"),
    "missing name": ("def f(x):\n    return x + N", "N = None"),
    "attribute of a partial": (
        "import functools\ndef g(x):\n    return x\np = functools.partial(g)\np.n = 1\n"
        "def f(x):\n    return x + p.n",
        "p.n = 2",
    ),
    "comparison of a dataclass": (
        "import dataclasses\n@dataclasses.dataclass\nclass P:\n    x: int = 1\n"
        "    y: int = 2\ndef f(x):\n    return x + (P(y=1) == P(y=2))",
        "P = dataclasses.make_dataclass('P', [('x', int, 1), ('y', int, "
        "dataclasses.field(default=2, compare=False))])\nP.__module__ = 'stale'",
    ),
}


@pytest.mark.parametrize("what", CHANGED)
def test_a_change_at_run_time_counts(what):
    text, change = CHANGED[what]
    first, second = module_of(text), module_of(text)
    assert digest((first.f,)) == digest((second.f,)) is not None
    exec(change, vars(second))
    assert digest((second.f,)) not in (digest((first.f,)), None)


UNKNOWN = {
    "date": "import datetime\ndef f(x):\n    return x + datetime.datetime.now().day",
    "path": "import pathlib\ndef f(x):\n    return x + pathlib.Path('/').exists()",
    "state of a generator": (
        "import random\nR = random.Random(1)\ndef f(x):\n    return R.random()"
    ),
    "generator of numpy": (
        "import numpy as np\nG = np.random.Generator\ndef f(x):\n    return G(x)"
    ),
    "masked array": (
        "import numpy as np\nA = np.ma.array([1], mask=[1])\ndef f(x):\n    return A"
    ),
    "ufunc of a function": (
        "import numpy as np\ng = np.frompyfunc(lambda x: x, 1, 1)\n"
        "def f(x):\n    return g(x)"
    ),
    "default of a dictionary": (
        "import collections\nD = collections.defaultdict(lambda: 3)\n"
        "def f(x):\n    return x + D[0]"
    ),
    "pattern": "import re\nP = re.compile('a')\ndef f(x):\n    return P",
    "slots": (
        "class A:\n    pass\nclass B(A):\n    __slots__ = 'n'\nb = B()\nb.n = 1\n"
        "def f(x):\n    return x + b.n"
    ),
    "module that makes names": (
        "import types\nm = types.ModuleType('m')\nm.__getattr__ = lambda name: 1 / 0\n"
        "def f(x):\n    return x + m.N"
    ),
    "results that are kept": (
        "import functools\nN = 1\n@functools.cache\ndef g(x):\n    return x + N\ng(1)\n"
        "def f(x):\n    return x + g(1)"
    ),
    "large array": (
        "import numpy as np\nA = np.zeros(1 << 25, np.int8)\ndef f(x):\n    return A"
    ),
    "many values": "A = [0] * 100_000\ndef f(x):\n    return A",
    "deep list": (
        "A = []\nfor _ in range(100_000):\n    A = [A]\ndef f(x):\n    return A"
    ),
}


@pytest.mark.parametrize("what", UNKNOWN)
def test_what_cannot_be_known_has_no_digest(what):
    assert digest((module_of(UNKNOWN[what]).f,)) is None


def test_no_code_of_a_user_is_executed():
    text = """
import enum
ran = []
class Odd:
    def __getattribute__(self, name):
        ran.append(name)
        raise SystemError
    def __repr__(self):
        ran.append("repr")
        raise SystemError
    def __eq__(self, other):
        ran.append("eq")
        raise SystemError
    def __hash__(self):
        return 1
    __class__ = property(lambda self: ran.append("class"))
class OddList(list):
    def __iter__(self):
        ran.append("iter")
        raise SystemError
    __len__ = __iter__
VALUES = [Odd(), {Odd()}, OddList([1])]
class Flags(enum.Flag):
    A = 1
ZERO = Flags(0)
def f(x):
    return x, VALUES, ZERO
"""
    module = module_of(text)
    assert digest((module.f,)) is not None
    assert module.ran == []


def test_methods_of_exec_count_although_python_names_generated_ones_alike():
    text = """
import dataclasses
N = 1
@dataclasses.dataclass
class P:
    x: int
    def __eq__(self, other):
        return N
    def area(self):
        return N
def f(x):
    return x + P(1).area()
"""
    found = set()
    for number in (1, 2):
        scope = {"__name__": "stale"}
        exec(text, scope)
        scope["N"] = number
        found.add(digest((scope["f"],), text))
    assert len(found - {None}) == 2
