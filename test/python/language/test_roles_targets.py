"""Hand-written roles on targets other than Hopper: code, or an error with a reason."""

import re

import numpy as np
import pytest

import tilews
import tilews.language as tl
from kernels import role_copies as copies
from kernels import roles
from support import simulating
from tilews import compiler, passes, sim

AMPERE = ("sm_80", "sm_86", "sm_89")


@tilews.kernel
def ordered(C: tl.Tensor["4, 64", tl.f32], N: tl.constexpr = 4):
    """A channel without buffers only orders roles; one role commits by one thread."""
    tl.grid(1)
    ch = tl.channel((), 2)
    with tl.specialize():
        with tl.role("math", warps=2):
            q = ch.cursor()
            for k in tl.range(N):
                ch.wait(q)
                C[k, 0:64] = tl.full((64,), 1.0, tl.f32) * k.to(tl.f32)
                ch.release(q)
                q = ch.advance(q)
        with tl.role("clock", warps=1):
            p = ch.cursor()
            for _k in tl.range(N):
                ch.acquire(p)
                ch.commit(p)
                p = ch.advance(p)


def lines(kernel, word):
    """The numbers of the kernel's lines that contain `word`."""
    code = kernel.python.__code__
    text = open(code.co_filename).read().splitlines()
    first = code.co_firstlineno
    return [n for n, line in enumerate(text, 1) if n >= first and word in line]


@pytest.mark.parametrize("target", ["sm_75", "gfx90a", "gfx942", "gfx1100", "gfx1201"])
@pytest.mark.parametrize("kernel", [roles.by_roles, copies.in_a_role, ordered])
def test_others_have_no_barriers(kernel, target):
    """The error is at the roles, whether warps have 32 or 64 threads."""
    with pytest.raises(tilews.CompileError) as caught:
        kernel.compile(target)
    message = str(caught.value)
    first = lines(kernel, "tl.specialize")[0]
    assert re.search(rf"\.py:{first}:\d+: error: 'tile.specialize' op needs", message)
    for wanted in (f"but {target} has none", "from sm_80 on", "num_stages"):
        assert wanted in message
    assert message.count("error:") == 1


def test_roles_have_the_warps_of_the_target():
    for target, threads in (("gfx942", 320), ("gfx1100", 160), ("sm_80", 160)):
        assert f"tile.threads = {threads} : i32" in roles.by_roles.mlir(target)
    module = roles.by_roles.build("gfx942")
    a, b, c = roles.operands()
    sim.run(module, None, [a, b, c])
    np.testing.assert_array_equal(c, a.astype("f4") @ b.astype("f4"))


@pytest.mark.parametrize("target", ["sm_80", "sm_90"])
@pytest.mark.parametrize(("kernel", "what"), copies.KERNELS, ids=lambda x: x.__name__)
def test_every_form_and_timing(kernel, what, target):
    steps = passes.expand(f"tilews-to-nvvm{{chip={target}}}")
    module = kernel.build(target)
    for step in steps[: steps.index("tile-lower-channels") + 1]:
        passes.run(module, step)
    remarks = passes.run(module, "tile-verify-schedule{report=true}")
    assert f"tile-verify-0002: schedule of @{kernel.name} is proved" in remarks[0]
    assert ("inst<tma>" in str(module)) == (target == "sm_90")
    for timing in simulating.TIMINGS:
        a, d, c = copies.operands(336)
        sim.run(module, None, [a, d, c], **timing)
        expected = copies.expect(a, d, what)
        np.testing.assert_array_equal(c, expected, err_msg=str(timing))


@pytest.mark.skipif(compiler.find_ptxas() is None, reason="ptxas is not installed")
@pytest.mark.parametrize("target", [*AMPERE, "sm_90", "sm_100a", "sm_120"])
@pytest.mark.parametrize(
    "kernel",
    [roles.by_roles, roles.persistent_roles, ordered, *(k for k, _ in copies.KERNELS)],
    ids=lambda kernel: kernel.name,
)
def test_the_assembler_takes_them(kernel, target):
    if kernel is roles.persistent_roles and target in AMPERE:
        pytest.skip("it says that TMA fills its channel")
    compiled = kernel.compile(target)
    assert compiled.cubin
    assert compiled.resources["warnings"] == []
    newer = ("try_wait", "elect.sync", "fence.mbarrier_init", "setmaxnreg")
    if target in AMPERE:
        assert not [name for name in newer if name in compiled.ptx]
        assert "mbarrier.test_wait.parity" in compiled.ptx


def test_registers_are_for_chips_that_move_them():
    for target in ("sm_80", "sm_90"):
        compiled = copies.in_a_loop.compile(target)
        found = [text for text in compiled.messages if "tile-ws-0011" in text]
        assert len(found) == 2
        for text, role in zip(sorted(found), ("math", "load"), strict=True):
            assert f"role @{role} has no registers of its own: {target}" in text
        assert "maxnreg" not in compiled.ptx
    compiled = copies.in_a_loop.compile("sm_90a")
    assert not [text for text in compiled.messages if "tile-ws-0011" in text]
    assert "setmaxnreg" in compiled.ptx


def test_tma_is_not_promised_where_there_is_none():
    message = "has the producer 'tma', but is filled by 'cp_async'"
    with pytest.raises(tilews.CompileError, match=message):
        roles.persistent_roles.compile("sm_80")
