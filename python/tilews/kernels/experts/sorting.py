"""The order of tokens by the experts that they chose."""

from typing import Any

import tilews
import tilews.language as tl

from ..host import check_array, check_integer, result
from ..operation import operation

#: The most experts, which are the groups of a matmul.
_MOST_EXPERTS = 4096


@tilews.kernel(threads=256)
def expert_rows(
    Ids: tl.Tensor["M", tl.i32],
    Starts: tl.Tensor["S", tl.i32],
    Rows: tl.Tensor["M", tl.i32],
    Places: tl.Tensor["M", tl.i32],
    choices: tl.i32,
    COUNT: tl.constexpr = 1024,
) -> None:
    """A block finds the rows of an expert: a stable counting sort, without atomics.

    It counts the choices of the experts before its own, then numbers those of its own.
    The last block has the choices that are no expert."""
    M, experts = Ids.shape[0], tl.i32(Starts.shape[0] - 1)
    expert = tl.i32(tl.grid(Starts.shape[0]))
    start = 0
    for i in tl.range(0, M, COUNT):
        ids = tl.load(Ids[i], (COUNT,), pad=-1)
        start += tl.sum(((ids >= 0) & (ids < expert)).to(tl.i32), axis=0)
    Starts[expert] = start
    for i in tl.range(0, M, COUNT):
        choice = tl.arange(COUNT) + tl.i32(i)
        ids = tl.load(Ids[i], (COUNT,), pad=-1)
        if expert == experts:
            is_none = (ids < 0) | (ids >= experts)
            tl.store(tl.full((COUNT,), -1, tl.i32), Places[i : i + COUNT], mask=is_none)
        else:
            own = ids == expert
            place = start + tl.cumsum(own.to(tl.i32), axis=0, exclusive=True)
            tl.store(choice // choices, Rows[tl.where(own, place, -1)])
            tl.store(place, Places[i : i + COUNT], mask=own)
            start += tl.sum(own.to(tl.i32), axis=0)


@operation(expert_rows)
def sort_by_expert(ids: Any, experts: int, **launch: Any) -> tuple[Any, Any, Any]:
    """Sorts the choices of tokens by expert, for :func:`grouped_matmul`.

    The choices of an expert stay in the order of tokens, so that results do not depend
    on the order of blocks.

    Args:
        ids: (T, k) of i32: the experts that each of T tokens chose. Numbers that are no
            expert, such as -1, are left out: an expert of another device, for example.
        experts: how many there are, E, up to 4096.
        launch: `stream`, `target` and `run` of a call of the kernel.

    Returns:
        Three arrays of i32. `starts`, (E + 1): where the rows of each expert start, and
        their number. `rows`, (T * k): the tokens in the order of experts; any numbers
        after the last expert. `places`, (T, k): where each choice stands in `rows`, or
        -1.

    Raises:
        LaunchError: an argument does not fit; nothing was started.

    Example:
        ids = np.array([[2, 0], [0, 3], [2, -1]], np.int32)
        starts, rows, places = kernels.sort_by_expert(ids, 4)
        assert (starts == [0, 2, 2, 4, 5]).all()
        assert (rows[:5] == [0, 1, 0, 2, 1]).all()
        assert (places == [[2, 0], [1, 4], [3, -1]]).all()
    """
    name = "sort_by_expert"
    check_array(name, "ids", ids, ("T", "k"), (tl.i32,))
    check_integer(name, "experts", experts, 1, _MOST_EXPERTS)
    count = ids.shape[0] * ids.shape[1]
    starts = result(name, None, ids, (experts + 1,), tl.i32)
    rows = result(name, None, ids, (count,), tl.i32)
    places = result(name, None, ids, ids.shape, tl.i32)
    expert_rows(
        ids.reshape((count,)),
        starts,
        rows,
        places.reshape((count,)),
        max(ids.shape[1], 1),
        **launch,
    )
    return starts, rows, places
