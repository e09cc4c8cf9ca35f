"""A digest of a Python function and of all that its kernel may depend on.

The frontend reads the text of a kernel, and evaluates what stands in it: free names,
their attributes, and calls of Python functions. The digest covers all of this without
evaluating it:

* of a function, the text of its file, its place there, its defaults, and the values
  that its names have in its closure and among the globals, recursively;
* of a class, its bases and its members;
* of a module, the attributes that a function asks for, such as ``config.BLOCK``;
* of numbers, texts, containers, objects and arrays, their contents.

Two functions with one digest build the same kernel, as far as that does not differ from
process to process, as the order of a set of texts does. There is no digest if there is
a value whose content cannot be known, such as an open file or a function that reads the
time: to build a kernel again is better than to take another one. Nothing that a user
wrote is executed. Of tilews itself, the digest has names: the key has its files.
"""

from __future__ import annotations

import builtins
import collections
import dataclasses
import enum
import functools
import hashlib
import struct
import sys
import types
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ..frontend.source import source_lines
from .code_names import UnknownError, all_codes, global_names, names_of_types
from .origins import (
    HEAP_TYPE,
    find,
    is_generated,
    is_of_library,
    is_ours,
    is_own_name,
)

#: How many values are followed, and how many bytes an array may have.
_MOST = 50_000
_MOST_BYTES = 1 << 24
_PLAIN = (type(None), bool, str, bytes, type(...))
_CONTAINERS = (tuple, list, dict, set, frozenset)
#: Builtin functions whose results depend on their arguments alone, and those for which
#: the language has its own.
_PURE = frozenset(
    "abs all any bin chr divmod hex isinstance issubclass len max min oct ord pow repr "
    "round sorted sum print breakpoint reduce".split()
)
_PURE_MODULES = frozenset(("math", "_operator"))
#: What a class has besides its members.
_BOOKKEEPING = frozenset(
    "__module__ __dict__ __weakref__ __doc__ __annotations__ __annotate__ "
    "__annotations_cache__ __annotate_func__ __qualname__ __firstlineno__ "
    "__static_attributes__ __dataclass_params__ __orig_bases__ __match_args__ "
    "__parameters__ __slots__ __type_params__".split()
)
_METHODS = (types.FunctionType, staticmethod, classmethod, property)
_TUPLE_GETTER = type(vars(collections.namedtuple("_Pair", "x y"))["x"])
_CACHED = type(functools.lru_cache(len))
_POINTER = struct.calcsize("P")
_MISSING = object()


def digest(values: Iterable[Any], text: str | None = None) -> str | None:
    """The digest of functions and other values; None if one of them has none.

    Args:
        values: what a kernel depends on.
        text: the text that holds the functions, if Python does not keep it.
    """
    if sys.flags.optimize:  # The code has no assertions, but the frontend sees them.
        return None
    digester = _Digester(text)
    try:
        for value in values:
            digester.visit(value)
    except Exception:  # It is unknown, too deep, or an object that raises anything.
        return None
    return digester.hash.hexdigest()


