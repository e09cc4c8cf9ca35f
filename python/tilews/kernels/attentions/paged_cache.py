"""Caches of tokens: in one piece for each sequence, or in pages."""

from typing import Any

import tilews
import tilews.language as tl

#: Tokens of the smallest pages that are copied one by one. Rows of a buffer in shared
#: memory are swizzled by eights, so that fewer have no place of their own.
_SMALLEST_PAGE = 8


@tilews.func
def copy_tokens(
    X: Any, Table: Any, place: Any, first: Any, length: Any, Xs: Any, column: Any = 0
) -> None:
    """Copies tokens of a sequence to shared memory, and zeros for those from `length`
    on: as many of their elements as Xs has, from `column` on.

    Without a table they are in one piece, else in pages: a part of one, some whole
    ones, or any, whose rows are copied one by one."""
    b, head = place
    TOKENS, D = Xs.shape
    LENGTH = X.shape[1]
    if Table is None:
        count = tl.minimum(length - first, TOKENS)
        tl.copy(X[b, first : first + count, head, column : column + D], Xs)
    elif LENGTH % TOKENS == 0:
        page, row = tl.load(Table[b, first // LENGTH]), first % LENGTH
        count = tl.minimum(length - first, TOKENS)
        tl.copy(X[page, row : row + count, head, column : column + D], Xs)
    elif TOKENS % LENGTH == 0 and LENGTH >= _SMALLEST_PAGE:
        for i in tl.static_range(TOKENS // LENGTH):
            start = first + i * LENGTH
            count = tl.clamp(length - start, 0, LENGTH)
            page = 0
            if count > 0:
                page = tl.load(Table[b, start // LENGTH])
            part = Xs[i * LENGTH : (i + 1) * LENGTH, :]
            tl.copy(X[page, 0:count, head, column : column + D], part)
    else:
        places = tl.arange(TOKENS) + first
        inside = places < length
        pages = tl.load(Table[b, places // LENGTH], mask=inside)
        tl.copy(
            X[pages, places % LENGTH, head, column : column + D],
            Xs,
            mask=inside[:, None],
        )
