"""The tile dialect: its operations, enumerations and attributes."""

from .._mlir_libs._tilews import *
from ._tile_enum_gen import *
from ._tile_ops_gen import *
