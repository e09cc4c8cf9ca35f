"""Write a CMake file with the MLIR Python binding sources as targets.

Debian's MLIR has the CMake functions and headers to build the bindings but not
their sources; the PyPI package xtc-mlir-dev of the same release has them, along
with a complete MLIR that we do not want. This copies from its export file the
targets named MLIRPython*, which only list source files.

Sources named in LEFT_OUT are not built. mlir_python.patch changes some of the
sources. Changed copies of them go to the folder mlir-python beside the output,
the headers to its folder include.

Usage: mlir_python_targets.py OUTPUT
"""

import importlib.metadata
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

PATCH = pathlib.Path(__file__).with_name("mlir_python.patch")

# Rewrite patterns in Python keep rewriters and IR that are gone; nothing needs them.
LEFT_OUT = ("Rewrite.cpp", "Rewrite.h", "rewrite.py", "rewrite.pyi")


def write_patched(prefix: pathlib.Path, folder: pathlib.Path) -> list[str]:
    """Writes the files that the patch changes; returns their names.

    The headers beside them come along, because they include each other.
    """
    names = re.findall(r"^\+\+\+ b/(\S+)", PATCH.read_text(), re.MULTILINE)
    headers = [h for name in names for h in (prefix / name).parent.glob("*.h")]
    copied = {*names, *(str(header.relative_to(prefix)) for header in headers)}
    with tempfile.TemporaryDirectory() as scratch:
        for name in copied:
            copy = pathlib.Path(scratch, name)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(prefix / name, copy)
        subprocess.run(
            ["patch", "-p1", "--silent", "--fuzz=0", "-d", scratch, "-i", str(PATCH)],
            check=True,
        )
        for name in copied:
            content = pathlib.Path(scratch, name).read_bytes()
            output = folder / name
            # An unchanged file keeps its time, so that nothing is built again.
            if not output.exists() or output.read_bytes() != content:
                output.parent.mkdir(parents=True, exist_ok=True)
                output.write_bytes(content)
    return names


def kept_sources(sources: re.Match[str]) -> str:
    """The paths of a target's list without the files that are left out."""
    paths = sources[0].split(";")
    return ";".join(p for p in paths if pathlib.PurePath(p).name not in LEFT_OUT)


def main() -> None:
    package = importlib.metadata.distribution("xtc-mlir-dev")
    prefix = pathlib.Path(str(package.locate_file("mlir"))).resolve()
    exported = (prefix / "lib/cmake/mlir/MLIRTargets.cmake").read_text()
    marker = "# Create imported target "
    # What follows the last target belongs to the import file as a whole.
    exported = exported.split("# Load information for each installed")[0]
    blocks = [b for b in exported.split(marker) if b.startswith("MLIRPython")]
    text = f'set(_IMPORT_PREFIX "{prefix}")\n' + "".join(marker + b for b in blocks)
    text = re.sub(r'(?<=INTERFACE_SOURCES ")[^"]*', kept_sources, text)
    output = pathlib.Path(sys.argv[1])
    folder = output.with_name("mlir-python")
    for name in write_patched(prefix, folder):
        text = text.replace(f"${{_IMPORT_PREFIX}}/{name}", f"{folder}/{name}")
    output.write_text(text)


if __name__ == "__main__":
    main()
