"""The cycle model of AMD's compute units."""

import pathlib

import numpy as np
import pytest
from click.testing import CliRunner

import tilews
import tilews.language as tl
from tilews import cli
from tilews.sim.amdgcn import (
    GLOBAL_LATENCIES,
    MachineError,
    Recording,
    model_cycles,
    record,
)
from tilews.sim.amdgcn.cycle_model import count_blocks
from tilews.sim.amdgcn.disassembly import InstructionTiming, parse
from tilews.sim.amdgcn.recording import ExecutedInstruction

# --- the replay ----------------------------------------------------------------

MATMUL = "v_mfma_f32_32x32x8_f16 a[{0}:{1}], v[0:1], v[2:3], a[{0}:{1}]"


def executed(text, address, shared_cycles=0):
    timing = InstructionTiming(1, 1, "HWVALU")
    if "mfma" in text:
        timing = InstructionTiming(8, 8, "HWXDL")
    return ExecutedInstruction(parse(address, [0, 0], text, timing), shared_cycles)


def replay(lines, waves=4, times=8, latency=500, **options):
    """A loop of some instructions, `times` times in some waves."""
    wave = [executed(text, 8 * i, *rest) for i, (text, *rest) in enumerate(lines)]
    recording = Recording("gfx942", [wave * times] * waves, 128, 1024)
    return model_cycles(recording, latency, options.get("blocks", 1))


def matmuls(count):
    return [(MATMUL.format(16 * i, 16 * i + 15),) for i in range(count)]


@pytest.mark.parametrize("waves, share", [(1, 0.25), (2, 0.5), (4, 1.0), (8, 1.0)])
def test_independent_matmuls_keep_their_units_busy(waves, share):
    report = replay(matmuls(4), waves)
    assert report.matmul == pytest.approx(share, abs=0.02)
    assert report.iterations == 5


def test_a_matmul_takes_32_cycles():
    report = replay(matmuls(4), waves=1)
    assert report.cycles == 5 * 4 * 32


@pytest.mark.parametrize("latency", [100, 500, 790])
def test_a_load_that_is_waited_for(latency):
    """16 cycles for 1024 bytes, the latency, the matmul, and the wait's own issue."""
    load = "buffer_load_dwordx4 v[0:3], v4, s[0:3], 0 offen"
    lines = [(load,), ("s_waitcnt vmcnt(0)",), *matmuls(1)]
    report = replay(lines, waves=1, latency=latency)
    assert report.cycles / report.iterations == latency + 16 + 4 + 4
    assert report.stalls["vmcnt"] > 0.8


def test_a_load_that_is_waited_for_an_iteration_later():
    load = "buffer_load_dwordx4 v[4:7], v8, s[0:3], 0 offen"
    lines = [(load,), ("s_waitcnt vmcnt(1)",), *matmuls(32)]
    report = replay(lines, waves=1, latency=500)
    assert report.matmul == pytest.approx(0.25, abs=0.01)


def test_shared_memory_is_one_for_all_waves():
    wait = ("s_waitcnt lgkmcnt(0)",)
    lines = [("ds_read_b128 v[4:7], v8", 64), wait, *matmuls(1)]
    report = replay(lines, waves=8)
    assert report.cycles / report.iterations == pytest.approx(8 * 64, rel=0.02)
    assert report.shared == pytest.approx(1, abs=0.01)
    assert max(report.stalls, key=report.stalls.get) == "lgkmcnt"


def test_reads_end_in_order():
    """`lgkmcnt(1)` waits for the first of two reads, 69 cycles after its own part."""
    reads = [("ds_read_b128 v[4:7], v8", 8), ("ds_read_b128 v[8:11], v8", 8)]
    for limit, cycles in ((1, 8 + 69), (0, 8 + 8 + 69)):
        lines = [*reads, (f"s_waitcnt lgkmcnt({limit})",), *matmuls(1)]
        report = replay(lines, waves=1, times=40)
        # The next iteration's reads begin as soon as the matmul is issued.
        assert report.cycles / report.iterations == pytest.approx(
            cycles + 4 + 4, abs=1 + 8 * limit
        )


def test_a_result_of_a_matmul_is_waited_for():
    lines = [*matmuls(1), ("v_add_f32 v9, a0, a1",)]
    report = replay(lines, waves=1)
    assert report.stalls["dependency"] > 0.7


def test_waves_wait_for_each_other_at_barriers():
    """One wave waits in four of the five iterations that count, and then has ended."""
    short = [executed("s_barrier", 0)]
    long = [executed(text, 8 + 8 * i) for i, (text,) in enumerate(matmuls(8))]
    recording = Recording("gfx942", [(long + short) * 8, short * 6], 128, 1024)
    report = model_cycles(recording, 500, 1)
    assert report.stalls["barrier"] == pytest.approx(0.4, abs=0.02)


