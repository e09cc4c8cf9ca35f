"""Finds undefined values in LLVM IR, which would let LLVM delete what depends on them.

Arithmetic of a kernel never gives one: ``docs/language.md`` defines all results. Those
that remain stand for elements of vectors that nothing reads:

* the vector that the first elements are inserted into: ``insertelement <2 x half>
  poison, half %x, i64 0``;
* the second vector of a shuffle that takes no element of it, and elements of the result
  that the mask leaves open;
* in constants of a vector type, some but not all elements. They are never stored;
* the value that lanes without a source keep in ``llvm.amdgcn.update.dpp``: no lane is
  without one, or zero takes its place;
* what LLVM's unrolling of loops passes around the iterations that it puts first, where
  there are none. The loop after them starts from other values then.
"""

from __future__ import annotations

import re

_WORD = re.compile(r"\b(poison|undef)\b")
_ELEMENT = r"(?:half|bfloat|float|double|i\d+|ptr(?: addrspace\(\d+\))?)"
_VECTOR = rf"<\d+ x {_ELEMENT}>"
_CONSTANT = re.compile(rf"<({_ELEMENT} [^<>,]+(?:, {_ELEMENT} [^<>,]+)+)>")
_ALLOWED = [
    re.compile(rf"insertelement {_VECTOR} poison,"),
    re.compile(rf"shufflevector {_VECTOR} %\S+, {_VECTOR} poison,"),
    re.compile(r"\.unr = phi \S+ \[ poison, "),
    re.compile(r"@llvm\.amdgcn\.update\.dpp\.\w+\(\w+ poison,"),
]


def _drop_elements(match: re.Match[str]) -> str:
    """Removes a constant of which some elements are defined."""
    elements = match[1].split(", ")
    defined = [text for text in elements if not _WORD.search(text)]
    return "" if defined else match[0]


def find(llvm: str) -> list[str]:
    """The lines that use an undefined value."""
    found = []
    for line in llvm.splitlines():
        if not _WORD.search(line):
            continue
        rest = line
        for pattern in _ALLOWED:
            rest = pattern.sub("", rest)
        if not line.lstrip().startswith("store"):
            rest = _CONSTANT.sub(_drop_elements, rest)
        if _WORD.search(rest):
            found.append(line.strip())
    return found
