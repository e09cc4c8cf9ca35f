"""What kernels on AMD GPUs print: records in memory of the host, read after a run.

``lib/Conversion/Common/PrintRecords.cpp`` describes the memory. The manifest has the
message of each print, and the types and shapes of its values. The text is that of the
interpreter.
"""

from __future__ import annotations

import itertools
import math
import threading
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from .prints import Printer
from .scalars import numpy_float

#: The variable with the address of the memory.
RECORDS_VARIABLE = "__tilews_records"
_MEMORY_HEADER = _RECORD_HEADER = 3
MEMORY_WORDS = 1 << 20
_HALF = (1 << 32) - 1


class PrintRecords:
    """The memory for one run at a time of a kernel that prints.

    Example:
        >>> records = PrintRecords(manifest, np.zeros(MEMORY_WORDS, np.uint64))
        >>> with records:
        ...     run_the_kernel()  # and wait for its end: then its lines are printed
    """

    #: Kernels that print run one after the other, since they share the memory.
    _lock: ClassVar[threading.Lock] = threading.Lock()

    def __init__(self, manifest: dict[str, Any], memory: np.ndarray) -> None:
        """Takes the memory, 64-bit words of any value.

        Args:
            manifest: of the kernel.
            memory: the words.
        """
        self._prints = manifest["print_records"]
        self._memory = memory

    def __enter__(self) -> None:
        self._lock.acquire()
        self._memory[:] = 0
        self._memory[1] = len(self._memory) - _MEMORY_HEADER

    def __exit__(self, *error: object) -> None:
        try:
            self._show()
        finally:
            self._lock.release()

    def _show(self) -> None:
        """Prints the records, block by block; those of one block in their order."""
        printer = Printer()
        for _, _, text in sorted(self._texts()):
            printer.show(text)
        if lost := int(self._memory[2]):
            printer.tell_lost(lost, 8 * len(self._memory))

    def _texts(self) -> Iterator[tuple[tuple[int, ...], int, str]]:
        """The block, z first, the place and the text of each complete record."""
        words, place = self._memory[_MEMORY_HEADER:], 0
        while place + _RECORD_HEADER <= len(words):
            number, low, high = map(int, words[place : place + _RECORD_HEADER])
            # The words after the last record are 0. In a run that failed, so are
            # those of a record that was not begun.
            if not 0 < number <= len(self._prints):
                return
            shown = self._prints[number - 1]
            start = place + _RECORD_HEADER
            sizes = [math.prod(value.get("shape", ())) for value in shown["values"]]
            end = start + sum(sizes)
            if end > len(words):  # The manifest is that of other code.
                return
            if high >> 63:
                block = (high & _HALF, low >> 32, low & _HALF)
                head = f"block {block[::-1]}: {shown['message']}"
                ends = itertools.accumulate(sizes, initial=start)
                elements = [
                    words[first:last] for first, last in itertools.pairwise(ends)
                ]
                yield block, place, _get_text(head, shown["values"], elements)
            place = end


def _get_text(
    head: str, values: list[dict[str, Any]], elements: list[np.ndarray]
) -> str:
    """One print of a block, a line for each element, as the interpreter gives it."""
    lines = [] if values else [head]
    for value, words in zip(values, elements, strict=True):
        numbers = _get_numbers(words, value)
        if "shape" not in value:
            lines.append(f"{head} {numbers[0]}")
            continue
        for place, number in zip(np.ndindex(*value["shape"]), numbers, strict=True):
            lines.append(f"{head} ({', '.join(map(str, place))}) {number}")
    return "\n".join(lines)


def _get_numbers(words: np.ndarray, value: dict[str, Any]) -> list[str]:
    """Numbers of the type of a value, from their bits."""
    dtype = value["dtype"]
    if dtype.startswith("i"):
        sign = 0 if value.get("unsigned") else 1 << (int(dtype[1:]) - 1)
        return [str((int(word) ^ sign) - sign) for word in words]
    floats = numpy_float(dtype)
    narrow = words.astype(f"u{floats.itemsize}").view(floats)
    digits = 17 if dtype == "f64" else 9
    return [f"{float(number):.{digits}g}" for number in narrow]
