"""The IR of schedules.

Letters of operations in the form ``channels``:

    A  acquire      F  copy by TMA to the slot     C  commit      f  F and C
    W  wait         L  load from the slot          R  release     w  W and L
                    S  store to the slot           h  A and C     t  W and R

In the form ``stores``, F is a store by threads. In the form ``barriers`` each pair has
a barrier that says that a slot is full, and one that says that it is empty:

    E  wait for empty       F  copy by TMA that reports to full    S  store
    B  arrival at full that expects the bytes of a copy           P  proxy fence
    X  expectation of bytes   A  arrival at full by one thread      f  F and B
    C  arrival at full by all warps
    W  wait for full        L  load                                 w  W and L
    T  copy by TMA to global memory, and its end                    R  arrival at empty
    Y  barrier of the role's threads              G  atomic update of the slot
    K  copy by cp.async     N  arrival at full when the copies have landed
"""

from __future__ import annotations

from collections.abc import Iterable

from ._grammar import Operations, Schedule

_COPY = "tile.copy %A[%at] to %{v}"
_TMA = "{{tile.inst = #tile.inst<tma>}}"
_STORE = "tile.store %ones to %{v} : !tile to !slot"
_CHANNELS = {
    "A": ["tile.acquire %ch{c}[%q{c}] : !channel{c}"],
    "C": ["tile.commit %ch{c}[%q{c}] : !channel{c}"],
    "W": ["tile.wait %ch{c}[%q{c}] : !channel{c}"],
    "R": ["tile.release %ch{c}[%q{c}] : !channel{c}"],
    "F": ["{slot}", f"{_COPY} {_TMA} : memref<?xf32> to !slot"],
    "L": ["{slot}", "%x{v} = tile.load %{v} : !slot -> !tile"],
    "S": ["{slot}", _STORE],
}
_BARRIERS = {
    "E": [
        "%o{v} = arith.xori %p{c}, %i1 : i32",
        "tile.mbarrier_wait %empty{c}[%s{c}], %o{v} : !b{c}",
    ],
    "W": ["tile.mbarrier_wait %full{c}[%s{c}], %p{c} : !b{c}"],
    "F": [
        "{slot}",
        f"{_COPY} signals(%full{{c}}[%s{{c}}]) {_TMA} : "
        "memref<?xf32> to !slot, !b{c}",
    ],
    "B": [
        "tile.mbarrier_arrive %full{c}[%s{c}] "
        "{{by = #tile.agents<thread>, bytes = 64 : i64}} : !b{c}"
    ],
    "X": ["tile.mbarrier_expect %full{c}[%s{c}] {{bytes = 64 : i64}} : !b{c}"],
    "A": ["tile.mbarrier_arrive %full{c}[%s{c}] {{by = #tile.agents<thread>}} : !b{c}"],
    "C": ["tile.mbarrier_arrive %full{c}[%s{c}] {{by = #tile.agents<warps>}} : !b{c}"],
    "R": ["tile.mbarrier_arrive %empty{c}[%s{c}] {{by = #tile.agents<warps>}} : !b{c}"],
    "S": ["{slot}", _STORE],
    "P": ["tile.proxy_fence"],
    "Y": ["tile.barrier"],
    "G": ["{slot}", "tile.atomic_rmw <add> %ones to %{v} : !tile to !slot"],
    "K": [
        "{slot}",
        f"{_COPY} {{{{tile.inst = #tile.inst<cp_async>}}}} : memref<?xf32> to !slot",
    ],
    "N": ["tile.mbarrier_arrive %full{c}[%s{c}] {{by = #tile.agents<copies>}} : !b{c}"],
    "L": ["{slot}", "%x{v} = tile.load %{v} : !slot -> !tile"],
    "T": [
        "{slot}",
        f"tile.copy %{{v}} to %B[%at] {_TMA} : !slot to memref<?xf32>",
        "tile.barrier {{drain_copies}}",
    ],
}
_WARPS = 4
#: How many arrivals an operation makes.
_ARRIVALS = {"A": 1, "B": 1, "C": _WARPS, "R": _WARPS, "N": 32}
_HEAD = """\
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
{types}
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {{
  gpu.func @k(%A: memref<?xf32>, %B: memref<?xf32>, %mask: memref<?xi1>, %n: index,
              %m: index) kernel attributes {{tile.threads = {threads} : i32}} {{
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %i0 = arith.constant 0 : i32
    %i1 = arith.constant 1 : i32
    %ones = arith.constant dense<1.0> : !tile
"""
_TAIL = """\
    }
    gpu.return
  }
}
"""


