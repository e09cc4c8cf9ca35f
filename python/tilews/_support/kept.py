"""Properties that are made when they are first read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

V = TypeVar("V")


class KeptProperty(Generic[V]):
    """A property that an object makes once, when it is first read.

    Unlike functools.cached_property before Python 3.12, it has no lock, which would be
    one for all objects of the class: no two kernels would be compiled at the same time.
    Two threads that read the property of one object may both make it.
    """

    def __init__(self, make: Callable[[Any], V]) -> None:
        self._make = make
        self._name = make.__name__
        self.__doc__ = make.__doc__

    @overload
    def __get__(self, owner: None, kind: type | None = None) -> KeptProperty[V]: ...

    @overload
    def __get__(self, owner: object, kind: type | None = None) -> V: ...

    def __get__(
        self, owner: object | None, kind: type | None = None
    ) -> KeptProperty[V] | V:
        if owner is None:
            return self
        # Python finds it in the object from now on.
        kept: V = owner.__dict__.setdefault(self._name, self._make(owner))
        return kept
