"""Pipelined kernels with guards, whose schedules are the hardest to prove.

The copies of a stage are guarded by conditions that their uses, some iterations later,
decide again. Each kernel is the text of a module, for any chip and number of stages.
"""

from __future__ import annotations

import textwrap

_MODULE = """\
#wg = #gpu.address_space<workgroup>
!s = memref<32x32xf16, #wg>
!t = tensor<32x32xf16>
gpu.module @kernels {{
  gpu.func @{name}(%A: memref<?x?xf16> {{tile.divisible = array<i64: 1, 32>}},
      %m0: memref<?xi1>, %m1: memref<?xi1>, %m2: memref<?xi1>,
      %rows: memref<?xindex>, %C: memref<32x32xf16>, %n: index, %w: index)
      kernel attributes {{tile.threads = 128 : i32}} {{
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %c4 = arith.constant 4 : index
    %c32 = arith.constant 32 : index
    %true = arith.constant true
    %t = gpu.block_id x
    %zero = arith.constant dense<0.0> : !t
    %s0 = tile.alloc_shared : !s
    %s1 = tile.alloc_shared : !s
    %s2 = tile.alloc_shared : !s
    %r = scf.for %k = %c0 to %n step %c1 iter_args(%x0 = %zero) -> !t {{
{body}
    }} {{tile.num_stages = {stages} : i32}}
    tile.store %r to %C : !t to memref<32x32xf16>
    gpu.return
  }}
}}
"""


def _use(number: int, before: str, after: str) -> str:
    """A copy to one of the buffers and its use; `after` is `before` plus a tile."""
    return textwrap.dedent(f"""\
        %p{number} = arith.muli %k, %c32 : index
        tile.copy %A[%c0, %p{number}] to %s{number} : memref<?x?xf16> to !s
        %l{number} = tile.load %s{number} : !s -> !t
        {after} = arith.addf {before}, %l{number} : !t
        """)


def _if(number: int, guard: str, before: str, after: str, body: str = "") -> str:
    """A guarded use, with more guarded uses in `body`, of which the last is `%x`."""
    last = "%x" if body else f"%y{number}"
    inner = _use(number, before, f"%y{number}") + body
    return (
        f"{after} = scf.if {guard} -> !t {{\n"
        + textwrap.indent(f"{inner}scf.yield {last} : !t", "  ")
        + f"\n}} else {{\n  scf.yield {before} : !t\n}}\n"
    )


def _mask(number: int) -> str:
    return f"%g{number} = memref.load %m{number}[%k] : memref<?xi1>\n"


def _guarded(condition: str) -> str:
    """A loop body whose one copy is guarded by `%g0`."""
    return f"{condition}\n{_if(0, '%g0', '%x0', '%x')}scf.yield %x : !t"


def _both(first: str, second: str) -> str:
    """`%g0` is the conjunction of two comparisons of indices."""
    return (
        f"%a = arith.cmpi {first} : index\n%b = arith.cmpi {second} : index\n"
        "%g0 = arith.andi %a, %b : i1"
    )


def _three(first: str, second: str, third: str) -> str:
    """Three copies, each with a use; the texts make their guards `%g0` to `%g2`."""
    guards = [
        text + _if(i, f"%g{i}", f"%x{i}", f"%x{i + 1}")
        for i, text in enumerate((first, second, third))
    ]
    return "".join(guards) + "scf.yield %x3 : !t"


def _nested() -> str:
    inner = _mask(2) + _if(2, "%g2", "%y1", "%x")
    middle = _mask(1) + _if(1, "%g1", "%y0", "%x", inner)
    return _mask(0) + _if(0, "%g0", "%x0", "%x", middle) + "scf.yield %x : !t"


_DISTANCE = "%d = arith.subi %k, %t : index\n"
#: The loop bodies, by what guards their copies.
BODIES: dict[str, str] = {
    "mask": _guarded(_mask(0)),
    "one of three masks": _guarded(
        _mask(0).replace("%g0", "%a")
        + "%g0 = scf.if %a -> i1 {\n  scf.yield %true : i1\n} else {\n"
        + _mask(1).replace("%g1", "%b")
        + "%c = scf.if %b -> i1 {\n  scf.yield %true : i1\n} else {\n"
        + _mask(2)
        + "  scf.yield %g2 : i1\n}\n  scf.yield %c : i1\n}"
    ),
    "loaded index": _guarded(
        "%row = memref.load %rows[%k] : memref<?xindex>\n"
        + _both("sge, %row, %c0", "slt, %row, %n")
    ),
    "sliding window": _guarded(
        f"{_DISTANCE}%e = arith.subi %t, %k : index\n"
        + _both("slt, %d, %w", "slt, %e, %w")
    ),
    "absolute distance": _guarded(
        f"{_DISTANCE}%e = math.absi %d : index\n%g0 = arith.cmpi slt, %e, %w : index"
    ),
    "band": _guarded(
        "%low = arith.subi %t, %c2 : index\n%high = arith.addi %t, %c2 : index\n"
        + _both("sge, %k, %low", "sle, %k, %high")
    ),
    "band of tiles": _guarded(
        "%f = arith.muli %t, %c4 : index\n%g = arith.addi %f, %c4 : index\n"
        + _both("sge, %k, %f", "slt, %k, %g")
    ),
    "strided": _guarded(
        f"{_DISTANCE}%e = arith.remsi %d, %c4 : index\n"
        "%g0 = arith.cmpi eq, %e, %c0 : index"
    ),
    "strided by an argument": _guarded(
        f"{_DISTANCE}%e = arith.floordivsi %d, %w : index\n"
        "%f = arith.muli %e, %w : index\n%g0 = arith.cmpi eq, %d, %f : index"
    ),
    "thirds from the end": _guarded(
        "%a = arith.subi %n, %c1 : index\n%b = arith.subi %a, %k : index\n"
        "%c = arith.floordivsi %b, %c3 : index\n%d = arith.muli %c, %c3 : index\n"
        "%g0 = arith.cmpi ne, %b, %d : index"
    ),
    "three masks": _three(_mask(0), _mask(1), _mask(2)),
    "three comparisons": _three(
        "%row = memref.load %rows[%k] : memref<?xindex>\n"
        "%g0 = arith.cmpi sge, %row, %c0 : index\n",
        f"{_DISTANCE}%g1 = arith.cmpi slt, %d, %w : index\n",
        "%e = arith.floordivsi %d, %w : index\n%f = arith.muli %e, %w : index\n"
        "%g2 = arith.cmpi eq, %d, %f : index\n",
    ),
    "nested masks": _nested(),
}


def kernel(name: str, stages: int) -> str:
    """The text of a module with one kernel, whose copies are guarded."""
    return _MODULE.format(
        name=name.replace(" ", "_"),
        body=textwrap.indent(BODIES[name], " " * 6),
        stages=stages,
    )
