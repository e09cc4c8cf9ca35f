"""The grammar: which schedules there are, and in which order they are judged.

An operation of a role is a letter with the number of its channel, such as ``A0``;
``_texts.py`` has the letters. For example, the right schedule of one channel of depth 2
is ``channels/2/none/flat/A0F0C0-W0L0R0``.
"""

from __future__ import annotations

import dataclasses
import heapq
import itertools
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence

Operations = tuple[str, ...]

#: Which roles are guarded by the mask.
GUARDS = ("none", "all", "first", "last")


@dataclasses.dataclass(frozen=True)
class Schedule:
    """A kernel of roles that each execute a list of operations in a loop.

    Attributes:
        form: ``channels``, ``stores`` (channels that threads fill), or ``barriers``.
        depths: The number of slots of each channel or pair of barriers.
        guard: Which roles do nothing where a mask is false: one of ``GUARDS``.
        nested: Whether there is a loop around the loop.
        roles: The operations of each role.
    """

    form: str
    depths: tuple[int, ...]
    guard: str
    nested: bool
    roles: tuple[Operations, ...]

    def __str__(self) -> str:
        depths = ",".join(map(str, self.depths))
        nesting = "nested" if self.nested else "flat"
        roles = "-".join("".join(role) for role in self.roles)
        return "/".join((self.form, depths, self.guard, nesting, roles))

    @staticmethod
    def parse(text: str) -> Schedule:
        """The schedule of a name such as ``channels/2/none/flat/A0F0C0-W0L0R0``.

        Raises:
            ValueError: It is no such name.
        """
        pattern = r"(channels|stores|barriers)/([\d,]+)/(\w+)/(flat|nested)/([\w-]+)"
        match = re.fullmatch(pattern, text)
        if not match or match[3] not in GUARDS:
            raise ValueError(
                "expected a schedule such as 'channels/2/none/flat/A0F0C0-W0L0R0', "
                f"found '{text}'"
            )
        roles = tuple(tuple(re.findall(r"[A-Za-z]\d", r)) for r in match[5].split("-"))
        depths = tuple(int(depth) for depth in match[2].split(","))
        return Schedule(match[1], depths, match[3], match[4] == "nested", roles)


@dataclasses.dataclass(frozen=True)
class Family:
    """Schedules that differ in the operations of their roles.

    Attributes:
        name: It is shown with counts.
        form: As for :class:`Schedule`.
        alphabets: The operations that each role may execute.
        lengths: The most operations of each role.
        totals: The fewest and the most operations of all roles.
        once: Whether a role executes each operation once at most.
        settings: Depths, guards and nestings.
        channels_alike: Whether exchanging the two channels changes nothing.
        consumers_alike: Whether exchanging the last two roles changes nothing.
    """

    name: str
    form: str
    alphabets: tuple[Operations, ...]
    lengths: tuple[int, ...]
    totals: tuple[int, int]
    settings: tuple[tuple[tuple[int, ...], str, bool], ...]
    once: bool = False
    channels_alike: bool = False
    consumers_alike: bool = False

    def schedules(self) -> list[Schedule]:
        """One schedule of each symmetry class.

        Those with few operations come first. A part of the others is a sample of them.
        """
        choices = [
            _sequences(alphabet, length, self.once)
            for alphabet, length in zip(self.alphabets, self.lengths, strict=True)
        ]
        least, most = self.totals
        every = [
            roles
            for roles in itertools.product(*choices)
            if least <= sum(map(len, roles)) <= most
        ]
        every.sort(key=lambda roles: (sum(map(len, roles)), _mix(roles)))
        return [
            schedule
            for roles in every
            for depths, guard, nested in self.settings
            if self._is_first(
                schedule := Schedule(self.form, depths, guard, nested, roles)
            )
        ]

    def _is_first(self, schedule: Schedule) -> bool:
        """Whether no symmetric schedule comes first."""
        roles, depths = schedule.roles, schedule.depths
        images = [(depths, roles)]
        if self.consumers_alike and schedule.guard != "last":
            images.append((depths, (*roles[:-2], roles[-1], roles[-2])))
        if self.channels_alike:
            images += [
                (depths[::-1], tuple(map(_exchange, image))) for _, image in images
            ]
        return images[0] == min(images)


def _mix(roles: tuple[Operations, ...]) -> tuple[int, tuple[Operations, ...]]:
    """A key that puts schedules of one length in an order without a pattern."""
    return zlib.crc32(repr(roles).encode()), roles


def _exchange(role: Operations) -> Operations:
    """The operations with channels 0 and 1 exchanged."""
    return tuple(each[0] + str(1 - int(each[1])) for each in role)


def _sequences(alphabet: Iterable[str], most: int, once: bool) -> list[Operations]:
    make = itertools.permutations if once else _repeatable
    lengths = range(1, most + 1)
    return [each for length in lengths for each in make(tuple(alphabet), length)]


def _repeatable(alphabet: Operations, length: int) -> Iterator[Operations]:
    return itertools.product(alphabet, repeat=length)


def _settings(
    depths: Iterable[tuple[int, ...]],
    guards: Iterable[str] = ("none",),
    nestings: Iterable[bool] = (False,),
) -> tuple[tuple[tuple[int, ...], str, bool], ...]:
    return tuple(itertools.product(depths, guards, nestings))