class _Digester:
    """Adds values to one hash.

    Args:
        text: what holds the functions that have no file.
    """

    def __init__(self, text: str | None) -> None:
        self.hash = hashlib.sha256()
        self._text = text
        self._add(text or "")
        # By identity; it keeps the values, so that no new one gets the identity of one.
        self._seen: dict[int, tuple[int, Any]] = {}
        self._files: dict[str, tuple[str, ...]] = {}
        self._count = 0

    def visit(self, value: Any) -> None:
        """Adds a value.

        Raises:
            UnknownError: its content cannot be known.
        """
        self._count += 1
        if self._count > _MOST:
            raise UnknownError
        kind = type(value)  # An object may lie about its class.
        if kind in _PLAIN:
            return self._add(kind.__name__, repr(value))
        if kind is int:
            return self._add("int", hex(value))
        if kind in (float, complex):  # Equal texts may be different NaNs.
            parts = complex(value)
            return self._add(
                kind.__name__, struct.pack("<dd", parts.real, parts.imag).hex()
            )
        if id(value) in self._seen:
            return self._add("again", str(self._seen[id(value)][0]))
        self._seen[id(value)] = len(self._seen), value
        for kinds, add in _RULES:
            if issubclass(kind, kinds):
                return add(self, value)
        self._add_object(value)

    def _add(self, *texts: str) -> None:
        """Adds texts; their lengths keep one from being taken for a part of another."""
        for text in texts:
            data = text.encode("utf-8", "surrogatepass")
            self.hash.update(b"%d:" % len(data))
            self.hash.update(data)

    # ===--- Data ---=== #

    def add_items(self, value: Any) -> None:
        """A container: its class, its items and its attributes."""
        (base,) = (kind for kind in _CONTAINERS if issubclass(type(value), kind))
        if type(value) is not base:
            self.visit(type(value))
            self._add_attributes(value, base)
        items = list(base.__iter__(value))
        if base is dict:
            items = [part for key in items for part in (key, dict.get(value, key))]
        elif base in (set, frozenset) and not all(
            type(x) in (int, float) for x in items
        ):
            # The order of texts differs between processes, that of numbers counts.
            items.sort(key=_text)
        self._add(base.__name__, str(len(items)))
        for item in items:
            self.visit(item)

    def add_enum(self, value: enum.Enum) -> None:
        """A member of an enumeration."""
        self.visit(type(value))
        self.visit(vars(value))

    def add_range(self, value: Any) -> None:
        """A range or a slice."""
        self._add(type(value).__name__)
        for part in (value.start, value.stop, value.step):
            self.visit(part)

    def add_array(self, value: Any) -> None:
        """An array or a number of numpy."""
        if value.nbytes > _MOST_BYTES:
            raise UnknownError
        self.visit(type(value))
        if type(value) is not np.ndarray and isinstance(value, np.ndarray):
            raise UnknownError  # It may have a mask, or other attributes.
        self.add_dtype(value.dtype)
        self._add(str(value.shape), str(value.strides))
        self.hash.update(value.tobytes())

    def add_dtype(self, value: np.dtype[Any]) -> None:
        """An element type of numpy."""
        if value.hasobject or value.names or value.subdtype or value.metadata:
            raise UnknownError
        self.visit(value.type)
        self._add(str(value))

    def add_ufunc(self, value: np.ufunc) -> None:
        """A function of numpy for arrays; others are made of Python functions."""
        if getattr(np, value.__name__, None) is not value:
            raise UnknownError
        self._add("ufunc", value.__name__, np.__version__)

    def add_slot(self, value: Any) -> None:
        """An attribute of a class, which its place or its name tells."""
        self._add(type(value).__name__, repr(value))

    def _add_object(self, value: Any) -> None:
        """An instance of a class: its attributes, if Python code holds them all."""
        if is_ours(type(value).__module__):
            python = getattr(value, "python", None)  # Of kernels and of tilews.func.
            if type(python) is types.FunctionType:
                return self.visit(python)
        self.visit(type(value))
        if not self._add_attributes(value, object):
            raise UnknownError

    def _add_attributes(self, value: Any, base: type) -> bool:
        """The attributes of an instance of a Python class; returns whether it has any.

        Raises:
            UnknownError: the instance holds more than a `base` and attributes.
        """
        kind = type(value)
        room = (kind.__dictoffset__ > 0 or kind.__itemsize__ > 0) + (
            kind.__weakrefoffset__ > 0 and not base.__weakrefoffset__
        )
        if kind.__basicsize__ > base.__basicsize__ + room * _POINTER:
            raise UnknownError  # Slots, or what a class that is written in C has.
        if not kind.__dictoffset__:
            return False
        self.visit(object.__getattribute__(value, "__dict__"))
        return True

    # ===--- Functions, classes and modules ---=== #

    def add_function(self, function: types.FunctionType) -> None:
        """A Python function: its text, and what its names stand for."""
        if is_ours(function.__module__):
            return self._add_our_own(function)
        if is_of_library(function):
            return self._add("library", function.__module__, function.__qualname__)
        code = function.__code__
        self._add("function", function.__name__, function.__qualname__)
        self._add(str(code.co_firstlineno))
        # One line may hold several functions.
        for each in all_codes(code):
            consts = [x for x in each.co_consts if not isinstance(x, types.CodeType)]
            self._add(each.co_code.hex(), *map(_text, consts), repr(each.co_names))
        lines = self._add_text(function)
        for part in (function.__defaults__, function.__kwdefaults__):
            self.visit(part)
        self.visit({**vars(function)})
        for name, cell in zip(
            code.co_freevars, function.__closure__ or (), strict=True
        ):
            self._add(name)
            try:
                self.visit(cell.cell_contents)
            except ValueError:  # It is assigned later than the function is made.
                raise UnknownError from None
        found = global_names(code) | names_of_types(function, lines, self._text)
        for names in sorted(found):
            self._add_global(names, function.__globals__)

    def _add_text(self, function: types.FunctionType) -> tuple[str, ...]:
        """The text of a function's file: one line may change what another means."""
        name = function.__code__.co_filename
        self._add(name)
        lines = self._files.get(name, ())
        if lines and not name.startswith("<"):
            return lines
        lines = source_lines(function)
        if not lines and self._text is None:
            raise UnknownError
        self._files[name] = lines
        self._add("".join(lines))
        return lines

    def _add_global(self, names: tuple[str, ...], scope: dict[str, Any]) -> None:
        """The value of a global name, or of attributes of the module it stands for."""
        first, *attributes = names
        self._add(*names)
        value = scope.get(first, getattr(builtins, first, _MISSING))
        for name in attributes:
            if type(value) is not types.ModuleType:
                break
            if is_own_name(value, name):
                return self._add("ours", value.__name__, name)
            members = vars(value)
            if name not in members and "__getattr__" in members:
                break  # It is made when it is asked for.
            self._add(value.__name__)
            value = members.get(name, _MISSING)
        if value is _MISSING:
            return self._add("missing")
        self.visit(value)

    def _add_our_own(self, value: Any) -> None:
        """A function or a class of tilews, the files of which the key covers."""
        found = find(value)
        if found is not value and getattr(found, "python", None) is not value:
            raise UnknownError
        self._add("ours", value.__module__, value.__qualname__)

    def add_module(self, module: types.ModuleType) -> None:
        """A module of which nobody knows what will be asked."""
        name = module.__name__
        if not is_ours(name) or sys.modules.get(name) is not module:
            raise UnknownError
        self._add("module", module.__name__)

    def add_builtin(self, value: types.BuiltinFunctionType) -> None:
        """A function that is written in C, if it is a function of its arguments."""
        is_pure = value.__name__ in _PURE and value.__module__ in (
            "builtins",
            "_functools",
        )
        if not is_pure and value.__module__ not in _PURE_MODULES:
            raise UnknownError
        self._add("builtin", value.__module__, value.__name__)

    def add_class(self, value: Any) -> None:
        """A class: its name, its bases and its members."""
        if is_ours(value.__module__):
            return self._add_our_own(value)
        self._add("class", value.__module__, value.__qualname__)
        library = value.__module__.partition(".")[0]
        if is_of_library(value):
            return
        if library in ("numpy", "ml_dtypes") and find(value) is value:
            if value not in (np.ndarray, np.dtype) and not issubclass(
                value, np.generic
            ):
                raise UnknownError
            return self.visit(sys.modules[library].__version__)
        if not value.__flags__ & HEAP_TYPE:  # It is written in C.
            raise UnknownError
        if library in sys.stdlib_module_names:  # Such as pathlib.Path.
            raise UnknownError
        if type(value) is not type:
            self.visit(type(value))
        for base in value.__bases__:
            self.visit(base)
        is_enum = issubclass(value, enum.Enum)
        if is_enum:
            for each in value.__members__.values():
                self.visit(each)
        self._add(repr(vars(value).get("__dataclass_params__")))
        for name, member in sorted(vars(value).items()):
            if name in _BOOKKEEPING or is_generated(value, name, member):
                continue
            # An enumeration has tables of its members.
            is_table = name.startswith("_") and not issubclass(type(member), _METHODS)
            if not is_enum or not (is_table or name in value.__members__):
                self._add(name)
                self._add_member(member)

    def _add_member(self, member: Any) -> None:
        if issubclass(type(member), (staticmethod, classmethod)):
            self.visit(member.__func__)
        elif issubclass(type(member), property):
            for part in (member.fget, member.fset, member.fdel):
                self.visit(part)
        else:
            self.visit(member)

    def add_field(self, value: dataclasses.Field[Any]) -> None:
        """A field of a dataclass."""
        flags = (value.init, value.repr, value.hash, value.compare, value.kw_only)
        self._add("field", value.name, str(flags))
        for default in (value.default, value.default_factory):
            if default is not dataclasses.MISSING:
                self.visit(default)

    def add_partial(self, value: functools.partial[Any]) -> None:
        """A function with some of its arguments."""
        self._add("partial")
        for part in (type(value), value.func, value.args, value.keywords, vars(value)):
            self.visit(part)

    def add_method(self, value: types.MethodType) -> None:
        """A method of an object."""
        self._add("method")
        self.visit(value.__func__)
        self.visit(value.__self__)

    def add_cached(self, value: Any) -> None:
        """A function whose results are kept."""
        if value.cache_info().currsize:  # Of older values of globals, perhaps.
            raise UnknownError
        self._add("cached")
        self.visit(value.__wrapped__)


