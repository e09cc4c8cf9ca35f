"""Console scripts that run the native tools of this package."""

import os
import pathlib
import sys
from collections.abc import Sequence
from typing import NoReturn

from ._support import tool_path


def run(tool: str, arguments: Sequence[str]) -> NoReturn:
    """Becomes the tool. It finds an assembler of the Python environment as well."""
    path = pathlib.Path(__file__).parent / "bin" / tool
    search = [os.environ.get("PATH", os.defpath), *tool_path.directories()]
    environment = {**os.environ, "PATH": os.pathsep.join(search)}
    os.execve(path, [tool, *arguments], environment)


def opt() -> NoReturn:
    run("tilews-opt", sys.argv[1:])


def translate() -> NoReturn:
    run("tilews-translate", sys.argv[1:])


def reduce() -> NoReturn:
    run("tilews-reduce", sys.argv[1:])


def lsp_server() -> NoReturn:
    run("tilews-lsp-server", sys.argv[1:])
