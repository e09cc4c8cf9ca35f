"""Loads of gfx950 that write shared memory, in the simulator of machine code."""

import random
import re

import numpy as np
import pytest

import tilews
import tilews.language as tl
from tilews.sim.amdgcn import (
    GLOBAL_LATENCIES,
    POLICIES,
    MachineError,
    Simulator,
    launch,
    model_cycles,
    record,
)
from tilews.sim.amdgcn.disassembly import parse
from tilews.sim.amdgcn.memory import GlobalMemory, SharedMemory
from tilews.sim.amdgcn.memory_ops import MemoryCompiler
from tilews.sim.amdgcn.queues import AccessQueues
from tilews.sim.amdgcn.registers import M0, Wave

LANES = 64
WORDS = np.arange(100, 100 + 4 * LANES, dtype=np.uint32)


def issue(text, policy, chip="gfx950", records=WORDS.nbytes):
    """Issues a copy of lane l from byte 16 * (l ^ 1), with M0 = 32.

    Returns its wave's queues and the words of shared memory.
    """
    memory = GlobalMemory()
    address = memory.add(WORDS.view(np.uint8))
    wave = Wave(LANES, 0)
    wave.s[4:8] = [address & 0xFFFFFFFF, address >> 32, records, 0x27000]
    wave.s[M0] = 32
    wave.v[0] = 16 * (np.arange(LANES) ^ 1)
    wave.set_mask(126, np.ones(LANES, bool))
    compiler = MemoryCompiler(chip, LANES, 9, memory)
    compiler.shared = SharedMemory(32 + 16 + 16 * LANES)
    queues = compiler.queues[0] = AccessQueues(wave, random.Random(0), policy)
    compiler.compile(parse(0, [0, 0], text))(wave)
    return queues, compiler.shared


COPY = "buffer_load_dwordx4 v0, s[4:7], 0 offen offset:16 lds"


@pytest.mark.parametrize("policy", POLICIES)
def test_lanes_write_one_after_the_other(policy):
    """The instruction's offset moves both sides; lane 63 reads out of range."""
    queues, shared = issue(COPY, policy)
    queues.wait(("load",), 0)
    words = shared.data.view(np.uint32)
    wanted = WORDS.reshape(-1, 4)[(np.arange(LANES) ^ 1)[:-2]] + 4
    np.testing.assert_array_equal(words[12:-8].reshape(-1, 4), wanted)
    np.testing.assert_array_equal(words[-8:-4], [0] * 4)
    np.testing.assert_array_equal(words[-4:], WORDS[-4:])
    assert not words[:12].any()


def test_narrow_copies():
    queues, shared = issue(COPY.replace("x4", ""), "latest", chip="gfx942")
    queues.wait(("load",), 0)
    words = shared.data.view(np.uint32)[12 : 12 + LANES - 2]
    np.testing.assert_array_equal(words, WORDS[4 * (np.arange(LANES - 2) ^ 1) + 4])


@pytest.mark.parametrize(("policy", "landed"), [("earliest", True), ("latest", False)])
def test_a_policy_chooses_when_bytes_land(policy, landed):
    queues, shared = issue(COPY, policy)
    assert shared.data.any() == landed
    places = np.array([48])
    with pytest.raises(MachineError, match="shared byte 48 is accessed, but a copy"):
        shared.load(places, 16)
    with pytest.raises(MachineError, match="shared byte 48 is accessed, but a copy"):
        shared.store(places, np.zeros((1, 16), np.uint8))
    queues.wait(("load",), 1)
    assert shared.data.any() == landed
    queues.wait(("load",), 0)
    shared.load(places, 16)


def test_refused():
    with pytest.raises(MachineError, match="gfx942 does not copy 16 bytes of a lane"):
        issue(COPY, "latest", chip="gfx942")


@tilews.kernel(threads=256)
def gemm(
    A: tl.Tensor["M, K:8", tl.f16],
    B: tl.Tensor["N, K:8", tl.f16],
    C: tl.Tensor["M, N", tl.f32],
    S: tl.constexpr,
):
    M, K = A.shape
    N = B.shape[0]
    bx, by = tl.grid(tl.cdiv(N, 128), tl.cdiv(M, 256))
    As = tl.alloc_shared((256, 32), tl.f16)
    Bs = tl.alloc_shared((128, 32), tl.f16)
    acc = tl.zeros((256, 128), tl.f32)
    for k in tl.range(tl.cdiv(K, 32), num_stages=S):
        tl.copy(A[by * 256, k * 32], As)
        tl.copy(B[bx * 128, k * 32], Bs)
        acc = tl.gemm(As, Bs, acc, transpose_rhs=True)
    C[by * 256, bx * 128] = acc


