"""Caches of tokens: in one piece for each sequence, or in pages."""

from typing import Any

import tilews
import tilews.language as tl

#: Tokens of the smallest pages that are copied one by one. Rows of a buffer in shared
#: memory are swizzled by eights, so that fewer have no place of their own.
_SMALLEST_PAGE = 8


@tilews.func
def sequence_length(K: Any, Table: Any, Lengths: Any, b: Any) -> Any:
    """The tokens of a sequence, at most those that the cache has room for."""
    capacity = tl.i64(K.shape[1]) * (1 if Table is None else Table.shape[1])
    return tl.i32(tl.minimum(tl.i64(tl.load(Lengths[b])), capacity))


@tilews.func
def find_pages(X: Any, Table: Any, b: Any, first: Any, length: Any, TOKENS: Any) -> Any:
    """The pages of a tile of tokens of a sequence, of which `first` is below `length`.

    They are loaded all at once, before the copies, because a copy waits for the number
    of its page: None without a table, one number, or one for each whole page or token.
    Whole pages from `length` on have the number of the last one before it."""
    LENGTH = X.shape[1]
    if Table is None:
        return None
    if LENGTH % TOKENS == 0:
        return tl.load(Table[b, first // LENGTH])
    if TOKENS % LENGTH == 0 and LENGTH >= _SMALLEST_PAGE:
        last = (length - 1) // LENGTH
        own = first // LENGTH
        return tuple(
            tl.load(Table[b, tl.minimum(own + i, last)])
            for i in range(TOKENS // LENGTH)
        )
    places = tl.arange(TOKENS) + first
    return tl.load(Table[b, places // LENGTH], mask=places < length)


@tilews.func
def copy_tokens(
    X: Any, pages: Any, place: Any, first: Any, length: Any, Xs: Any, column: Any = 0
) -> None:
    """Copies tokens of a sequence to shared memory, and zeros for those from `length`
    on: as many of their elements as Xs has, from `column` on.

    Without pages they are in one piece, else in those of :func:`find_pages`: a part of
    one, some whole ones, or any, whose rows are copied one by one."""
    b, head = place
    TOKENS, D = Xs.shape
    LENGTH = X.shape[1]
    if pages is None:
        count = tl.minimum(length - first, TOKENS)
        tl.copy(X[b, first : first + count, head, column : column + D], Xs)
    elif LENGTH % TOKENS == 0:
        row, count = first % LENGTH, tl.minimum(length - first, TOKENS)
        tl.copy(X[pages, row : row + count, head, column : column + D], Xs)
    elif TOKENS % LENGTH == 0 and LENGTH >= _SMALLEST_PAGE:
        for i in tl.static_range(TOKENS // LENGTH):
            count = tl.clamp(length - (first + i * LENGTH), 0, LENGTH)
            part = Xs[i * LENGTH : (i + 1) * LENGTH, :]
            tl.copy(X[pages[i], 0:count, head, column : column + D], part)
    else:
        places = tl.arange(TOKENS) + first
        inside = places < length
        tl.copy(
            X[pages, places % LENGTH, head, column : column + D],
            Xs,
            mask=inside[:, None],
        )
