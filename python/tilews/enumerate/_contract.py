"""Whether a schedule breaks a rule of channels or barriers, by the rule's definition.

The verifier reports a broken rule also where no access suffers from it. Here each rule
is decided anew, from the letters of the operations, without verifier and simulator:

* Transactions: in each slot, a producer acquires, writes and commits, and a consumer
  waits, reads or writes, and releases.
* Slots: no role has a slot at its end.
* Totals: when all roles have ended, each barrier has got whole phases of arrivals, and
  the bytes that were expected.
* Phases: every arrival, copy and wait has one phase, whatever the order of steps is.
  The warps of a role run apart here.
"""

from __future__ import annotations

import collections
import dataclasses
import itertools
from collections.abc import Iterator

from ._grammar import Schedule
from ._texts import count_arrivals, count_of_phase, is_elected, split_operations

#: Numbers of iterations, up to the first one that breaks a rule of phases.
_TRIPS = (1, 2, 3, 5)
#: The most states of a search.
_MAX_STATES = 50_000
#: Two warps, or two threads, stand for all of a role.
_APART = 2

#: What an operation makes of a slot, and whether the role must have the slot before. An
#: acquire or a wait for a slot that the role has returns at once.
_STEPS = {
    "A": ("owned", False),
    "F": ("owned", True),
    "C": ("free", True),
    "W": ("owned", False),
    "L": ("owned", True),
    "S": ("owned", True),
    "R": ("free", True),
}

Slot = tuple[str, int]


def breaks_rule(schedule: Schedule, reason: str) -> bool:
    """Whether `schedule` breaks the rule that a message of the verifier names.

    Args:
        schedule: The schedule.
        reason: The message without numbers, as in ``Disagreement.reason``.
    """
    return any(
        reason.startswith(start) and breaks(schedule)
        for start, breaks in _RULES.items()
    )


def find_broken_rule(schedule: Schedule) -> str:
    """Names a rule that `schedule` breaks; empty if it keeps all of them."""
    if schedule.form == "barriers":
        rules = {"totals": breaks_totals, "phases": breaks_phases}
    else:
        rules = {"transactions": breaks_transactions, "slots": leaves_slots}
    broken = (name for name, breaks in rules.items() if breaks(schedule))
    return next((f"the rule of {name} is broken" for name in broken), "")


