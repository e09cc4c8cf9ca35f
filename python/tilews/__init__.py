"""tilews: a compiler for tile kernels.

Importing the package is cheap. MLIR is loaded with the first import of
``tilews.ir`` or of a module that needs it.
"""

from ._version import __version__

__all__ = ["__version__"]