def make_arguments(depth):
    rng = np.random.default_rng(depth)
    a = rng.integers(-4, 5, (259, depth)).astype(np.float16)
    b = rng.integers(-4, 5, (130, depth)).astype(np.float16)
    return a, b, np.zeros((259, 130), np.float32)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("stages", [1, 2, 3, 4])
@pytest.mark.parametrize("depth", [0, 8, 64, 72, 128, 264])
def test_matmuls(stages, depth, policy):
    """With fewer iterations than slots, as many, and more; with ragged edges."""
    compiled = gemm.compile("gfx950", S=stages)
    a, b, c = make_arguments(depth)
    launch(compiled, [a, b, c], 1, policy=policy)
    np.testing.assert_array_equal(c, a.astype(np.float32) @ b.astype(np.float32).T)
    assert ("lds" in compiled.asm) == (stages > 1)


def find_waits(compiled):
    """The waits for loads: in the steady loop, and in that of the last iterations."""
    code = Simulator(compiled.hsaco).code
    return [
        inst
        for inst in code.instructions.values()
        if inst.name == "s_waitcnt" and "vmcnt" in inst.text
    ]


def replace_word(compiled, old, new):
    """The code with an instruction of which there is one replaced."""
    parts = compiled.hsaco.split(old.to_bytes(4, "little"))
    assert len(parts) == 2
    return new.to_bytes(4, "little").join(parts)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("raised", [1, 63])
@pytest.mark.parametrize("place", [0, 1])
def test_raised_counts_are_noticed(place, raised, policy):
    """Counts of one more, and waits for nothing. Each wave has six loads a tile."""
    compiled = gemm.compile("gfx950", S=3)
    waits = find_waits(compiled)
    counts = [int(re.search(r"vmcnt\((\d+)\)", inst.text)[1]) for inst in waits]
    assert counts == [6, 0]
    pending = min(counts[place] + raised, 63)
    word = waits[place].words[0]
    image = replace_word(
        compiled, word, word & ~0xC00F | pending & 15 | pending >> 4 << 14
    )
    a, b, c = make_arguments(32 * 6)
    simulator = Simulator(image, policy=policy)
    m, n, k = np.int32(259), np.int32(130), np.int32(192)
    with pytest.raises(MachineError, match="but a copy to it is not waited for"):
        simulator.launch(
            "gemm",
            (2, 2),
            256,
            [a, m, k, b, n, k, c, m, n],
            compiled.manifest["shared_bytes"],
        )


@tilews.kernel(threads=512)
def large(
    A: tl.Tensor["M, K:8", tl.f16],
    B: tl.Tensor["N, K:8", tl.f16],
    C: tl.Tensor["M, N", tl.f32],
):
    As = tl.alloc_shared((256, 64), tl.f16)
    Bs = tl.alloc_shared((256, 64), tl.f16)
    acc = tl.zeros((256, 256), tl.f32)
    for k in tl.range(tl.cdiv(A.shape[1], 64), num_stages=3):
        tl.copy(A[0, k * 64], As)
        tl.copy(B[0, k * 64], Bs)
        acc = tl.gemm(As, Bs, acc, transpose_rhs=True)
    C[0, 0] = acc


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("depth", [0, 64, 72, 192, 264])
def test_buffers_with_more_slots_than_others(depth, policy):
    """160 KiB are three slots of A and two of B."""
    compiled = large.compile("gfx950")
    assert compiled.manifest["shared_bytes"] == 5 * 256 * 64 * 2
    a, b, c = make_arguments(depth)
    launch(compiled, [a[:250], b, c[:250]], 1, policy=policy)
    np.testing.assert_array_equal(c[:250], a[:250].astype(np.float32) @ b.T)
    assert re.search(r"s_waitcnt vmcnt\(4\)", compiled.asm)


def test_matrix_units_are_busy():
    """The first operands of a tile are read while the tile before is multiplied."""
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-4, 5, (256, 1024)).astype(np.float16) for _ in range(2))
    recording = record(large.compile("gfx950"), [a, b, np.zeros((256, 256), "f4")])
    for latency in GLOBAL_LATENCIES:
        assert model_cycles(recording, latency).matmul > 0.89
