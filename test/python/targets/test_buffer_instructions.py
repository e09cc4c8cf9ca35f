"""Buffer instructions in the simulator, by the rules of AMD's ISA documents.

"CDNA3" ISA, sections "Buffer Addressing" and "Range Checking"; "RDNA3" and "RDNA4" ISA,
the same sections and the table of OOB_SELECT.
"""

import random

import numpy as np
import pytest

from tilews.sim.amdgcn.disassembly import MachineError, parse
from tilews.sim.amdgcn.memory import GlobalMemory
from tilews.sim.amdgcn.memory_ops import MemoryCompiler
from tilews.sim.amdgcn.queues import AccessQueues
from tilews.sim.amdgcn.registers import Wave

LANES = 32
FLAGS = {9: 0x27000, 11: 0x31004000, 12: 0x31004000}


def run(text, data, offsets, generation=9, records=None, vectors=None, **fields):
    """Executes an instruction with the resource s[4:7], `offsets` in v0, v1.

    Args:
        text: the instruction.
        data: the buffer, of words.
        offsets: what each lane has in v0 and, from a second row, in v1.
        generation: 9, 11 or 12.
        records: of the resource; by default the bytes of the buffer.
        vectors: the first words of further registers, by number.
        fields: `stride`, `flags`, and `scalar`, which s8 holds.
    """
    memory = GlobalMemory()
    address = memory.add(data.view(np.uint8).reshape(-1))
    wave = Wave(LANES, 0)
    wave.s[4] = address & 0xFFFFFFFF
    wave.s[5] = address >> 32 | fields.get("stride", 0) << 16
    wave.s[6] = data.nbytes if records is None else records
    wave.s[7] = fields.get("flags", FLAGS[generation])
    wave.s[8] = fields.get("scalar", 0)
    offsets = np.atleast_2d(np.array(offsets, np.uint32))
    active = offsets.shape[1]
    wave.v[:2] = 0xFFFFFF00
    wave.v[: len(offsets), :active] = offsets
    for number, words in (vectors or {}).items():
        wave.v[number, : len(words)] = words
    wave.set_mask(126, np.arange(LANES) < active)
    compiler = MemoryCompiler("", LANES, generation, memory)
    compiler.queues[0] = AccessQueues(wave, random.Random(0))
    step = compiler.compile(parse(0, [0, 0], text))
    if step is None:
        raise MachineError("unknown instruction")
    step(wave)
    compiler.queues[0].wait(("load", "store"), 0)
    return wave.v[:, :active]


WORDS = np.arange(10, 16, dtype=np.uint32)  # 24 bytes
FAR = 0x8000_0000


@pytest.mark.parametrize("generation", [9, 11, 12])
def test_each_word_of_a_load_is_checked(generation):
    name = "dwordx4" if generation == 9 else "b128"
    text = f"buffer_load_{name} v[4:7], v0, s[4:7], 0 offen"
    v = run(text, WORDS, [0, 8, 16, 24, FAR, 2**32 - 16], generation)
    wanted = [[10, 11, 12, 13], [12, 13, 14, 15], [14, 15, 0, 0]] + [[0] * 4] * 3
    np.testing.assert_array_equal(v[4:8].T, wanted)


def test_offsets_do_not_wrap():
    text = "buffer_load_dword v4, v0, s[4:7], 0 offen offset:20"
    v = run(text, WORDS, [0, 4, 2**32 - 4, FAR, FAR - 20])
    assert v[4].tolist() == [15, 0, 0, 0, 0]


def test_a_load_without_registers():
    v = run("buffer_load_dwordx2 v[4:5], off, s[4:7], 0 offset:8", WORDS, [0, 0])
    np.testing.assert_array_equal(v[4:6], [[12, 12], [13, 13]])


@pytest.mark.parametrize(("generation", "last"), [(9, 0), (11, 14), (12, 14)])
def test_the_scalar_offset(generation, last):
    """It moves the address; only gfx9 takes it from the range."""
    name = "dword" if generation == 9 else "b32"
    text = f"buffer_load_{name} v4, v0, s[4:7], s8 offen"
    v = run(text, WORDS, [0, 4, 12], generation, records=16, scalar=4)
    assert v[4].tolist() == [11, 12, last]


