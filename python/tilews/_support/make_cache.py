"""A bounded, thread-safe cache of values that take long to make."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from .forks import make_locks

V = TypeVar("V")


class _Pending(Generic[V]):
    """A value that a thread is making.

    ``concurrent.futures``, which has the like, takes longer to load than a kernel.

    Attributes:
        maker: the thread.
    """

    _value: V

    def __init__(self) -> None:
        self.maker = threading.get_ident()
        self._error: BaseException | None = None
        self._is_made = threading.Event()

    def finish(self, value: V) -> None:
        """Gives the value to the threads that wait for it."""
        self._value = value
        self._is_made.set()

    def fail(self, error: BaseException) -> None:
        """Gives the error to them instead."""
        self._error = error
        self._is_made.set()

    def wait(self) -> V:
        """Waits for the value, or raises the error."""
        self._is_made.wait()
        if self._error is not None:
            raise self._error
        return self._value


class MakeCache(Generic[V]):
    """Keeps the values that were used most recently, and makes each of them once.

    Threads that ask for different keys make their values at the same time. Threads
    that ask for one key share the value: the first of them makes it, the others wait.
    For example, of two threads that call a kernel for the first time one compiles it.

    Args:
        size: how many values are kept. The least recently used one is dropped first
            (LRU); a caller that holds a dropped value can go on using it.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._values: OrderedDict[Hashable, V] = OrderedDict()
        self._pending: dict[Hashable, _Pending[V]] = {}
        make_locks(self, MakeCache._make_lock)

    def _make_lock(self) -> None:
        """Makes the lock; forgets what threads make that are not in this process."""
        self._lock = threading.Lock()
        thread = threading.get_ident()
        pending = self._pending.items()
        self._pending = {key: each for key, each in pending if each.maker == thread}

    def __len__(self) -> int:
        return len(self._values)

    def values(self) -> list[V]:
        """The values that are kept, the least recently used one first."""
        with self._lock:
            return list(self._values.values())

    def get_or_make(self, key: Hashable, make: Callable[[], V]) -> V:
        """The value of a key, which `make` makes if it is not there.

        Raises:
            TypeError: the key cannot be hashed.
            RuntimeError: `make` asks for the value that it is about to make.
            Exception: what `make` raises, to all threads that wait for the value. The
                next call tries again.
        """
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
                return self._values[key]
            pending = self._pending.get(key)
            if pending is None:
                own = self._pending[key] = _Pending()
        if pending is not None:
            if pending.maker == threading.get_ident():
                raise RuntimeError("a value of this cache depends on itself")
            return pending.wait()
        try:
            value = make()
        except BaseException as error:
            with self._lock:
                del self._pending[key]
            own.fail(error)
            raise
        with self._lock:
            del self._pending[key]
            self._values[key] = value
            if len(self._values) > self._size:
                self._values.popitem(last=False)
        own.finish(value)
        return value