def _split(operation: str, form: str) -> list[str]:
    """An operation as simple ones: ``f0`` is ``F0`` and ``C0``.

    Reads have a fence where the next fill may come by TMA, as the lowering makes one.
    """
    if form == "barriers":
        pairs = {"f": "FB", "w": "WLP", "l": "LP"}
    else:
        pairs = {"f": "FC", "w": "WL", "h": "AC", "t": "WR"}
    letters = pairs.get(operation[0], operation[0])
    return [letter + operation[1:] for letter in letters]


def count_arrivals(letter: str, most: int = 32) -> int:
    """How many arrivals at a barrier an operation makes, or `most` if it makes more."""
    return min(_ARRIVALS.get(letter, 0), most)


def count_of_phase(schedule: Schedule, barrier: str, most: int = 32) -> int:
    """How many arrivals complete a phase of a barrier, such as ``full0``.

    An operation makes `most` arrivals at most.
    """
    roles = split_operations(schedule)
    if barrier.startswith("empty"):
        consumers = sum("R" + barrier[-1] in role for role in roles)
        return count_arrivals("R", most) * max(consumers, 1)
    letters = {operation[0] for role in roles for operation in role} - {"R"}
    # No schedule has arrivals both by warps and by copies.
    return max([1, *(count_arrivals(letter, most) for letter in letters)])


def split_operations(schedule: Schedule) -> list[list[str]]:
    """The operations of each role as simple ones: ``f0`` is ``F0`` and ``C0``."""
    return [
        [each for operation in role for each in _split(operation, schedule.form)]
        for role in schedule.roles
    ]


class _Role:
    """Writes the loop of a role."""

    def __init__(self, schedule: Schedule, number: int, operations: list[str]) -> None:
        self._schedule = schedule
        self._is_guarded = _is_guarded(schedule, number)
        self._operations = operations
        self._channels = sorted({int(each[1:]) for each in operations})
        self._is_barriers = schedule.form == "barriers"

    def _carried(self) -> list[tuple[str, str, str]]:
        """Name, initial value and type of the numbers that the loop carries."""
        if self._is_barriers:
            return [
                (f"{name}{c}", "%i0", "i32") for c in self._channels for name in "sp"
            ]
        return [(f"q{c}", f"%first{c}", f"!cursor{c}") for c in self._channels]

    def _body(self) -> list[str]:
        lines: list[str] = []
        letters = dict(_BARRIERS if self._is_barriers else _CHANNELS)
        if self._schedule.form == "stores":
            letters["F"] = ["{slot}", _STORE]
        index = "%s{c}" if self._is_barriers else "%q{c}"
        kind = ", i32" if self._is_barriers else ""
        slot = f"%{{v}} = tile.slot %b{{c}}[{index}] : !buffer{{c}}{kind} -> !slot"
        for i, operation in enumerate(self._operations):
            c, v = operation[1:], f"v{i}"
            named = slot.format(c=c, v=v)
            for line in letters[operation[0]]:
                lines.append(line.format(c=c, v=v, slot=named))
        return lines

    def _advance(self) -> list[str]:
        """Computes the carried numbers of the next iteration, named ``%nq0``."""
        lines = []
        for c in self._channels:
            if not self._is_barriers:
                lines.append(f"%nq{c} = tile.advance %q{c} : !cursor{c}")
                continue
            lines += [
                f"%up{c} = arith.addi %s{c}, %i1 : i32",
                f"%last{c} = arith.cmpi eq, %up{c}, %depth{c} : i32",
                f"%flip{c} = arith.xori %p{c}, %i1 : i32",
                f"%ns{c} = arith.select %last{c}, %i0, %up{c} : i32",
                f"%np{c} = arith.select %last{c}, %flip{c}, %p{c} : i32",
            ]
        return lines

    def lines(self) -> list[str]:
        """The role's operations, which set up cursors and loop."""
        lines = []
        if not self._is_barriers:
            lines = [f"%first{c} = tile.cursor : !cursor{c}" for c in self._channels]
        names = [name for name, _, _ in self._carried()]
        types = ", ".join(type_ for _, _, type_ in self._carried())
        # TMA begins at multiples of 16 bytes.
        step = ["%at = arith.muli %k, %c4 : index", *self._body(), *self._advance()]
        step.append("scf.yield " + _list(f"n{name}" for name in names) + f" : {types}")
        if self._is_guarded:
            step = [
                "%on = memref.load %mask[%k] : memref<?xi1>",
                f"%g:{len(names)} = scf.if %on -> ({types}) {{",
                *step,
                "} else {",
                f"scf.yield {_list(names)} : {types}",
                "}",
                f"scf.yield {_results('g', len(names))} : {types}",
            ]
        initial = [(name, value) for name, value, _ in self._carried()]
        if not self._schedule.nested:
            return lines + _loop("k", "n", initial, types, step, "r")
        outer = [(f"t{name}", value) for name, value in initial]
        inner = [(name, f"%t{name}") for name in names]
        nest = _loop("k", "n", inner, types, step, "u")
        nest.append(f"scf.yield {_results('u', len(names))} : {types}")
        return lines + _loop("t", "m", outer, types, nest, "r")