_Rule = tuple[type | tuple[type, ...], Callable[[_Digester, Any], None]]

_RULES: tuple[_Rule, ...] = (
    (types.FunctionType, _Digester.add_function),
    (types.BuiltinFunctionType, _Digester.add_builtin),
    (types.MethodType, _Digester.add_method),
    (functools.partial, _Digester.add_partial),
    (_CACHED, _Digester.add_cached),
    (type, _Digester.add_class),
    (types.ModuleType, _Digester.add_module),
    (enum.Enum, _Digester.add_enum),
    (dataclasses.Field, _Digester.add_field),
    (_CONTAINERS, _Digester.add_items),
    ((range, slice), _Digester.add_range),
    ((np.ndarray, np.generic), _Digester.add_array),
    (np.dtype, _Digester.add_dtype),
    (np.ufunc, _Digester.add_ufunc),
    (
        (types.MemberDescriptorType, types.GetSetDescriptorType, _TUPLE_GETTER),
        _Digester.add_slot,
    ),
)


def _text(item: Any) -> str:
    """The text of a constant, the same in each process; of others, their class."""
    kind = type(item)
    if kind is frozenset:
        return f"{{{', '.join(sorted(map(_text, item)))}}}"
    if kind is tuple:
        return f"({', '.join(map(_text, item))})"
    if kind is int:
        return hex(item)
    if issubclass(kind, enum.Enum):
        return str(vars(item).get("_name_"))
    return repr(item) if kind in (*_PLAIN, float, complex) else kind.__name__
