"""Channels and roles in the interpreter."""

import numpy as np
import pytest

from support.interpreting import SHARED
from tilews import ir, sim

#: One role fills slots with rows of %a; another role adds them up. A mask may guard
#: the work of each.
KERNEL = """
!Buffer = memref<{depth}x64xf32, {shared}>
!slot = memref<64xf32, {shared}>
gpu.module @m [#nvvm.target<chip = "sm_90a">] {{
  gpu.func @sum(%a: memref<?x64xf32>, %mask: memref<?xi1>,
      %out: memref<64xf32>, %n: index)
      kernel attributes {{tile.threads = 64 : i32,
                          tile.grid = affine_map<()[n, m, k] -> (1)>}} {{
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %buffer = tile.alloc_shared : !Buffer
    %ch = tile.channel(%buffer) {{producer = #tile.producer<simt>}}
      : !Buffer -> !tile.channel<{depth}>
    tile.specialize {{
      tile.role @math warps(1) {{
        %q0 = tile.cursor : !tile.cursor<{depth}>
        %zero = arith.constant dense<0.0> : tensor<64xf32>
        %sum, %last = scf.for %i = %c0 to %n step %c1
            iter_args(%s = %zero, %q = %q0)
            -> (tensor<64xf32>, !tile.cursor<{depth}>) {{
          %on = memref.load %mask[%i] : memref<?xi1>
          %s2, %q2 = scf.if %on -> (tensor<64xf32>, !tile.cursor<{depth}>) {{
            tile.wait %ch[%q] : !tile.channel<{depth}>
            %slot = tile.slot %buffer[%q] : !Buffer -> !slot
            %row = tile.load %slot : !slot -> tensor<64xf32>
            %r = arith.addf %s, %row : tensor<64xf32>
            {release}
            %next = tile.advance %q : !tile.cursor<{depth}>
            scf.yield %r, %next : tensor<64xf32>, !tile.cursor<{depth}>
          }} else {{
            scf.yield %s, %q : tensor<64xf32>, !tile.cursor<{depth}>
          }}
          scf.yield %s2, %q2 : tensor<64xf32>, !tile.cursor<{depth}>
        }}
        tile.store %sum to %out : tensor<64xf32> to memref<64xf32>
      }}
      tile.role @load warps(1) {{
        %p0 = tile.cursor : !tile.cursor<{depth}>
        scf.for %i = %c0 to %n step %c1 iter_args(%p = %p0)
            -> !tile.cursor<{depth}> {{
          %on = memref.load %mask[%i] : memref<?xi1>
          %p2 = scf.if %on -> !tile.cursor<{depth}> {{
            tile.acquire %ch[%p] : !tile.channel<{depth}>
            %slot = tile.slot %buffer[%p] : !Buffer -> !slot
            tile.copy %a[%i, 0] [1, 64] to %slot : memref<?x64xf32> to !slot
            tile.commit %ch[%p] : !tile.channel<{depth}>
            %next = tile.advance %p : !tile.cursor<{depth}>
            scf.yield %next : !tile.cursor<{depth}>
          }} else {{
            scf.yield %p : !tile.cursor<{depth}>
          }}
          scf.yield %p2 : !tile.cursor<{depth}>
        }}
      }}
    }}
    gpu.return
  }}
}}
"""
RELEASE = "tile.release %ch[%q] : !tile.channel<{depth}>"


def launch(depth, rows, mask, release=RELEASE):
    """Runs the kernel; returns the sum and the expected sum."""
    generator = np.random.default_rng(depth + rows)
    a = generator.integers(-9, 9, (rows + 1, 64)).astype("f4")
    mask = np.append(mask, False)
    out = np.full(64, np.nan, "f4")
    text = KERNEL.format(
        depth=depth, shared=SHARED, release=release.format(depth=depth)
    )
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        sim.run(module, "sum", [a, mask, out, rows], 1)
    return out, a[mask].sum(axis=0)


@pytest.mark.parametrize("depth", [1, 2, 3, 5])
@pytest.mark.parametrize("rows", [0, 1, 2, 7, 12])
@pytest.mark.parametrize("guard", ["all", "none", "some"])
def test_slots_change_hands(depth, rows, guard):
    mask = {
        "all": np.ones(rows, bool),
        "none": np.zeros(rows, bool),
        "some": np.arange(rows) % 3 != 1,
    }[guard]
    out, expected = launch(depth, rows, mask)
    np.testing.assert_array_equal(out, expected)


def test_a_slot_that_is_never_released_ends_in_a_report():
    with pytest.raises(sim.SimulationError) as error:
        launch(2, 5, np.ones(5, bool), release="")
    text = str(error.value)
    assert "never returns" in text
    assert "role @load waits here for the phase of parity 0 of the 'empty'" in text
    assert "1 of 1 arrivals missing" in text
    assert "role @math waits here for the phase of parity 1 of the 'full'" in text
    assert "role @load arrives at that barrier here" in text


def test_enough_slots_need_no_release():
    out, expected = launch(8, 5, np.ones(5, bool), release="")
    np.testing.assert_array_equal(out, expected)