def _is_guarded(schedule: Schedule, role: int) -> bool:
    last = len(schedule.roles) - 1
    guarded = {"none": (), "all": range(last + 1), "first": (0,), "last": (last,)}
    return role in guarded[schedule.guard]


def _list(names: Iterable[str]) -> str:
    return ", ".join(f"%{name}" for name in names)


def _results(name: str, count: int) -> str:
    return ", ".join(f"%{name}#{i}" for i in range(count))


def _loop(
    index: str,
    bound: str,
    carried: list[tuple[str, str]],
    types: str,
    body: list[str],
    name: str,
) -> list[str]:
    args = ", ".join(f"%{each} = {value}" for each, value in carried)
    return [
        f"%{name}:{len(carried)} = scf.for %{index} = %c0 to %{bound} step %c1 "
        f"iter_args({args}) -> ({types}) {{",
        *body,
        "}",
    ]


def _declare(schedule: Schedule) -> tuple[list[str], list[str]]:
    """The types of channels or barriers, and the operations that make them."""
    types, lines = [], []
    for c, depth in enumerate(schedule.depths):
        types.append(
            f"!buffer{c} = memref<{depth}x16xf32, #gpu.address_space<workgroup>>"
        )
        lines.append(f"%b{c} = tile.alloc_shared : !buffer{c}")
        if schedule.form != "barriers":
            kind = "simt" if schedule.form == "stores" else "tma"
            types += [
                f"!channel{c} = !tile.channel<{depth}>",
                f"!cursor{c} = !tile.cursor<{depth}>",
            ]
            lines.append(
                f"%ch{c} = tile.channel(%b{c}) {{producer = #tile.producer<{kind}>}} "
                f": !buffer{c} -> !channel{c}"
            )
            continue
        types.append(f"!b{c} = !tile.mbarrier<{depth}>")
        lines += [
            f"%depth{c} = arith.constant {depth} : i32",
            f"%full{c} = tile.mbarrier "
            f"{{count = {count_of_phase(schedule, f'full{c}')} : i64}} : !b{c}",
            f"%empty{c} = tile.mbarrier "
            f"{{count = {count_of_phase(schedule, f'empty{c}')} : i64}} : !b{c}",
        ]
    if schedule.form == "barriers":
        lines.append("tile.mbarrier_ready")
    return types, lines


def is_elected(operations: Operations | list[str], form: str) -> bool:
    """Whether one thread suffices for a role: it only waits, copies and arrives."""
    return form == "barriers" and all(each[0] in "EFBXA" for each in operations)


def make_text(schedule: Schedule) -> str:
    """The module of a schedule: a kernel ``@k(A, B, mask, n, m)``.

    The innermost loops make `n` iterations; those around them, if any, `m`.
    """
    types, made = _declare(schedule)
    roles = split_operations(schedule)
    lines = [*made, "tile.specialize {"]
    threads = 0
    for number, operations in enumerate(roles):
        elected = is_elected(operations, schedule.form)
        few = (
            elected
            or any(each[0] == "N" for each in operations)
            or (schedule.form == "channels" and operations[0][0] in "AFC")
        )
        warps = 1 if few else _WARPS
        threads += 32 * warps
        lines.append(
            f"tile.role @r{number} warps({warps}) {'elected ' if elected else ''}{{"
        )
        lines += _Role(schedule, number, operations).lines()
        lines.append("}")
    head = _HEAD.format(types="\n".join(types), threads=threads)
    return head + "".join(f"    {line}\n" for line in lines) + _TAIL
