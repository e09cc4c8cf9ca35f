"""Where functions and classes are from: tilews, Python's library, or a user."""

from __future__ import annotations

import collections
import dataclasses
import reprlib
import sys
import types
from typing import Any

HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE, of classes that Python code defines
#: Modules of the standard library whose classes depend on their arguments alone. The
#: key has Python's version.
_PURE_CLASSES = frozenset(
    "abc builtins collections contextlib dataclasses enum fractions functools inspect "
    "itertools numbers operator types typing".split()
)
#: What Python makes of the fields of a class.
_GENERATED = frozenset(
    "__init__ __new__ __repr__ __eq__ __lt__ __le__ __gt__ __ge__ __hash__ __replace__ "
    "__setattr__ __delattr__ __getnewargs__ _make _replace _asdict".split()
)
_GENERATED_IN = {
    "<string>",
    collections.namedtuple.__code__.co_filename,
    dataclasses.dataclass.__code__.co_filename,
    reprlib.recursive_repr.__code__.co_filename,
}


def is_ours(module: str | None) -> bool:
    """Whether the digest of a module is its name, which is a part of tilews.

    Kernels of the package are as those of users: their modules have values to change.
    """
    first, _, rest = (module or "").partition(".")
    return first == "tilews" and rest.partition(".")[0] != "kernels"


def find(value: Any) -> Any:
    """What the name of a function or of a class stands for now."""
    found: Any = sys.modules.get(value.__module__)
    for part in value.__qualname__.split("."):
        found = getattr(found, part, None)
    return found


def is_own_name(module: types.ModuleType, name: str) -> bool:
    """Whether a name of :mod:`tilews.language` stands for what tilews defines.

    Functions of the language are loaded with the first one that is asked for. If none
    is loaded, the name still stands for what it will load. If some are, a program may
    have changed their modules, so that the name is looked up.
    """
    members = vars(module)
    is_real = module is sys.modules.get("tilews.language")
    if not is_real or name not in members["__all__"]:
        return False
    if name not in members and "tilews.language.values" not in sys.modules:
        return bool(is_ours(members["__getattr__"].__module__))
    found = getattr(module, name)
    if not isinstance(found, (type, types.FunctionType)):
        return False
    return is_ours(found.__module__) and find(found) is found


def is_of_library(value: Any) -> bool:
    """Whether a function or a class is one of the modules that depend on nothing."""
    module = value.__module__ or ""
    if module.partition(".")[0] not in _PURE_CLASSES:
        return False
    is_in_c = isinstance(value, type) and not value.__flags__ & HEAP_TYPE
    return is_in_c or find(value) is value


def is_generated(owner: type, name: str, member: Any) -> bool:
    """Whether Python made a member of a class from its fields."""
    has_fields = not {"__dataclass_fields__", "_fields"}.isdisjoint(vars(owner))
    if name not in _GENERATED or not has_fields:
        return False
    function = getattr(member, "__func__", member)
    if type(function) is not types.FunctionType:
        return False
    code = function.__code__
    # A method that is written in `python -c` has a name of the class.
    is_written = getattr(code, "co_qualname", "").endswith(f"{owner.__name__}.{name}")
    return code.co_filename in _GENERATED_IN and not is_written
