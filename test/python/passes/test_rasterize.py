"""Every block, and every iteration of a persistent loop, takes a different tile."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tilews import ir, passmanager, sim

extents = st.integers(1, 13)
panels = st.one_of(st.integers(1, 15), st.just(65535))
orders = st.sampled_from(["row", "col"])

BLOCKS = """
gpu.module @m {{
  gpu.func @k(%taken: memref<?x?xi32>) kernel attributes {{
      tile.cluster = array<i32: {cluster}, 1, 1>,
      tile.rasterize = #tile.rasterize<{order}, panel = {panel}>}} {{
    %x = gpu.block_id x
    %y = gpu.block_id y
    %one = arith.constant 1 : i32
    %old = memref.load %taken[%y, %x] : memref<?x?xi32>
    %new = arith.addi %old, %one : i32
    memref.store %new, %taken[%y, %x] : memref<?x?xi32>
    gpu.return
  }}
}}"""

# Stores the block, and the number of the block's iteration, for each tile.
PERSISTENT = """
gpu.module @m {{
  gpu.func @k(%block: memref<?x?x?xi32>, %round: memref<?x?x?xi32>,
              %nx: index, %ny: index, %nz: index) kernel {{
    %zero = arith.constant 0 : i32
    %one = arith.constant 1 : i32
    %id = gpu.block_id y
    %b = arith.index_cast %id : index to i32
    %n = tile.persistent (%x, %y, %z) in (%nx, %ny, %nz)
        iter_args(%t = %zero) -> (i32) {{
      memref.store %b, %block[%z, %y, %x] : memref<?x?x?xi32>
      memref.store %t, %round[%z, %y, %x] : memref<?x?x?xi32>
      %next = arith.addi %t, %one : i32
      tile.yield %next : i32
    }} {{{attributes}}}
    gpu.return
  }}
}}"""


def run(text: str, name: str | None, arguments: list, grid: tuple) -> None:
    """Runs a kernel after the pass `name`, if any."""
    with ir.Context():
        module = ir.Module.parse(text)
        if name:
            manager = passmanager.PassManager.parse(f"builtin.module({name})")
            manager.run(module.operation)
        sim.run(module, "k", arguments, grid, threads=1)


def run_persistent(attributes, lowered, blocks, shape, extents=None):
    """The block of each tile, and its iteration; -1 for tiles without a block."""
    block, iteration = np.full(shape, -1, np.int32), np.full(shape, -1, np.int32)
    run(
        PERSISTENT.format(attributes=attributes),
        "tile-lower-persistent" if lowered else None,
        [block, iteration, *reversed(extents or shape)],
        (1, blocks, 1),
    )
    return block, iteration


@settings(max_examples=40, deadline=None)
@given(orders, panels, extents, extents, st.sampled_from([1, 2, 4]))
def test_blocks_take_each_tile_once(order, panel, x, y, cluster):
    taken = np.zeros((y, x * cluster), np.int32)
    text = BLOCKS.format(order=order, panel=panel, cluster=cluster)
    run(text, "tile-rasterize-blocks", [taken], (x * cluster, y, 1))
    assert (taken == 1).all(), taken


@settings(max_examples=40, deadline=None)
@given(
    st.one_of(
        st.just(""),
        st.builds("rasterize = #tile.rasterize<{}, panel = {}>".format, orders, panels),
    ),
    st.integers(1, 20),
    st.tuples(st.integers(1, 3), extents, extents),
)
def test_persistent_loops_take_each_tile_once(attributes, blocks, shape):
    block, iteration = run_persistent(attributes, True, blocks, shape)
    numbers = np.sort((iteration * blocks + block).ravel())
    assert (numbers == np.arange(numbers.size)).all()
    # The interpreter numbers the tiles itself.
    for found, expected in zip(
        (block, iteration),
        run_persistent(attributes, False, blocks, shape),
        strict=True,
    ):
        np.testing.assert_array_equal(found, expected)


def test_panels_are_serpentine():
    attributes = "rasterize = #tile.rasterize<row, panel = 2>"
    _, iteration = run_persistent(attributes, True, 1, (1, 3, 4))
    assert iteration[0].tolist() == [[0, 2, 4, 6], [1, 3, 5, 7], [11, 10, 9, 8]]
    attributes = "rasterize = #tile.rasterize<col, panel = 2>"
    _, iteration = run_persistent(attributes, True, 1, (1, 4, 3))
    assert iteration[0].T.tolist() == [[0, 2, 4, 6], [1, 3, 5, 7], [11, 10, 9, 8]]


def test_no_tiles():
    for lowered in (True, False):
        block, _ = run_persistent("", lowered, 3, (1, 2, 5), extents=(1, 0, 5))
        assert (block == -1).all()
