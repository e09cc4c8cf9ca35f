"""A digest of a Python function and of all that its kernel may depend on.

The frontend reads the text of a kernel, and evaluates what stands in it: free names,
their attributes, and calls of Python functions. The digest covers all of this without
evaluating it:

* of a function, the text of its file, its place there, its defaults, and the values
  that its names have in its closure and among the globals, recursively;
* of a class, its bases and its members;
* of a module, the attributes that a function asks for, such as ``config.BLOCK``;
* of numbers, texts, containers, objects and arrays, their contents.

Two functions with one digest build the same kernel. There is no digest if there is
a value whose content cannot be known, such as an open file or a function that reads the
time: to build a kernel again is better than to take another one.
"""

from __future__ import annotations

import builtins
import dataclasses
import dis
import enum
import functools
import hashlib
import sys
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from ..frontend.source import source_lines

#: How many functions, classes and containers are followed.
_MOST = 4000
_PLAIN = (type(None), bool, int, float, complex, str, bytes, type(...))
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
_HEAP_TYPE = 1 << 9  # Py_TPFLAGS_HEAPTYPE, of classes that Python code defines


class _UnknownError(Exception):
    """A value whose content no digest covers."""


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
    except (_UnknownError, RecursionError):
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
        self._files: set[str] = set()

    def visit(self, value: Any) -> None:
        """Adds a value.

        Raises:
            _UnknownError: its content cannot be known.
        """
        kind = type(value)
        if kind in _PLAIN:
            return self._add(kind.__name__, repr(value))
        if id(value) in self._seen:
            return self._add("again", str(self._seen[id(value)][0]))
        self._seen[id(value)] = len(self._seen), value
        if len(self._seen) > _MOST:
            raise _UnknownError
        for kinds, add in _RULES:
            if isinstance(value, kinds):
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
        """A container: its class, its length and its items."""
        self.visit(type(value))
        items = list(value)
        if isinstance(value, (set, frozenset)):
            items.sort(key=lambda item: (type(item).__name__, repr(item)))
        elif isinstance(value, dict):
            items = [part for item in value.items() for part in item]
        self._add(str(len(items)))
        for item in items:
            self.visit(item)

    def add_array(self, value: Any) -> None:
        """An array or a number of numpy."""
        if value.dtype.hasobject:
            raise _UnknownError
        self._add("array", str(value.dtype), str(value.shape))
        self.hash.update(value.tobytes())

    def add_name(self, value: Any) -> None:
        """A value that its type and its name identify."""
        self._add(type(value).__name__, str(value), np.__version__)

    def add_enum(self, value: enum.Enum) -> None:
        """A member of an enumeration."""
        self.visit(type(value))
        self._add(value.name)
        self.visit(value.value)

    def _add_object(self, value: Any) -> None:
        """An instance of a class: its attributes, if Python code holds them all."""
        python = getattr(value, "python", None)  # Of kernels and of tilews.func.
        if _is_ours(type(value).__module__) and isinstance(python, types.FunctionType):
            return self.visit(python)
        self.visit(type(value))
        mro = type(value).__mro__[:-1]
        is_python = all(kind.__flags__ & _HEAP_TYPE for kind in mro)
        if not is_python or any(vars(kind).get("__slots__") for kind in mro):
            raise _UnknownError
        self.visit(dict(vars(value)))

    # ===--- Functions, classes and modules ---=== #

    def add_function(self, function: types.FunctionType) -> None:
        """A Python function: its text, and what its names stand for."""
        if _is_ours(function.__module__):
            return self._add_our_own(function)
        code = function.__code__
        self._add("function", function.__qualname__, str(code.co_firstlineno))
        # One line may hold several functions.
        for each in _codes(code):
            consts = [x for x in each.co_consts if not isinstance(x, types.CodeType)]
            self._add(each.co_code.hex(), repr(consts), repr(each.co_names))
        self._add_text(function)
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
                raise _UnknownError from None
        for names in sorted(_global_names(code)):
            self._add_global(names, function.__globals__)

    def _add_text(self, function: types.FunctionType) -> None:
        """The text of a function's file: one line may change what another means."""
        name = function.__code__.co_filename
        self._add(name)
        if name in self._files and not name.startswith("<"):
            return
        lines = source_lines(function)
        if not lines and self._text is None:
            raise _UnknownError
        self._files.add(name)
        self._add("".join(lines))

    def _add_global(self, names: tuple[str, ...], scope: dict[str, Any]) -> None:
        """The value of a global name, or of attributes of the module it stands for."""
        first, *attributes = names
        self._add(*names)
        value = scope.get(first, getattr(builtins, first, None))
        for name in attributes:
            if not isinstance(value, types.ModuleType) or _is_ours(value.__name__):
                break
            self._add(value.__name__)
            value = getattr(value, name, None)
        self.visit(value)

    def _add_our_own(self, value: Any) -> None:
        """A function or a class of tilews, the files of which the key covers."""
        found: Any = sys.modules.get(value.__module__)
        for part in value.__qualname__.split("."):
            found = getattr(found, part, None)
        if found is not value and getattr(found, "python", None) is not value:
            raise _UnknownError
        self._add("ours", value.__module__, value.__qualname__)

    def add_module(self, module: types.ModuleType) -> None:
        """A module of which nobody knows what will be asked."""
        if not _is_ours(module.__name__):
            raise _UnknownError
        self._add("module", module.__name__)

    def add_builtin(self, value: types.BuiltinFunctionType) -> None:
        """A function that is written in C, if it is a function of its arguments."""
        is_pure = value.__name__ in _PURE and value.__module__ in (
            "builtins",
            "_functools",
        )
        if not is_pure and value.__module__ not in _PURE_MODULES:
            raise _UnknownError
        self._add("builtin", value.__module__, value.__name__)

    def add_class(self, value: type) -> None:
        """A class: its name, its bases and its members."""
        if _is_ours(value.__module__):
            return self._add_our_own(value)
        self._add("class", value.__module__, value.__qualname__)
        library = value.__module__.partition(".")[0]
        if library in sys.stdlib_module_names:  # The key has Python's version.
            return
        if not value.__flags__ & _HEAP_TYPE:  # It is written in C.
            version = getattr(sys.modules.get(library), "__version__", None)
            return self.visit(version)
        for base in value.__bases__:
            self.visit(base)
        if issubclass(value, enum.Enum):
            self.visit({name: each.value for name, each in value.__members__.items()})
        for name, member in sorted(vars(value).items()):
            is_made = isinstance(member, _METHODS) or not issubclass(value, enum.Enum)
            if is_made and name not in _BOOKKEEPING and not _is_generated(member):
                self._add(name)
                self._add_member(member)

    def _add_member(self, member: Any) -> None:
        if isinstance(member, (staticmethod, classmethod)):
            self.visit(member.__func__)
        elif isinstance(member, property):
            for part in (member.fget, member.fset, member.fdel):
                self.visit(part)
        else:
            self.visit(member)

    def add_field(self, value: dataclasses.Field[Any]) -> None:
        """A field of a dataclass."""
        self._add("field", value.name, str(value.init))
        for default in (value.default, value.default_factory):
            if default is not dataclasses.MISSING:
                self.visit(default)

    def add_parts(self, value: Any) -> None:
        """An object that calls a function: what it is made of."""
        self._add(type(value).__name__)
        for name in ("func", "args", "keywords", "__func__", "__self__", "__wrapped__"):
            self.visit(getattr(value, name, None))


