"""Roles and channels in numpy: the part of :mod:`.reference` for them.

Producers run before their consumers, one role after the other, and a channel has as
many slots as it delivers tiles. That gives the results of roles that run at the same
time, because roles exchange tiles through channels only, and no channel leads back to
the producer of another one.
"""

from __future__ import annotations

import ast
import contextlib
import dataclasses
from typing import Any

from ..random_program import RandomProgram


class NumpyChannel:
    """A channel; a cursor is the number of a transaction."""

    def __init__(self) -> None:
        self._filled = 0

    def cursor(self) -> int:
        return 0

    def advance(self, cursor: int) -> int:
        return cursor + 1

    def acquire(self, cursor: int) -> None:
        """There is always a free slot."""

    def commit(self, cursor: int) -> None:
        assert cursor == self._filled
        self._filled += 1

    def wait(self, cursor: int) -> None:
        assert cursor < self._filled

    def release(self, cursor: int) -> None:
        """No slot is used again."""


def channel(buffers: Any = (), **options: Any) -> NumpyChannel:
    return NumpyChannel()


def slot(buffer: Any, cursor: int) -> Any:
    return buffer[cursor]


def specialize() -> contextlib.AbstractContextManager[None]:
    return contextlib.nullcontext()


def role(name: str, **options: int) -> contextlib.AbstractContextManager[None]:
    return contextlib.nullcontext()


def in_order(program: RandomProgram) -> RandomProgram:
    """The program with its roles in an order in which they can run one by one."""
    if "tl.specialize" not in program.source:
        return program
    tree = ast.parse(program.source)
    for node in ast.walk(tree):
        if isinstance(node, ast.With) and "tl.specialize" in ast.unparse(node.items[0]):
            node.body = _sorted(node.body)
    return dataclasses.replace(program, source=ast.unparse(tree) + "\n")


def _sorted(roles: list[ast.stmt]) -> list[ast.stmt]:
    """Roles, producers first."""
    ordered: list[ast.stmt] = []
    while left := [each for each in roles if each not in ordered]:
        unfilled = set().union(*(_channels(each, "commit") for each in left))
        ready = [each for each in left if not _channels(each, "wait") & unfilled]
        assert ready, "roles wait for each other"
        ordered += ready
    return ordered


def _channels(role: ast.stmt, method: str) -> set[str]:
    """The channels of which a role calls a method."""
    return {
        node.value.id
        for node in ast.walk(role)
        if isinstance(node, ast.Attribute)
        and node.attr == method
        and isinstance(node.value, ast.Name)
    }
