"""How type checkers without tilews.mypy_plugin see annotations of kernels.

Example, for pyright: in the body of ``def k(A: tl.Tensor["M, K", tl.f16], N:
tl.constexpr = 4)`` A is a buffer, and N a value of any type.
"""

from typing import Any, TypeAlias

from .values import Buffer

constexpr: TypeAlias = Any

class Tensor(Buffer):
    def __class_getitem__(cls, item: Any) -> type[Tensor]: ...