def _iterate(schedule: Schedule, trips: int) -> Iterator[list[tuple[str, Slot, int]]]:
    """For each role its operations, with their slots and phases."""
    for operations in split_operations(schedule):
        role = []
        for iteration, operation in itertools.product(range(trips), operations):
            letter, pair = operation[0], operation[1:]
            depth = schedule.depths[int(pair)]
            name = ("empty" if letter in "ER" else "full") + pair
            role.append((letter, (name, iteration % depth), iteration // depth))
        yield role


def _enough(schedule: Schedule) -> int:
    """A number of iterations after which each slot is used again."""
    return 2 * max(schedule.depths) + 1


def _end_transactions(schedule: Schedule) -> Iterator[set[tuple[str, Slot]] | None]:
    """For each role the slots that it has at its end.

    None if its operations on a slot are no sequence of transactions.
    """
    for role in _iterate(schedule, _enough(schedule)):
        owned: set[tuple[str, Slot]] | None = set()
        for letter, (name, number), _ in role:
            after, needs_slot = _STEPS[letter]
            side = "producer" if letter in "AFC" else "consumer"
            slot = side, (name[-1], number)
            if owned is None or (needs_slot and slot not in owned):
                owned = None
            elif after == "owned":
                owned.add(slot)
            else:
                owned.discard(slot)
        yield owned


def breaks_transactions(schedule: Schedule) -> bool:
    """Whether a role's own operations on a slot are no sequence of transactions."""
    return None in _end_transactions(schedule)


def leaves_slots(schedule: Schedule) -> bool:
    """Whether a role never releases or commits a slot that it has got."""
    return any(_end_transactions(schedule))


def breaks_totals(schedule: Schedule) -> bool:
    """Whether arrivals or bytes are left over when all roles have ended."""
    for trips in range(1, _enough(schedule) + 1):
        arrivals: collections.Counter[Slot] = collections.Counter()
        copies: collections.Counter[Slot] = collections.Counter()
        for letter, slot, _ in itertools.chain(*_iterate(schedule, trips)):
            arrivals[slot] += count_arrivals(letter)
            copies[slot] += (letter in "BX") - (letter == "F")
        for (name, _), count in arrivals.items():
            if count % count_of_phase(schedule, name):
                return True
        if any(copies.values()):
            return True
    return False


@dataclasses.dataclass(frozen=True)
class _Barrier:
    """The state of a barrier: its phase, and what has been counted in it."""

    phase: int = 0
    arrived: int = 0
    bytes: int = 0


@dataclasses.dataclass(frozen=True)
class _State:
    """How far each agent is, the barriers, and copies and arrivals under way."""

    places: tuple[int, ...]
    barriers: tuple[_Barrier, ...]
    under_way: frozenset[tuple[int, int]] = frozenset()


class _PhaseSearch:
    """Runs all orders of the steps of all warps, for a number of iterations.

    An agent is a warp, an elected thread, or one of the threads that use cp.async.
    """

    def __init__(self, schedule: Schedule, trips: int) -> None:
        self._agents: list[list[tuple[str, Slot, int]]] = []
        self._roles: list[int] = []
        self._skipped: list[str] = []
        for number, role in enumerate(_iterate(schedule, trips)):
            letters = [letter for letter, _, _ in role]
            apart = 1 if is_elected(letters, schedule.form) else _APART
            steps = [step for step in role if step[0] not in "SLGKP"]
            for agent in range(apart):
                self._agents.append(steps)
                self._roles.append(number)
                # The first one makes the steps of one thread.
                self._skipped.append("FBXA" if agent else "")
        used = sorted({slot for agent in self._agents for _, slot, _ in agent})
        self._numbers = {slot: i for i, slot in enumerate(used)}
        self._counts = [count_of_phase(schedule, name, most=_APART) for name, _ in used]
        #: The phase of each addition and wait, by agent and place.
        self._phases: dict[tuple[int, int], int] = {}

    def breaks(self) -> bool:
        """Whether a step may have different phases, or an agent waits forever."""
        places = tuple(self._skip(agent, 0) for agent in range(len(self._agents)))
        start = _State(places, (_Barrier(),) * len(self._counts))
        seen, stack = {start}, [start]
        while stack and len(seen) < _MAX_STATES:
            state = stack.pop()
            following = list(self._steps(state))
            is_done = all(map(self._is_done, range(len(self._agents)), state.places))
            if None in following or not (following or is_done):
                return True
            for each in following:
                if each is not None and each not in seen:
                    seen.add(each)
                    stack.append(each)
        return False

    def _is_done(self, agent: int, place: int) -> bool:
        return place == len(self._agents[agent])

    def _skip(self, agent: int, place: int) -> int:
        """The first place from `place` on with a step of this agent."""
        steps = self._agents[agent]
        while place < len(steps) and steps[place][0] in self._skipped[agent]:
            place += 1
        return place

    def _steps(self, state: _State) -> Iterator[_State | None]:
        """The states after one step; None for one whose phase depends on the order."""
        for event in state.under_way:
            rest = state.under_way - {event}
            yield self._add(dataclasses.replace(state, under_way=rest), event)
        for agent, place in enumerate(state.places):
            if not self._is_done(agent, place) and self._may_go_on(state, agent):
                yield self._step(state, agent)

    def _may_go_on(self, state: _State, agent: int) -> bool:
        place = state.places[agent]
        letter, slot, phase = self._agents[agent][place]
        if letter in "EW":
            # The parity of a wait for `empty` is that of the phase before.
            parity = (phase + (letter == "E")) % 2
            return state.barriers[self._numbers[slot]].phase % 2 != parity
        if letter in "YT":
            return all(
                other >= place
                for other, role in zip(state.places, self._roles, strict=True)
                if role == self._roles[agent]
            )
        return True

    def _step(self, state: _State, agent: int) -> _State | None:
        event = agent, state.places[agent]
        letter, slot, _ = self._agents[agent][event[1]]
        places = list(state.places)
        places[agent] = self._skip(agent, event[1] + 1)
        state = dataclasses.replace(state, places=tuple(places))
        if letter in "FN":
            return dataclasses.replace(state, under_way=state.under_way | {event})
        if letter in "YT":
            return state
        if letter in "EW":
            seen = state.barriers[self._numbers[slot]].phase
            return state if self._is_always(event, seen) else None
        return self._add(state, event)

    def _is_always(self, event: tuple[int, int], phase: int) -> bool:
        return self._phases.setdefault(event, phase) == phase

    def _add(self, state: _State, event: tuple[int, int]) -> _State | None:
        """An arrival is made, bytes are expected, or they land."""
        letter, slot, _ = self._agents[event[0]][event[1]]
        number = self._numbers[slot]
        barrier = state.barriers[number]
        if not self._is_always(event, barrier.phase):
            return None
        arrived = barrier.arrived + (letter in "RCNAB")
        rest = barrier.bytes + (letter in "BX") - (letter == "F")
        if arrived > self._counts[number]:
            return None
        after = _Barrier(barrier.phase, arrived, rest)
        if arrived == self._counts[number] and rest == 0:
            after = _Barrier(barrier.phase + 1)
        barriers = list(state.barriers)
        barriers[number] = after
        return dataclasses.replace(state, barriers=tuple(barriers))


def breaks_phases(schedule: Schedule) -> bool:
    """Whether an arrival, a copy or a wait may have different phases."""
    return schedule.guard in ("none", "all") and any(
        _PhaseSearch(schedule, trips).breaks() for trips in _TRIPS
    )


#: The rules, by the start of the message that says that one is broken.
_RULES = {
    "role @r# commits slot #": breaks_transactions,
    "role @r# releases slot #": breaks_transactions,
    "role @r# writes to slot # of a channel outside": breaks_transactions,
    "role @r# reads slot # of a channel without a tile.wait": breaks_transactions,
    "slot # is waited for and never released": leaves_slots,
    "a phase of slot # of this barrier is left incomplete": breaks_totals,
    "role @r# adds to slot # of this barrier without waiting": breaks_phases,
    "a barrier completes a phase": breaks_phases,
}
