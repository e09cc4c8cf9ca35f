"""tilews: a compiler for tile kernels.

Importing the package is cheap. MLIR is loaded with the first use of
``tilews.kernel``, or the first import of a module that needs it.
"""

from typing import TYPE_CHECKING, Any

from ._version import __version__
from .errors import CompileError, KernelError

if TYPE_CHECKING:
    from .decorator import func, kernel
    from .language.memory.packed import pack_elements, unpack_elements

__all__ = [
    "CompileError",
    "KernelError",
    "__version__",
    "func",
    "kernel",
    "pack_elements",
    "unpack_elements",
]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__} - {"Any", "TYPE_CHECKING"})


def __getattr__(name: str) -> Any:
    if name in ("pack_elements", "unpack_elements"):
        from .language.memory import packed

        return getattr(packed, name)
    if name not in ("func", "kernel"):
        raise AttributeError(f"module 'tilews' has no attribute '{name}'")
    from . import decorator

    return getattr(decorator, name)
