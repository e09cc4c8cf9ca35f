"""The tile dialect: its operations, enumerations and attributes."""

from collections.abc import Sequence
from typing import Any

from .._mlir_libs._tilews import *
from ._tile_enum_gen import *
from ._tile_ops_gen import *
from ._tile_ops_gen import AssertOp as _AssertOp
from ._tile_ops_gen import _Dialect, _ods_cext


@_ods_cext.register_operation(_Dialect, replace=True)
class AssertOp(_AssertOp):
    __doc__ = _AssertOp.__doc__

    def __init__(
        self, condition: Any, message: Any, block: Sequence[Any] = (), **place: Any
    ) -> None:
        super().__init__(condition, message, block, **place)


def assert_(
    condition: Any, message: Any, block: Sequence[Any] = (), **place: Any
) -> AssertOp:
    return AssertOp(condition, message, block, **place)
