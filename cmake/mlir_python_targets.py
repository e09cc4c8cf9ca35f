"""Write a CMake file with the MLIR Python binding sources as targets.

Debian's MLIR has the CMake functions and headers to build the bindings but not
their sources; the PyPI package xtc-mlir-dev of the same release has them, along
with a complete MLIR that we do not want. This copies from its export file the
targets named MLIRPython*, which only list source files.

Usage: mlir_python_targets.py OUTPUT
"""

import importlib.metadata
import pathlib
import sys


def main() -> None:
    package = importlib.metadata.distribution("xtc-mlir-dev")
    prefix = pathlib.Path(str(package.locate_file("mlir"))).resolve()
    exported = (prefix / "lib/cmake/mlir/MLIRTargets.cmake").read_text()
    marker = "# Create imported target "
    # What follows the last target belongs to the import file as a whole.
    exported = exported.split("# Load information for each installed")[0]
    blocks = [b for b in exported.split(marker) if b.startswith("MLIRPython")]
    text = f'set(_IMPORT_PREFIX "{prefix}")\n' + "".join(marker + b for b in blocks)
    pathlib.Path(sys.argv[1]).write_text(text)


if __name__ == "__main__":
    main()
