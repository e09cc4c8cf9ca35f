"""Random kernels whose roles and channels are written by hand."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from ..draft import LONGEST, Draft, Lines, indent


@dataclasses.dataclass(frozen=True)
class _WrittenChannel:
    """A channel with what goes through it: operands of matmuls, or tiles to add up.

    Attributes:
        number: in its name.
        copies: statements that fill a slot.
        guard: when there is a transaction; empty for always.
        value: the accumulator's new value, from its name and the cursor's.
        shape: of the accumulator.
        dtype: of the accumulator.
    """

    number: int
    copies: Lines
    guard: str
    value: Callable[[str, str], str]
    shape: tuple[int, int]
    dtype: str

    @property
    def name(self) -> str:
        return f"ch{self.number}"


class WrittenRoles:
    """Generates kernels with roles that load, compute and store.

    Each role has a loop with the same number of iterations. In it, a role makes one
    transaction in each of its channels, under the channel's guard.
    """

    def __init__(self, draft: Draft) -> None:
        self._draft = draft
        self._random = draft.feature_random
        self._before: Lines = []
        #: Roles with their numbers of warps.
        self._roles: list[tuple[str, int, Lines]] = []

    @property
    def threads(self) -> int:
        """The threads of all roles."""
        return 32 * sum(warps for _, warps, _ in self._roles)

    def body(self, wrap: Callable[[Lines], Lines]) -> Lines:
        """What a block does.

        Args:
            wrap: puts a loop over the block's tiles around statements, if it has one.
        """
        draft, random = self._draft, self._random
        # Other chips have no barriers for roles, and sm_80 has no matmuls of fp8.
        has_fp8 = draft.dtype in ("e4m3", "e5m2")
        draft.require_chips("sm_90a", *(() if has_fp8 else ("sm_80",)))
        trips = random.choice((0, 1, 2, 3, 5, 8))
        loop = f"for k in tl.range({self._trips(trips)}):"
        channels = [self._channel(i) for i in range(random.choice((1, 1, 2)))]
        consumers = random.choice((1, 1, 2))
        # Both consumers read all slots, or each has channels of its own.
        shares = [channels] * consumers
        if consumers == len(channels) == 2 and random.random() < 0.5:
            shares = [[channel] for channel in channels]
        for number, share in enumerate(shares):
            self._consumer(number, share, loop, wrap)
        loaders = [[each] for each in channels] if random.random() < 0.4 else [channels]
        for number, share in enumerate(loaders):
            lines = [line for each in share for line in self._fill(each)]
            starts = [f"p{each.number} = {each.name}.cursor()" for each in share]
            body = [*starts, *wrap([loop, *indent(lines)])]
            self._roles.append((f"load{number}", random.choice((1, 2, 4, 4)), body))
        random.shuffle(self._roles)
        return [*self._before, "with tl.specialize():", *indent(self._text())]

    def _trips(self, trips: int) -> str:
        """The number of iterations: a constant, an argument, or one for each tile."""
        draft = self._draft
        kind = self._random.choice(("constant", "argument", "table"))
        if kind == "argument":
            return draft.add_number(trips)
        if kind == "table":
            table = draft.add_array("i32", (draft.tiles,), fill=f"below {trips + 1}")
            return f"tl.load({table}[t])"
        return str(trips)

    def _text(self) -> Lines:
        """The roles, now and then with registers."""
        lines: Lines = []
        warps = [count for _, count, _ in self._roles]
        registers = {"load": 40, "save": 40, "math": self._random.choice((160, 232))}
        total = sum(32 * n * registers[name[:4]] for name, n, _ in self._roles)
        are_groups = all(count % 4 == 0 for count in warps) and total <= 65536
        has_registers = are_groups and self._random.random() < 0.5
        for name, count, body in self._roles:
            option = f", registers={registers[name[:4]]}" if has_registers else ""
            lines += [f'with tl.role("{name}", warps={count}{option}):', *indent(body)]
        return lines

    def _shared(self, shape: tuple[int, int], dtype: str, versions: int) -> str:
        """The name of a new buffer with slots."""
        name = f"S{len(self._before)}"
        self._before.append(
            f"{name} = tl.alloc_shared({shape}, tl.{dtype}, versions={versions})"
        )
        return name

    def _channel(self, number: int) -> _WrittenChannel:
        """A channel with its buffers."""
        draft, random = self._draft, self._random
        dtype, versions = draft.dtype, random.choice((1, 2, 2, 3, 4))
        guard = random.choice(("", "", "", "k % 2 == 0", "k != t", "table"))
        if guard == "table":
            table = draft.add_array("i1", (draft.tiles, LONGEST), fill="random")
            guard = f"tl.load({table}[t, k])"
        left = (draft.rows, draft.depth)
        lhs, copy = self._operand(left, "t", "k", versions)
        copies = [copy.format(f"tl.slot({lhs}, p{number})")]
        buffers = lhs
        if random.random() < 0.6:
            transposed = random.random() < 0.3
            right, places = (draft.depth, draft.columns), ("k", "t")
            if transposed:
                right, places = right[::-1], places[::-1]
            rhs, copy = self._operand(right, *places, versions)
            copies.append(copy.format(f"tl.slot({rhs}, p{number})"))
            buffers = f"({lhs}, {rhs})"
            option = ", transpose_rhs=True" * transposed
            shape = draft.rows, draft.columns
            sums = "i32" if dtype == "i8" else "f32"

            def value(acc: str, q: str) -> str:
                operands = f"tl.slot({lhs}, {q}), tl.slot({rhs}, {q})"
                return f"tl.gemm({operands}, {acc}{option})"
        else:
            shape, sums = left, "f32"

            def value(acc: str, q: str) -> str:
                cast = "" if dtype == "f32" else ".to(tl.f32)"
                tile = f"tl.load(tl.slot({lhs}, {q})){cast}"
                return f"tl.clamp({acc} * 2.0 + {tile}, -512.0, 512.0)"

        self._before.append(f"ch{number} = tl.channel({buffers})")
        return _WrittenChannel(number, copies, guard, value, shape, sums)

    def _operand(
        self, shape: tuple[int, int], row: str, column: str, versions: int
    ) -> tuple[str, str]:
        """A buffer and the statement that fills a slot of it, a format."""
        draft, random = self._draft, self._random
        counts = [draft.tiles if each == "t" else 6 for each in (row, column)]
        ragged = random.choice((0, 0, 0, 3))
        divisor = random.choice((8, 8, 8, 1))
        width = (shape[1] * counts[1] - ragged) // divisor * divisor
        height = shape[0] * counts[0] - ragged
        array = draft.add_array(draft.dtype, (height, width), divisor=divisor)
        place = f"{array}[{row} * {shape[0]}, {column} * {shape[1]}]"
        copy = f"tl.copy({place}, {{}})"
        if random.random() < 0.15:
            copy = f"tl.store(tl.load({place}, {shape}), {{}})"
        return self._shared(shape, draft.dtype, versions), copy

    def _guarded(self, channel: _WrittenChannel, lines: Lines) -> Lines:
        return [f"if {channel.guard}:", *indent(lines)] if channel.guard else lines

    def _fill(self, channel: _WrittenChannel) -> Lines:
        """A transaction of a producer."""
        name, cursor = channel.name, f"p{channel.number}"
        lines = [
            f"{name}.acquire({cursor})",
            *channel.copies,
            f"{name}.commit({cursor})",
            f"{cursor} = {name}.advance({cursor})",
        ]
        return self._guarded(channel, lines)

    def _consumer(
        self,
        number: int,
        channels: list[_WrittenChannel],
        loop: str,
        wrap: Callable[[Lines], Lines],
    ) -> None:
        """A role that computes, and perhaps one that stores what it computes."""
        draft, random = self._draft, self._random
        cursors = [f"q{each.number} = {each.name}.cursor()" for each in channels]
        start: Lines = []
        body: Lines = []
        end: Lines = []
        for channel in channels:
            rows, columns = channel.shape
            acc, name, q = f"acc{channel.number}", channel.name, f"q{channel.number}"
            start.append(f"{acc} = tl.zeros({channel.shape}, tl.{channel.dtype})")
            lines = [
                f"{name}.wait({q})",
                f"{acc} = {channel.value(acc, q)}",
                f"{name}.release({q})",
                f"{q} = {name}.advance({q})",
            ]
            body += self._guarded(channel, lines)
            shape = (rows * draft.tiles, columns)
            result = draft.add_array(channel.dtype, shape, fill="zeros")
            end.append(f"{result}[t * {rows}, 0] = {acc}")
        if random.random() < 0.4:
            cursor, pass_on = self._save(number, channels[0], loop, wrap)
            cursors.append(cursor)
            body += pass_on
        lines = [*cursors, *wrap([*start, loop, *indent(body), *end])]
        self._roles.append((f"math{number}", random.choice((4, 4, 8)), lines))

    def _save(
        self,
        number: int,
        channel: _WrittenChannel,
        loop: str,
        wrap: Callable[[Lines], Lines],
    ) -> tuple[str, Lines]:
        """A role that stores each state of an accumulator.

        Returns:
            The cursor of the role that computes, and its transaction.
        """
        draft, random = self._draft, self._random
        rows, columns = channel.shape
        buffer = self._shared(channel.shape, channel.dtype, random.choice((1, 1, 2)))
        name, p, q = f"out{number}", f"o{number}", f"q{number}"
        producer = random.choice(("", ', producer="simt"'))
        self._before.append(f"{name} = tl.channel({buffer}{producer})")
        result = draft.add_array(
            channel.dtype, (rows * draft.tiles, columns * 8), fill="zeros"
        )
        place = f"{result}[t * {rows}, k * {columns}]"
        store = random.choice(
            (
                f"{place} = tl.load(tl.slot({buffer}, {q}))",
                f"tl.copy(tl.slot({buffer}, {q}), {place})",
            )
        )
        lines = [
            f"{name}.wait({q})",
            store,
            f"{name}.release({q})",
            f"{q} = {name}.advance({q})",
        ]
        body = [f"{q} = {name}.cursor()", *wrap([loop, *indent(lines)])]
        self._roles.append((f"save{number}", random.choice((1, 2, 4)), body))
        return f"{p} = {name}.cursor()", [
            f"{name}.acquire({p})",
            f"tl.store(acc{channel.number}, tl.slot({buffer}, {p}))",
            f"{name}.commit({p})",
            f"{p} = {name}.advance({p})",
        ]
