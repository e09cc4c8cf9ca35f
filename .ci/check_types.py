#!/usr/bin/env python3
"""Check the types of python/tilews with mypy, without a build of tilews.

`tilews.ir` is MLIR's module under our name, and exists in build trees only. The package
`xtc-mlir-dev` has its source and its stubs. This script links them into build/types,
where `mypy_path` of pyproject.toml finds them, and corrects the stubs.

Usage: check_types.py [OPTION OF MYPY]...
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "build/types/tilews"

#: What the stubs of MLIR say, and what holds. Each text has to occur.
CORRECTIONS = (
    # `Value` without parameters is a value of any type.
    (
        '_T = TypeVar("_T", bound=Type)\n',
        "from typing_extensions import TypeVar as _TypeVar\n\n"
        '_T = _TypeVar("_T", bound=Type, default=Type)\n'
        '_Result = _TypeVar("_Result")\n',
    ),
    # Arguments of blocks belong to the block.
    (
        "    def owner(self) -> OpView:\n"
        '        """\n'
        "        Returns the owner of the value",
        "    def owner(self) -> OpView | Block:\n"
        '        """\n'
        "        Returns the owner of the value",
    ),
    ("walk_order: WalkOrder)", "walk_order: WalkOrder = ...)"),
    # cmake/mlir_python.patch adds them.
    (
        "    def walk(self, callback",
        "    def _replace_nested(\n"
        "        self, function: Callable[..., _Result], *arguments: object\n"
        "    ) -> _Result: ...\n"
        "    def walk(self, callback",
    ),
    # `_mlir_libs/__init__.py` adds it.
    (
        "class _OperationBase:",
        "class MLIRError(Exception):\n"
        "    message: str\n"
        "    error_diagnostics: list[DiagnosticInfo]\n\n"
        "class _OperationBase:",
    ),
)


def link(path: Path, target: Path) -> None:
    """Makes `path` a symbolic link to `target`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    path.symlink_to(target)


def prepare() -> None:
    """Puts MLIR's Python files and corrected stubs into build/types."""
    spec = importlib.util.find_spec("mlir")
    if spec is None or not spec.submodule_search_locations:
        sys.exit("check_types: needs the package xtc-mlir-dev; `make` installs it")
    sources = Path(spec.submodule_search_locations[0]) / "src/python"
    core = sources / "MLIRPythonSources.Core.Python"
    for name in ("ir.py", "passmanager.py"):
        link(FOLDER / name, core / name)
    folder = "_mlir_libs/_mlir"
    stubs = sources / "MLIRPythonExtension.Core.type_stub_gen" / folder
    for name in ("__init__.pyi", "passmanager.pyi", "rewrite.pyi"):
        link(FOLDER / folder / name, stubs / name)
    text = (stubs / "ir.pyi").read_text()
    for old, new in CORRECTIONS:
        if old not in text:
            sys.exit(f"check_types: MLIR's ir.pyi has changed, and lacks: {old}")
        text = text.replace(old, new)
    (FOLDER / folder / "ir.pyi").write_text(text)


def main() -> None:
    prepare()
    # The result must not depend on whether there is a build tree.
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    command = [sys.executable, "-m", "mypy", *sys.argv[1:]]
    sys.exit(subprocess.run(command, cwd=ROOT, env=environment).returncode)


if __name__ == "__main__":
    main()