_ONE = ((1,), (2,), (3,))
_FEW = ((1,), (2,))
_TWO = ((1, 1), (2, 2), (1, 2))
_GUARDED = _settings(_ONE, GUARDS[:3]) + _settings(_ONE, ("none",), (True,))
#: In small letters, operations with others: ``f`` fills and commits, ``w`` waits and
#: reads, ``h`` and ``t`` are transactions without accesses.
_FILL, _READ = ("A0", "f0"), ("w0", "R0")
FAMILIES = (
    Family(
        "a channel filled by TMA",
        "channels",
        (("A0", "F0", "C0"), ("W0", "L0", "R0")),
        (5, 5),
        (2, 6),
        _GUARDED,
    ),
    Family(
        "a channel in longer loops",
        "channels",
        (("A0", "F0", "C0"), ("W0", "L0", "R0")),
        (4, 4),
        (7, 8),
        _settings(_FEW),
    ),
    Family(
        "a channel filled by threads",
        "stores",
        (("A0", "F0", "C0"), ("W0", "L0", "R0")),
        (5, 5),
        (2, 6),
        _settings(_ONE),
    ),
    Family(
        "a channel with two consumers",
        "channels",
        (_FILL, _READ, _READ),
        (3, 3, 3),
        (2, 9),
        _settings(_ONE, GUARDS),
        consumers_alike=True,
    ),
    Family(
        "a channel with two consumers that store",
        "channels",
        (_FILL, ("W0", "S0", "L0", "R0"), ("W0", "S0", "L0", "R0")),
        (2, 4, 4),
        (2, 10),
        _settings(_FEW),
        once=True,
        consumers_alike=True,
    ),
    Family(
        "a consumer that hands its stores to another one",
        "channels",
        (_FILL, ("W0", "S0", "h1", "R0"), ("W0", "L0", "t1", "R0")),
        (2, 4, 4),
        (2, 10),
        _settings(((1, 1), (2, 1))),
        once=True,
    ),
    Family(
        "two channels in one direction",
        "channels",
        (("A0", "f0", "A1", "f1"), ("w0", "R0", "w1", "R1")),
        (4, 4),
        (2, 8),
        _settings(_TWO, ("none", "all")),
        once=True,
        channels_alike=True,
    ),
    Family(
        "two channels in opposite directions",
        "channels",
        (("A0", "f0", "w1", "R1"), ("w0", "R0", "A1", "f1")),
        (4, 4),
        (2, 8),
        _settings(_TWO, ("none", "all")),
        once=True,
    ),
    Family(
        "two channels one after the other",
        "channels",
        (_FILL, ("w0", "R0", "A1", "f1"), ("w1", "R1")),
        (2, 4, 2),
        (2, 8),
        _settings(_TWO, ("none", "all")),
        once=True,
    ),
    Family(
        "barriers and TMA",
        "barriers",
        (("E0", "F0", "B0", "X0", "A0"), ("W0", "l0", "R0")),
        (5, 5),
        (2, 6),
        _settings(_FEW) + _settings(((2,),), ("all",)),
    ),
    Family(
        "barriers, TMA, and fences after reads",
        "barriers",
        (("E0", "F0", "P0", "B0"), ("W0", "L0", "P0", "R0")),
        (4, 4),
        (2, 7),
        _settings(_FEW),
    ),
    Family(
        "barriers, stores and fences",
        "barriers",
        (("E0", "S0", "P0", "C0"), ("W0", "T0", "R0")),
        (4, 4),
        (2, 7),
        _settings(_FEW),
    ),
    Family(
        "barriers, stores and TMA",
        "barriers",
        (("E0", "F0", "B0"), ("W0", "S0", "P0", "R0")),
        (3, 4),
        (2, 7),
        _settings(_FEW),
    ),
    Family(
        "barriers of threads",
        "barriers",
        (("E0", "S0", "Y0", "A0"), ("W0", "L0", "R0")),
        (4, 3),
        (2, 7),
        _settings(_FEW),
    ),
    Family(
        "barriers and atomic updates",
        "barriers",
        (("E0", "S0", "G0", "C0"), ("W0", "G0", "L0", "R0")),
        (4, 4),
        (2, 8),
        _settings(_FEW),
        once=True,
    ),
    Family(
        "barriers and atomic updates of two roles",
        "barriers",
        (("E0", "S0", "C0"), ("W0", "G0", "R0"), ("W0", "G0", "R0")),
        (3, 3, 3),
        (2, 9),
        _settings(_FEW),
        once=True,
        consumers_alike=True,
    ),
    Family(
        "barriers and cp.async",
        "barriers",
        (("E0", "K0", "N0"), ("W0", "L0", "R0")),
        (4, 4),
        (2, 7),
        _settings(_FEW),
    ),
    Family(
        "barriers and two consumers",
        "barriers",
        (("E0", "f0"), _READ, _READ),
        (3, 3, 3),
        (2, 9),
        _settings(_FEW, ("none", "all")),
        consumers_alike=True,
    ),
    Family(
        "two pairs of barriers in opposite directions",
        "barriers",
        (("E0", "f0", "w1", "R1"), ("w0", "R0", "E1", "f1")),
        (4, 4),
        (2, 8),
        _settings(_TWO),
        once=True,
    ),
)


def enumerate_schedules(
    families: Sequence[Family] = FAMILIES,
) -> Iterator[tuple[Family, Schedule]]:
    """All schedules. Each part of the list has its share of each family."""

    def spread(family: Family) -> Iterator[tuple[float, str, Family, Schedule]]:
        schedules = family.schedules()
        for i, schedule in enumerate(schedules):
            yield (i + 0.5) / len(schedules), family.name, family, schedule

    merged = heapq.merge(*map(spread, families), key=lambda each: each[:2])
    seen = set()
    for _, _, family, schedule in merged:
        # Families overlap: a role need not use all of its alphabet.
        if schedule not in seen:
            seen.add(schedule)
            yield family, schedule