_Rule = tuple[type | tuple[type, ...], Callable[[_Digester, Any], None]]

_RULES: tuple[_Rule, ...] = (
    (types.FunctionType, _Digester.add_function),
    (types.BuiltinFunctionType, _Digester.add_builtin),
    (
        (types.MethodType, functools.partial, type(functools.lru_cache(len))),
        _Digester.add_parts,
    ),
    (type, _Digester.add_class),
    (types.ModuleType, _Digester.add_module),
    (enum.Enum, _Digester.add_enum),
    (dataclasses.Field, _Digester.add_field),
    ((tuple, list, dict, set, frozenset), _Digester.add_items),
    ((np.ndarray, np.generic), _Digester.add_array),
    (
        (np.dtype, np.ufunc, types.MemberDescriptorType, types.GetSetDescriptorType),
        _Digester.add_name,
    ),
)


def _is_ours(module: str | None) -> bool:
    """Whether a module is a part of tilews."""
    return (module or "").partition(".")[0] == "tilews"


def _is_generated(member: Any) -> bool:
    """Whether Python made a member of a class from its fields."""
    function = getattr(member, "__func__", member)
    if not isinstance(function, types.FunctionType):
        return type(member).__name__ == "_tuplegetter"
    if function.__module__ in ("collections", "enum", "dataclasses"):
        return True
    # Such as a __repr__ that the library wraps.
    made = vars(function).get("__wrapped__", function)
    return (
        isinstance(made, types.FunctionType) and made.__code__.co_filename == "<string>"
    )


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """The code of a function and of all functions within it."""
    yield code
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield from _codes(const)


@functools.lru_cache(maxsize=1024)
def _global_names(code: types.CodeType) -> frozenset[tuple[str, ...]]:
    """The globals that a function loads, each with the attributes it asks them for.

    For example ``{("config", "BLOCK"), ("helper",)}``.

    Raises:
        _UnknownError: it imports modules, or assigns globals.
    """
    found = set()
    for each in _codes(code):
        names: list[str] = []
        for instruction in dis.get_instructions(each):
            name = instruction.opname
            if name in ("IMPORT_NAME", "STORE_GLOBAL", "STORE_NAME"):
                raise _UnknownError
            if name in ("LOAD_ATTR", "LOAD_METHOD") and names:
                names.append(instruction.argval)
            elif name != "EXTENDED_ARG":
                found.add(tuple(names))
                names = []
            if name in ("LOAD_GLOBAL", "LOAD_NAME"):
                names = [instruction.argval]
    return frozenset(found - {()})
