"""Locks in a process that was forked.

A fork has one thread, the one that forked. What another thread had locked would stay
locked there forever.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable
from typing import Any, TypeVar

Owner = TypeVar("Owner")

_owners: weakref.WeakKeyDictionary[Any, Callable[[Any], None]]
_owners = weakref.WeakKeyDictionary()


def make_locks(owner: Owner, make: Callable[[Owner], None]) -> None:
    """Makes the locks of an object, now and in each process that is forked.

    Args:
        owner: the object.
        make: makes the locks of an object of this kind.
    """
    make(owner)
    _owners[owner] = make


def _make_again() -> None:
    for owner, make in list(_owners.items()):
        make(owner)


os.register_at_fork(after_in_child=_make_again)
