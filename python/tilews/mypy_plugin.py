"""A plugin of mypy, which reads the annotations of kernels.

In the configuration of mypy::

    plugins = ["tilews.mypy_plugin"]

An annotation such as ``tl.Tensor["M, K:16", tl.f16]`` or ``tl.f32`` is an object, no
type. The plugin tells mypy that a tensor is a buffer in the body of its kernel.
Scalars, whose default may be a number, and a ``tl.constexpr`` are of any type.
"""

from __future__ import annotations

import os
import pathlib
from collections.abc import Callable, Sequence
from typing import Any

from mypy.nodes import ClassDef, Decorator, FuncDef, IfStmt, MypyFile
from mypy.plugin import AnalyzeTypeContext, Plugin, ReportConfigContext
from mypy.types import (
    AnyType,
    CallableType,
    Type,
    TypeOfAny,
    UnboundType,
    UnionType,
)

_LANGUAGE = "tilews.language"


def _buffer(context: AnalyzeTypeContext) -> Type:
    # Without extents, it is the class itself.
    name = "values.Buffer" if context.type.args else "types.Tensor"
    return context.api.named_type(f"{_LANGUAGE}.{name}", [])


def _any(context: AnalyzeTypeContext) -> Type:
    return AnyType(TypeOfAny.explicit)


_ANNOTATIONS: dict[str, Callable[[AnalyzeTypeContext], Type]] = {
    **{"Tensor": _buffer, "constexpr": _any},
    **dict.fromkeys(("f64", "f32", "f16", "bf16"), _any),
    **dict.fromkeys(("e4m3", "e5m2", "e4m3fnuz", "e5m2fnuz"), _any),
    **dict.fromkeys(("e2m1", "e2m3", "e3m2", "e8m0"), _any),
    **dict.fromkeys(("i1", "i4", "i8", "i16", "i32", "i64", "index"), _any),
    **dict.fromkeys(("u4", "u8", "u16", "u32", "u64"), _any),
}


def _drop_texts(annotation: Type | None) -> None:
    """Drops the texts in ``tl.Tensor["M, K", "T"]``, where mypy looks for types."""
    if isinstance(annotation, CallableType):
        inner: Sequence[Type] = annotation.arg_types
    elif isinstance(annotation, UnionType):
        inner = annotation.items
    elif isinstance(annotation, UnboundType):
        if annotation.name.rpartition(".")[2] == "Tensor":
            annotation.args = (AnyType(TypeOfAny.explicit),) if annotation.args else ()
        inner = annotation.args
    else:
        return
    for each in inner:
        _drop_texts(each)


def _visit_functions(nodes: Sequence[object]) -> None:
    """Drops the texts in annotations of functions, and of functions in them."""
    for node in nodes:
        if isinstance(node, Decorator):
            node = node.func
        if isinstance(node, FuncDef):
            _drop_texts(node.type)
            _drop_texts(node.unanalyzed_type)
            _visit_functions(node.body.body)
        elif isinstance(node, ClassDef):
            _visit_functions(node.defs.body)
        elif isinstance(node, IfStmt):
            _visit_functions([s for block in node.body for s in block.body])


class _Plugin(Plugin):
    def get_additional_deps(self, file: MypyFile) -> list[tuple[int, str, int]]:
        # The only call of a plugin before mypy resolves names. It is left out for files
        # with a valid cache, even if they are parsed again for what they import.
        _visit_functions(file.defs)
        return []

    def report_config_data(self, ctx: ReportConfigContext) -> Any:
        # No cache is valid whose data differ.
        path = pathlib.Path(ctx.path)
        has_kernels = path.is_file() and b"Tensor[" in path.read_bytes()
        return os.urandom(8).hex() if has_kernels else None

    def get_type_analyze_hook(
        self, fullname: str
    ) -> Callable[[AnalyzeTypeContext], Type] | None:
        module, _, name = fullname.rpartition(".")
        modules = (f"{_LANGUAGE}.types", f"{_LANGUAGE}.annotations")
        return _ANNOTATIONS.get(name) if module in modules else None


def plugin(version: str) -> type[Plugin]:
    """What mypy calls to find the plugin."""
    return _Plugin
