"""Schedules with roles, channels and barriers by hand, of any size along one axis."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from .texts import join, repeat

# --- Schedules by hand ------------------------------------------------------------

_TYPES = """
#wg = #gpu.address_space<workgroup>
!S = memref<2x16xf32, #wg>
!s = memref<16xf32, #wg>
!t = tensor<16xf32>
!ch = !tile.channel<2>
!cu = !tile.cursor<2>
!b = !tile.mbarrier<1>
"""


def _scheduled(body: str, roles: Iterable[str], warps: int) -> str:
    return (
        f"{_TYPES}\n"
        'gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {\n'
        "gpu.func @kernel(%A: memref<?xf32> {tile.divisible = array<i64: 4>}, "
        "%C: memref<16xf32>, %n: index) kernel "
        f"attributes {{tile.threads = {32 * warps} : i32}} {{\n"
        "%c0 = arith.constant 0 : index\n%c1 = arith.constant 1 : index\n"
        "%c16 = arith.constant 16 : index\n"
        "%i0 = arith.constant 0 : i32\n%i1 = arith.constant 1 : i32\n"
        f"{body}\ntile.specialize {{\n" + "\n".join(roles) + "\n}\ngpu.return\n}\n}\n"
    )


def _consume(i: int) -> str:
    return (
        f"tile.wait %ch{i}[%q{i}] : !ch\n"
        f"%v{i} = tile.slot %s{i}[%q{i}] : !S, !cu -> !s\n"
        f"%x{i} = tile.load %v{i} : !s -> !t\n"
        f"tile.release %ch{i}[%q{i}] : !ch\n"
        f"%e{i} = tile.advance %q{i} : !cu\n"
        f"tile.atomic_rmw <add> %x{i} to %C : !t to memref<16xf32>"
    )


def _produce(i: int) -> str:
    return (
        f"tile.acquire %ch{i}[%q{i}] : !ch\n"
        f"%v{i} = tile.slot %s{i}[%q{i}] : !S, !cu -> !s\n"
        f"%at{i} = arith.muli %k, %c16 : index\n"
        f"tile.copy %A[%at{i}] to %v{i} {{tile.inst = #tile.inst<tma>}}"
        " : memref<?xf32> to !s\n"
        f"tile.commit %ch{i}[%q{i}] : !ch\n"
        f"%e{i} = tile.advance %q{i} : !cu"
    )


def _role(name: str, warps: int, body: Callable[[int], str], items: range) -> str:
    """A role with a loop that makes one transaction of each of some channels."""
    cursors = "\n".join(f"%p{i} = tile.cursor : !cu" for i in items)
    initial = ", ".join(f"%q{i} = %p{i}" for i in items)
    types = ", ".join("!cu" for _ in items)
    transactions = "\n".join(body(i) for i in items)
    last = ", ".join(f"%e{i}" for i in items)
    return (
        f"tile.role @{name} warps({warps}) {{\n{cursors}\n"
        f"%r:{len(items)} = scf.for %k = %c0 to %n step %c1 iter_args({initial})"
        f" -> ({types}) {{\n{transactions}\nscf.yield {last} : {types}\n}}\n}}"
    )


def _channel(i: int) -> str:
    return (
        f"%s{i} = tile.alloc_shared : !S\n"
        f"%ch{i} = tile.channel(%s{i}) {{producer = #tile.producer<tma>}} : !S -> !ch"
    )


def role_channels(size: int) -> str:
    """Channels between two roles."""
    every = range(size)
    return _scheduled(
        repeat(size, _channel),
        [_role("math", 4, _consume, every), _role("load", 1, _produce, every)],
        5,
    )


def roles(size: int) -> str:
    """Pairs of a producer and a consumer role, each with a channel of its own."""
    pairs = [
        text
        for i in range(size // 2)
        for text in (
            _role(f"math{i}", 1, _consume, range(i, i + 1)),
            _role(f"load{i}", 1, _produce, range(i, i + 1)),
        )
    ]
    return _scheduled(repeat(size // 2, _channel), pairs, size // 2 * 2)


def _masked(i: int, body: str, number: int, last: str) -> str:
    """One transaction of channel 0, under the condition of mask `i`."""
    text = body.replace("%q0", f"%q{i}").replace("%e0", f"%a{i}")
    for name in ("%v0", "%x0"):
        text = text.replace(name, f"{name}x{i}")
    return (
        f"%m{i} = arith.constant {i} : index\n"
        f"%on{i} = memref.load %M[%k, %m{i}] : memref<?x{number}xi1>\n"
        f"{last} = scf.if %on{i} -> !cu {{\n{text}\nscf.yield %a{i} : !cu\n"
        f"}} else {{\nscf.yield %q{i} : !cu\n}}"
    )


def masks(size: int) -> str:
    """Transactions of one channel in one iteration, each under a guard of its own."""

    def role(name: str, warps: int, body: str) -> str:
        guarded = repeat(size, lambda i: _masked(i, body, size, f"%q{i + 1}"))
        return (
            f"tile.role @{name} warps({warps}) {{\n%p0 = tile.cursor : !cu\n"
            "%r = scf.for %k = %c0 to %n step %c1 iter_args(%q0 = %p0) -> !cu {\n"
            f"{guarded}\nscf.yield %q{size} : !cu\n}}\n}}"
        )

    roles = [role("math", 4, _consume(0)), role("load", 1, _produce(0))]
    text = _scheduled(_channel(0), roles, 5)
    return text.replace("%n: index", f"%M: memref<?x{size}xi1>, %n: index")


def _guarded(before: str, condition: str, memory: str) -> str:
    """One transaction in each iteration of two roles, under a condition of both."""

    def role(name: str, warps: int, body: str) -> str:
        return (
            f"tile.role @{name} warps({warps}) {{\n%p0 = tile.cursor : !cu\n"
            "%r = scf.for %k = %c0 to %n step %c1 iter_args(%q0 = %p0) -> !cu {\n"
            f"{before}\n%z = scf.if {condition} -> !cu {{\n{body}\n"
            "scf.yield %e0 : !cu\n} else {\nscf.yield %q0 : !cu\n}\n"
            "scf.yield %z : !cu\n}\n}"
        )

    roles = [role("math", 4, _consume(0)), role("load", 1, _produce(0))]
    text = _scheduled(_channel(0), roles, 5)
    return text.replace("%n: index", f"%M: {memory}, %n: index")


def guard_terms(size: int) -> str:
    """A guard that is a nest of conjunctions and disjunctions."""
    memory = f"memref<?x{size}xi1>"

    def term(i: int) -> str:
        op = "andi" if i % 2 else "ori"
        return (
            f"%j{i} = arith.constant {i} : index\n"
            f"%g{i} = memref.load %M[%k, %j{i}] : {memory}\n"
            f"%h{i} = arith.{op} %{f'h{i - 1}' if i else 'g0'}, %g{i} : i1"
        )

    return _guarded(repeat(size, term), f"%h{size - 1}", memory)


def guard_loads(size: int) -> str:
    """A guard on the last of a chain of loads, each from where the last one says."""
    memory = "memref<?x1xindex>"
    chain = repeat(size, lambda i: f"%l{i + 1} = memref.load %M[%l{i}, %c0] : {memory}")
    return _guarded(
        f"%l0 = memref.load %M[%k, %c0] : {memory}\n{chain}\n"
        f"%h = arith.cmpi slt, %l{size}, %k : index",
        "%h",
        memory,
    )


def trip_counts(size: int) -> str:
    """Loops in sequence in two roles, each with a trip count of its own."""

    def role(name: str, warps: int, body: str) -> str:
        def loop(i: int) -> str:
            own = body.replace("%q0", "%q").replace("%e0", "%e")
            return (
                f"%p{i + 1} = scf.for %k = %c0 to %n{i} step %c1 "
                f"iter_args(%q = %p{i}) -> !cu {{\n{own}\nscf.yield %e : !cu\n}}"
            )

        loops = repeat(size, loop)
        return (
            f"tile.role @{name} warps({warps}) {{\n%p0 = tile.cursor : !cu\n{loops}\n}}"
        )

    roles = [role("math", 4, _consume(0)), role("load", 1, _produce(0))]
    text = _scheduled(_channel(0), roles, 5)
    return text.replace("%n: index", join(size, lambda i: f"%n{i}: index"))


def barriers(size: int) -> str:
    """Barriers in memory: one role arrives on each, and another one waits for it."""
    made = repeat(size, lambda i: f"%b{i} = tile.mbarrier {{count = 1 : i64}} : !b")
    waits = repeat(size, lambda i: f"tile.mbarrier_wait %b{i}[%i0], %i0 : !b")
    arrive = repeat(
        size,
        lambda i: f"tile.mbarrier_arrive %b{i}[%i0] {{by = #tile.agents<warps>}} : !b",
    )
    return _scheduled(
        f"{made}\ntile.mbarrier_ready",
        [
            f"tile.role @math warps(4) {{\n{waits}\n}}",
            f"tile.role @load warps(1) {{\n{arrive}\n}}",
        ],
        5,
    )
