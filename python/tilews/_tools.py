"""Console scripts that run the native tools of this package."""

import os
import pathlib
import sys
from typing import NoReturn


def _run(tool: str) -> NoReturn:
    path = pathlib.Path(__file__).parent / "bin" / tool
    os.execv(path, [tool, *sys.argv[1:]])


def opt() -> NoReturn:
    _run("tilews-opt")


def translate() -> NoReturn:
    _run("tilews-translate")


def lsp_server() -> NoReturn:
    _run("tilews-lsp-server")