def test_blocks_that_fit():
    wave = [executed("s_nop 0", 0)]
    assert count_blocks(Recording("gfx942", [wave] * 4, 128, 0)) == 4
    assert count_blocks(Recording("gfx942", [wave] * 4, 129, 0)) == 3
    assert count_blocks(Recording("gfx942", [wave] * 4, 32, 40 << 10)) == 1
    assert count_blocks(Recording("gfx950", [wave] * 4, 32, 40 << 10)) == 4


def test_chips_without_a_model():
    with pytest.raises(MachineError, match="no cycle model of gfx1100, only of gfx90a"):
        model_cycles(Recording("gfx1100", [[executed("s_nop 0", 0)]]))


# --- kernels -------------------------------------------------------------------


@tilews.kernel(threads=256)
def gemm(
    A: tl.Tensor["M, K", tl.f16],
    B: tl.Tensor["N, K", tl.f16],
    C: tl.Tensor["M, N", tl.f32],
    stages: tl.constexpr = 2,
):
    bx, by = tl.grid(tl.cdiv(B.shape[0], 128), tl.cdiv(A.shape[0], 128))
    a = tl.alloc_shared((128, 64), tl.f16)
    b = tl.alloc_shared((128, 64), tl.f16)
    acc = tl.zeros((128, 128), tl.f32)
    for k in tl.range(0, tl.cdiv(A.shape[1], 64), num_stages=stages):
        tl.copy(A[by * 128, k * 64], a)
        tl.copy(B[bx * 128, k * 64], b)
        acc = tl.gemm(a, b, acc, transpose_rhs=True)
    C[by * 128, bx * 128] = acc


def recorded(chip, stages):
    random = np.random.default_rng(0)
    a, b = (random.standard_normal((128, 1024)).astype(np.float16) for _ in range(2))
    c = np.zeros((128, 128), np.float32)
    recording = record(gemm.compile(chip, K=1024, stages=stages), [a, b, c])
    np.testing.assert_allclose(c, a.astype(np.float32) @ b.T, atol=0.01)
    return recording


@pytest.mark.parametrize(
    "chip, name, cycles",
    [("gfx942", "ds_read2st64_b64", 8), ("gfx950", "ds_read_b128", 4)],
)
def test_operands_of_matmuls_have_no_bank_conflicts(chip, name, cycles):
    """1024 bytes take 8 cycles at 128 bytes a cycle, and 4 at 256."""
    reads = [
        step.shared_cycles
        for wave in recorded(chip, stages=2).waves
        for step in wave
        if step.instruction.name == name
    ]
    assert len(reads) > 100 and set(reads) == {cycles}


@pytest.mark.parametrize("chip", ["gfx90a", "gfx942", "gfx950"])
def test_a_pipeline_is_better_than_none(chip):
    recordings = [recorded(chip, stages) for stages in (2, None)]
    for latency in GLOBAL_LATENCIES:
        with_, without = (model_cycles(each, latency, 1) for each in recordings)
        assert with_.iterations and with_.matmul > without.matmul * 1.1
        assert without.stalls["vmcnt"] > with_.stalls.get("vmcnt", 0)


def test_command(tmp_path):
    path = tmp_path / "gemm.py"
    lines = pathlib.Path(__file__).read_text()
    begin, end = lines.index("@tilews.kernel"), lines.index("def recorded")
    path.write_text(
        "import tilews\nimport tilews.language as tl\n\n" + lines[begin:end]
    )
    arguments = ["cycles", f"{path}:gemm", "--target", "gfx942", "--dim", "K=512"]
    result = CliRunner().invoke(cli.main, arguments)
    assert result.exit_code == 0, result.output
    assert "global memory in 500 cycles" in result.output
    assert "global memory in 790 cycles" in result.output
    assert result.output.count("waves wait for:") == 2
    result = CliRunner().invoke(cli.main, [*arguments, "--latency", "300"])
    assert result.output.count("global memory in 300 cycles") == 1
    for more, message in (
        (["--block", "9", "0", "0"], "has no block (9, 0, 0)"),
        (["--dim", "Q=3"], "no random array has an extent 'Q'"),
        (["--target", "gfx1100"], "there is no cycle model of gfx1100"),
        (["--target", "sm_90a"], "sm_90a has no HSACO"),
    ):
        result = CliRunner().invoke(cli.main, arguments + more)
        assert result.exit_code and message in result.output, result.output