@pytest.mark.parametrize("generation", [9, 11])
def test_records(generation):
    name = "dword" if generation == 9 else "b32"
    text = f"buffer_load_{name} v4, v[0:1], s[4:7], 0 idxen offen"
    places = [[0, 1, 2, 3, 1], [4, 0, 4, 0, 8]]
    flags = FLAGS[generation] & 0x0FFFFFFF
    v = run(text, WORDS, places, generation, records=3, stride=8, flags=flags)
    assert v[4].tolist() == [11, 12, 15, 0, 0]


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("ubyte", 0xF2),
        ("sbyte", 0xFFFFFFF2),
        ("ushort", 0xF1F2),
        ("sshort", 0xFFFFF1F2),
        ("ubyte_d16", 0xAAAA00F2),
        ("sbyte_d16_hi", 0xFFF2BBBB),
        ("short_d16", 0xAAAAF1F2),
        ("short_d16_hi", 0xF1F2BBBB),
    ],
)
def test_narrow_loads(name, wanted):
    data = np.array([0, 0xF1F2, 0], np.uint32)
    text = f"buffer_load_{name} v4, v0, s[4:7], 0 offen offset:4"
    found = run(text, data, [0, 8], vectors={4: [0xAAAABBBB] * 2})[4]
    kept = {"d16": 0xAAAA0000, "hi": 0xBBBB}.get(name.split("_")[-1], 0)
    assert found.tolist() == [wanted, kept]


@pytest.mark.parametrize("name", ["b16", "d16_hi_b16", "b8", "d16_hi_b8"])
def test_narrow_stores(name):
    data = np.zeros(2, np.uint32)
    text = f"buffer_store_{name} v4, v0, s[4:7], 0 offen"
    run(text, data, [2, 8, FAR], 11, vectors={4: [0x11223344] * 3})
    half = 0x1122 if "hi" in name else 0x3344
    assert data.tolist() == [(half & (0xFF if "b8" in name else 0xFFFF)) << 16, 0]


def test_words_of_a_store_out_of_range_are_dropped():
    data = np.zeros(6, np.uint32)
    text = "buffer_store_dwordx2 v[4:5], v0, s[4:7], 0 offen"
    vectors = {4: [1, 3, 5, 7], 5: [2, 4, 6, 8]}
    run(text, data, [0, 12, 24, FAR], records=16, vectors=vectors)
    assert data.tolist() == [1, 2, 0, 3, 0, 0]


@pytest.mark.parametrize(
    ("text", "generation", "old", "new"),
    [
        ("buffer_atomic_add v4, v0, s[4:7], 0 offen sc0", 9, [11, 0], 16),
        ("buffer_atomic_smax v4, v0, s[4:7], 0 offen", 9, [5, 5], 11),
        ("buffer_atomic_add_u32 v4, v0, s[4:7], 0 offen glc", 11, [11, 0], 16),
        (
            "buffer_atomic_swap_b32 v4, v0, s[4:7], null offen th:TH_ATOMIC_RETURN",
            12,
            [11, 0],
            5,
        ),
        ("buffer_atomic_cmpswap v[4:5], v0, s[4:7], 0 offen sc0", 9, [11, 0], 5),
    ],
)
def test_atomics(text, generation, old, new):
    data = WORDS.copy()
    vectors = {4: [5, 5], 5: [11, 11]}
    v = run(text, data, [4, FAR], generation, vectors=vectors)
    assert v[4].tolist() == old
    assert v[5].tolist() == [11, 11]
    assert data.tolist() == [10, new, *range(12, 16)]


def test_an_atomic_of_two_words_is_in_range_as_a_whole():
    data = np.arange(3, dtype=np.uint64)
    text = "buffer_atomic_umax_x2 v[4:5], v0, s[4:7], 0 offen sc0"
    v = run(text, data, [8, 24], vectors={4: [7, 7], 5: [1, 1]})
    assert data.tolist() == [0, 7 + 2**32, 2]
    np.testing.assert_array_equal(v[4:6], [[1, 0], [0, 0]])


LOAD = "buffer_load_dword v4, v0, s[4:7], 0 offen"


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (LOAD, {"records": 22}, "the end of a buffer, 22, cuts a word"),
        (LOAD, {"records": 2**31 - 1}, "access to bytes"),
        (LOAD, {"flags": 0}, "unknown buffer resource, flags 0x0"),
        (LOAD, {"stride": 0x8000}, "unknown buffer resource"),
        (LOAD, {"generation": 11, "flags": 0x21004000}, "OOB_SELECT 2 is not"),
        (LOAD + " lds", {}, "unknown instruction"),
        (LOAD + " tfe", {}, "unknown modifier 'tfe'"),
        ("buffer_load_dword v4, off, s[4:7], 0 offen", {}, "unknown address"),
        ("buffer_load_dword v4, v0, s[4:5], 0 offen", {}, "expected a resource"),
        ("buffer_load_format_x v4, v0, s[4:7], 0 offen", {}, "unknown instruction"),
        ("buffer_atomic_inc v4, v0, s[4:7], 0 offen", {}, "unknown instruction"),
    ],
)
def test_refused(text, options, message):
    with pytest.raises(MachineError, match=message):
        run(text, WORDS, [20, 24], **options)
