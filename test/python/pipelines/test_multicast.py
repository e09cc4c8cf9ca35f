"""Clusters whose blocks multicast tiles, in the simulator.

Matmuls are compared with numpy in each form and timing; broken schedules are found."""

import re

import numpy as np
import pytest

from benchmarks import kernels
from support.interpreting import DTYPES
from support.simulating import TIMINGS
from support.verifying import prove_steps
from tilews import ir, passes, sim

PIPELINE = "tilews-to-nvvm{chip=sm_90a}"
NAMES = {"f16": "f16", "bf16": "bf16", "e4m3": "f8E4M3FN"}


def build(config, shape, dtype="f16", layout="NN"):
    """The matmul as it is written."""
    kernel = kernels.gemm_kernel(
        layout, kernels.divisors(shape), config.blocks > 0, config.cluster
    )
    return kernel.build("sm_90a", **kernels.gemm_bindings(dtype, config))


def lower(*arguments):
    """The matmul with barriers in memory."""
    module = build(*arguments)
    for step in passes.expand(PIPELINE):
        passes.run(module, step)
        if step.startswith("tile-lower-channels"):
            break
    return module


def make_arguments(shape, dtype):
    """Random A and B, and C full of NaN."""
    m, n, k = shape
    random = np.random.default_rng(0)
    a = random.integers(-3, 4, (m, k)).astype(DTYPES[NAMES[dtype]])
    b = random.integers(-3, 4, (k, n)).astype(DTYPES[NAMES[dtype]])
    c = np.full((m, n), np.nan, np.float32).astype(
        DTYPES[NAMES[kernels.OUTPUTS[dtype]]]
    )
    return a, b, c


def check(module, shape, dtype="f16", timings=TIMINGS):
    """Runs under each timing."""
    a, b, _ = make_arguments(shape, dtype)
    exact = a.astype(np.float32) @ b.astype(np.float32)
    for timing in timings:
        c = make_arguments(shape, dtype)[2]
        sim.run(module, None, [a, b, c], **timing)
        np.testing.assert_array_equal(c, exact.astype(c.dtype), err_msg=str(timing))


def config(cluster, blocks=0, bk=64, panel=8, **options):
    return kernels.GemmConfig(64, 64, bk, 128, 3, blocks, panel, cluster, **options)


def find_multicasts(module):
    return re.findall(r"multicast = #tile.cluster<(\S+)>", str(module))


@pytest.mark.parametrize("k", [0, 64, 72, 200, 320])
@pytest.mark.parametrize(
    ("cluster", "dims"), [((2, 1), ["x"]), ((1, 2), ["y"]), ((2, 2), ["x", "y"])]
)
def test_blocks_of_a_grid(cluster, dims, k):
    """No iteration, one, fewer than stages, a partial one, and more."""
    shape = (200, 136, k)
    module = lower(config(cluster), shape)
    assert find_multicasts(module) == dims
    check(module, shape, timings=TIMINGS if k == 200 else TIMINGS[:3])


@pytest.mark.parametrize("cluster", [(2, 1), (1, 2), (1, 4)])
@pytest.mark.parametrize("shape", [(200, 392, 72), (264, 320, 200)], ids=str)
def test_persistent_blocks(cluster, shape):
    """Three waves and more, in panels; some tiles are outside of the result."""
    module = lower(config(cluster, blocks=4, panel=4), shape)
    assert find_multicasts(module) == ["x"]
    check(module, shape)


@pytest.mark.parametrize("cluster", [(2, 1), (1, 2)])
@pytest.mark.parametrize("shape", [(200, 392, 72), (264, 320, 200)], ids=str)
def test_roles_that_take_tiles_alternately(cluster, shape):
    module = lower(config(cluster, blocks=4, panel=4, ping_pong=True), shape)
    assert "tile.role @math1" in str(module)
    assert find_multicasts(module) == ["x"]
    check(module, shape)


@pytest.mark.parametrize("dtype", ["bf16", "e4m3"])
def test_element_types(dtype):
    shape = (136, 144, 320)
    module = lower(
        config((1, 2), bk=128 if dtype == "e4m3" else 64), shape, dtype, "NT"
    )
    assert find_multicasts(module) == ["y"]
    a, b, c = make_arguments(shape, dtype)
    exact = a.astype(np.float32) @ b.astype(np.float32)
    for timing in TIMINGS:
        c[:] = np.nan
        sim.run(module, None, [a, np.ascontiguousarray(b.T), c], **timing)
        np.testing.assert_array_equal(c, exact.astype(c.dtype))


@pytest.mark.parametrize(
    ("cluster", "blocks", "ping_pong"),
    [
        ((2, 1), 0, False),
        ((2, 2), 0, False),
        ((4, 1), 0, False),
        ((1, 2), 4, False),
        ((1, 2), 4, True),
    ],
)
def test_proved(cluster, blocks, ping_pong):
    module = build(config(cluster, blocks, ping_pong=ping_pong), (256, 256, 256))
    prove_steps(module, PIPELINE)


def test_proofs_are_as_large_as_without_a_cluster():
    def count(cluster):
        module = lower(config(cluster, blocks=4, ping_pong=True), (256, 256, 256))
        (remark,) = passes.verify_schedule(module, report=True)
        return int(re.search(r"is proved: .* (\d+) states", remark).group(1))

    alone = count((1, 1))
    assert count((1, 2)) <= 1.5 * alone
    assert count((2, 1)) <= 1.5 * alone


def test_same_after_every_pass():
    shape = (72, 128, 136)
    arguments = make_arguments(shape, "f16")
    module = build(config((2, 1)), shape)
    assert sim.differential(module, None, arguments, PIPELINE) is None


def test_events_of_one_block():
    """The record of a block has its copies, also those to the other block."""
    shape = (64, 128, 200)
    module = lower(config((2, 1)), shape)
    events = []
    sim.run(module, None, make_arguments(shape, "f16"), record=events)
    copies = [event for event in events if event.unit == "tma" and event.end >= 0]
    # In each of four iterations, half of A's tile to each block, and B's tile.
    assert sorted(event.bytes for event in copies) == [4096] * 8 + [8192] * 4


#: Edits that break the matmul, and the simulator's errors.
FAULTS = {
    "release of its own slot only": (
        [(", peers = [#tile.cluster<x>]", ""), ("count = 8", "count = 4")],
        "under way|nothing orders after a read",
    ),
    "counts its own releases only": (
        [("count = 8", "count = 4")],
        "arrives|under way|nothing orders after a read",
    ),
    "expects its own share only": (
        [("bytes = 16384", "bytes = 12288")],
        "expected fewer bytes|never written|under way",
    ),
    "no barrier before the end": ([("tile.cluster_barrier", "")], "may have ended"),
    "barriers not ready in the cluster": (
        [("tile.mbarrier_ready {cluster}", "tile.mbarrier_ready")],
        "tile.mbarrier_ready {cluster}|has not begun",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_are_found(fault):
    changes, message = FAULTS[fault]
    shape = (64, 128, 320)
    module = lower(config((2, 1)), shape)
    text = str(module)
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    with module.context:
        broken = ir.Module.parse(text)
    found = []
    for timing in TIMINGS:
        try:
            check(broken, shape, timings=[timing])
        except sim.SimulationError as error:
            assert re.search(message, str(error)), str(error)
            found.append(timing)
        except AssertionError:
            pytest.fail("wrong results, but no error")
    assert found
