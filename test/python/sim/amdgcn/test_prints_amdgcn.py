"""Prints in code for AMD's GPUs, in the words of the interpreter."""

import numpy as np
import pytest

import tilews
import tilews.language as tl
from tilews import passes
from tilews.language.types import FNUZ
from tilews.runtime import print_records
from tilews.runtime.manifest import check_manifest
from tilews.sim.amdgcn import POLICIES, KernelTrap, Simulator, launch

CHIPS = ["gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201"]
ALL_POLICIES = [(chip, policy) for chip in CHIPS[1:3] for policy in POLICIES]


def compare(capfd, kernel, arguments, chip):
    """Checks that the interpreter and the simulator print the same; returns it."""
    capfd.readouterr()
    kernel(*arguments, backend="cpu")
    expected = capfd.readouterr().out
    kernel(*arguments, target=chip, run="sim")
    assert capfd.readouterr().out == expected
    return expected


@tilews.kernel(threads=128)
def show_all(X: tl.Tensor["N", tl.f32], n: tl.i32):
    block = tl.grid(tl.cdiv(X.shape[0], 100))
    x = tl.load(X[block * 100], (100,))
    tl.print("scalars", n, block, tl.sum(x), "no values of 100 %d", 3)
    tl.print("x", x, "small", x < 2.0)
    if block > 0:
        tl.print("guarded", block)
    for step in range(3):
        tl.print("step", step, "scaled", tl.arange(6) * step - n)
    tl.print("the end")


@pytest.mark.parametrize("chip", CHIPS)
def test_blocks_guards_and_loops(capfd, chip):
    x = np.arange(250, dtype=np.float32) / 8
    text = compare(capfd, show_all, [x, 7], chip)
    assert text.count("block (2, 0, 0): guarded 2\n") == 1
    assert "block (0, 0, 0): guarded" not in text
    assert text.count("): step") == 9 and text.count("the end\n") == 3
    assert "no values of 100 %d 3\n" in text


@tilews.kernel(threads=64)
def show_panels(X: tl.Tensor["64", tl.f32], last: tl.i32):
    x, y = tl.grid(3, 4)
    tl.rasterize("row", panel=2)
    tl.print("at", x, y)
    tl.device_assert((x != last) | (y != last), "the last place")


@pytest.mark.parametrize("chip", CHIPS)
def test_blocks_in_another_order_name_the_place_that_the_kernel_sees(capfd, chip):
    x = np.zeros(64, np.float32)
    text = compare(capfd, show_panels, [x, -1], chip)
    assert text.count("block (2, 3, 0): at 2\nblock (2, 3, 0): at 3\n") == 1
    with pytest.raises(KernelTrap, match=r"the last place .*, block \(2, 2, 0\)"):
        show_panels(x, 2, target=chip, run="sim")
    capfd.readouterr()
    module = show_panels.build(chip)
    passes.run(module, "tile-rasterize-blocks")
    tilews.sim.run(module, None, [x, -1])
    assert sorted(capfd.readouterr().out.split("\n")) == sorted(text.split("\n"))
    with pytest.raises(tilews.sim.SimulationError, match=r"\(block \(2, 2, 0\)\)"):
        tilews.sim.run(module, None, [x, 2])


TYPES = {
    each.name: each
    for each in (
        *(tl.f64, tl.f32, tl.f16, tl.bf16, tl.e4m3, tl.e5m2),
        *(tl.i8, tl.u8, tl.i16, tl.u16, tl.i32, tl.u32, tl.i64, tl.u64),
    )
}


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("name", TYPES)
def test_element_types(capfd, chip, name):
    dtype = TYPES[name]
    if chip in ("gfx90a", "gfx942"):
        dtype = FNUZ.get(dtype, dtype)

    @tilews.kernel(threads=64)
    def show(X: tl.Tensor["16, 6", dtype]):
        tl.print("x", tl.load(X), "first", tl.load(X[0, 0]))

    # All bits, so that NaN, infinities and negative numbers are among them.
    bits = np.random.default_rng(3).integers(0, 256, 96 * dtype.numpy.itemsize)
    x = bits.astype(np.uint8).view(dtype.numpy).reshape(16, 6)
    compare(capfd, show, [x], chip)


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("dtype", [tl.i4, tl.u4, tl.i1], ids=str)
def test_elements_below_a_byte(capfd, chip, dtype):
    @tilews.kernel(threads=64)
    def show(X: tl.Tensor["64", tl.i8]):
        x = tl.load(X)
        tl.print("x", x != 0 if dtype == tl.i1 else x.to(dtype))

    compare(capfd, show, [np.arange(-8, 56, dtype=np.int8)], chip)


