"""tilews: a compiler for tile kernels.

Importing the package is cheap, and so is the definition of a kernel. MLIR and LLVM are
loaded when the first one is built, or when a module that needs them is imported.
"""

from typing import TYPE_CHECKING, Any

from ._support.subinterpreters import refuse_subinterpreters
from ._version import __version__
from .errors import CompileError, KernelError

if TYPE_CHECKING:
    from ._mlir_libs import _tilews as _tilews
    from .bundles.array_spec import ArraySpec
    from .decorator import func, kernel
    from .language.memory.packed import pack_elements, unpack_elements

__all__ = [
    "ArraySpec",
    "CompileError",
    "KernelError",
    "__version__",
    "func",
    "kernel",
    "pack_elements",
    "unpack_elements",
]


refuse_subinterpreters()


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__} - {"Any", "TYPE_CHECKING"})


#: Modules that are loaded, and others with them, when one of their names is used.
_LAZY = {
    "_tilews": "tilews._mlir_libs._tilews",
    "ir": "tilews.ir",
    "layout": "tilews.layout",
    "torch": "tilews.torch",
}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        from ._support.lazy import LazyModule

        return globals().setdefault(name, LazyModule(_LAZY[name]))
    if name == "ArraySpec":
        from .bundles.array_spec import ArraySpec

        return ArraySpec
    if name in ("pack_elements", "unpack_elements"):
        from .language.memory import packed

        return getattr(packed, name)
    if name not in ("func", "kernel"):
        raise AttributeError(f"module 'tilews' has no attribute '{name}'")
    from . import decorator

    return getattr(decorator, name)
