"""The text of a pipeline: ``a,gpu.module(b{c=1 d=2},e)``, taken apart."""

from __future__ import annotations


def split(text: str) -> list[str]:
    """The elements of a list whose braces and parentheses may hold commas.

    For example ``a{x={1,2}},b(c,d)`` has the elements ``a{x={1,2}}`` and ``b(c,d)``.
    """
    elements, depth = [""], 0
    for character in text:
        depth += (character in "({") - (character in ")}")
        if character == "," and depth == 0:
            elements.append("")
        else:
            elements[-1] += character
    return [element.strip() for element in elements if element.strip()]


def inside(text: str) -> str:
    """The text in the outermost parentheses, as of ``builtin.module(...)``."""
    return text[text.index("(") + 1 : text.rindex(")")]


def flag_of(element: str) -> str:
    """The flag of a pass, without its options or what is nested in it."""
    return element.partition("{")[0].partition("(")[0]
