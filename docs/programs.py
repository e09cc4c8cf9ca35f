"""Writes the pages of programs, such as docs/tutorial.md, from their templates.

A block of Python that begins with a comment such as ``# copy.py`` is a file of that
name. The commands of the page (shell.py) run in a folder with all of them.
"""

import re
import tempfile
from pathlib import Path

import shell

DOCS = Path(__file__).parent
PAGES = ("tutorial", "cookbook", "gathers")


def programs(text: str) -> dict[str, str]:
    """The programs of a page, by the names of their files."""
    found = re.findall(r"^```python\n# (\w+\.py)\n(.*?)^```$", text, re.M | re.S)
    return dict(found)


def render(page: str) -> str:
    """The text of one of the :data:`PAGES`."""
    note = f"<!-- Made from {page}.md.in by `make docs`; edit that. -->"
    template = (DOCS / f"{page}.md.in").read_text()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, code in programs(template).items():
            (folder / file).write_text(code)
        return f"{note}\n\n{shell.fill(template, folder)}"