@tilews.kernel(threads=64)
def show_places(X: tl.Tensor["2, 3, 5", tl.i32]):
    x, y, z = tl.grid(3, 2, 2)
    tl.print("place", x, y, z)
    tl.print("all", tl.load(X) + x)


@pytest.mark.parametrize("chip", CHIPS)
def test_grids_and_fragments_of_three_dimensions(capfd, chip):
    x = np.arange(30, dtype=np.int32).reshape(2, 3, 5)
    text = compare(capfd, show_places, [x], chip)
    assert "block (2, 1, 1): place 2\nblock (2, 1, 1): place 1\n" in text


@pytest.mark.parametrize(("chip", "policy"), ALL_POLICIES)
def test_all_orders_of_waves_and_accesses(capfd, chip, policy):
    x = np.arange(250, dtype=np.float32) / 8
    texts = set()
    for seed in range(3):
        launch(show_all.compile(chip), [x, 7], seed, policy=policy)
        texts.add(capfd.readouterr().out)
    assert len(texts) == 1 and "the end" in texts.pop()


@pytest.mark.parametrize("chip", CHIPS)
def test_the_number_of_lines_is_limited(capfd, chip, monkeypatch):
    monkeypatch.setenv("TILEWS_PRINT_LINES", "9")
    text = compare(capfd, show_all, [np.zeros(250, np.float32), 7], chip)
    assert len(text.splitlines()) == 10 and "... and more;" in text


def test_prints_without_room_are_counted(capfd, monkeypatch):
    monkeypatch.setattr("tilews.sim.amdgcn.launching.MEMORY_WORDS", 3 + 4 * 3 + 40)
    show_all(np.zeros(100, np.float32), 7, target="gfx942", run="sim")
    text = capfd.readouterr().out
    assert text.startswith("block (0, 0, 0): scalars 7\n")
    assert "... and 9 more prints of blocks, for which" in text


def test_records_that_are_not_complete_are_left_out(capfd):
    manifest = show_all.compile("gfx942").manifest
    memory = np.zeros(64, np.uint64)
    records = print_records.PrintRecords(manifest, memory)
    ((number, guarded),) = (
        (i, each)
        for i, each in enumerate(manifest["print_records"], 1)
        if each["message"] == "guarded"
    )
    assert guarded["values"] == [{"dtype": "i32"}]
    with records:
        assert memory[1] == 61 and not memory[2:].any()
        memory[3:7] = number, 5 | 4 << 32, 0, 1  # not complete
        memory[7:11] = number, 5 | 4 << 32, 1 << 63 | 3, 2**32 - 2
        memory[11:15] = 0, 5, 1 << 63, 3  # not begun, and all after it
    assert capfd.readouterr().out == "block (5, 4, 3): guarded -2\n"


@tilews.kernel(threads=64)
def show_then_fail(X: tl.Tensor["64", tl.f32]):
    x = tl.load(X)
    tl.print("sum", tl.sum(x))
    tl.device_assert(x > 0.0, "no root")


def test_a_kernel_that_fails_has_printed(capfd):
    with pytest.raises(KernelTrap, match="no root"):
        show_then_fail(np.zeros(64, np.float32), target="gfx942", run="sim")
    assert capfd.readouterr().out == "block (0, 0, 0): sum 0\n"


@pytest.mark.parametrize("chip", CHIPS)
def test_a_launch_that_reads_nothing_runs(capfd, chip):
    kernel = show_all.compile(chip)
    check_manifest(kernel.manifest)
    numbers = [np.zeros(250, np.float32), np.int32(250), np.int32(7)]
    # Without the address of memory for records, there are none.
    shared = kernel.manifest["shared_bytes"]
    Simulator(kernel.hsaco).launch("show_all", (3, 1, 1), 128, numbers, shared)
    assert capfd.readouterr().out == ""


def test_kernels_without_prints_have_no_memory_for_them():
    @tilews.kernel(threads=64)
    def plain(X: tl.Tensor["64", tl.f32]):
        X[0] = tl.load(X) + 1.0

    kernel = plain.compile("gfx942")
    assert "print_records" not in kernel.manifest
    assert b"__tilews_records" not in kernel.hsaco
