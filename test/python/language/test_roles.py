"""Schedules written by hand with roles, channels and cursors."""

import re

import numpy as np
import pytest

import tilews
import tilews.language as tl
from kernels.gemm import BM, gemm
from kernels.roles import BK, by_roles, operands, persistent_roles
from tilews import KernelError, passes, sim


@pytest.mark.parametrize("stages", [1, 2, 4])
@pytest.mark.parametrize("k", [16, 96, 208])
def test_roles_compute_what_the_compiler_makes(stages, k):
    a, b, c = operands(k=k)
    by_roles(a, b, c, STAGES=stages)
    expected = np.zeros_like(c)
    gemm(a, b, expected, STAGES=stages, BK=BK)
    np.testing.assert_array_equal(c, expected)


@pytest.mark.parametrize("kind", ["all", "none", "random"])
def test_guards_in_persistent_loops(kind):
    a, b, c = operands()
    random = np.random.default_rng(1)
    mask = {
        "all": np.ones((3, 7), bool),
        "none": np.zeros((3, 7), bool),
        "random": random.integers(0, 2, (3, 7)).astype(bool),
    }[kind]
    persistent_roles(a, b, mask, c)
    wide = np.repeat(np.repeat(mask, BM, 0)[:136], BK, 1)[:, :208]
    np.testing.assert_array_equal(c, (a * wide).astype("f4") @ b.astype("f4"))


def test_the_schedule_survives_the_passes():
    """A kernel with roles computes the same up to phase 4."""
    for kernel in (by_roles, persistent_roles):
        module = kernel.build("sm_90a")
        a, b, c = operands()
        mask = [np.ones((3, 7), bool)] if kernel is persistent_roles else []
        for step in passes.expand("tilews-to-nvvm{chip=sm_90a}"):
            if step.startswith("tile-infer-layouts"):
                break
            passes.run(module, step)
            c[:] = 0
            sim.run(module, None, [a, b, *mask, c])
            expected = a.astype("f4") @ b.astype("f4")
            np.testing.assert_array_equal(c, expected, err_msg=step)


@pytest.mark.parametrize("kernel", [by_roles, persistent_roles])
def test_schedules_by_hand_are_proved(kernel):
    module = kernel.build("sm_90a")
    for step in passes.expand("tilews-to-nvvm{chip=sm_90a}"):
        passes.run(module, step)
        if step.startswith("tile-specialize-warps"):
            break
    remarks = passes.run(module, "tile-verify-schedule{report=true}")
    assert len(remarks) == 1
    assert f"tile-verify-0002: schedule of @{kernel.name} is proved" in remarks[0]


def test_threads_are_those_of_the_roles():
    assert "tile.threads = 160 : i32" in by_roles.mlir("sm_90a")
    assert "tile.threads = 256 : i32" in by_roles.mlir("sm_90a", LOAD_WARPS=4)
    with pytest.raises(KernelError, match="roles have 160 threads, but the kernel has"):
        by_roles.build("sm_90a", threads=128)


def test_roles_are_compiled_for_hopper():
    compiled = by_roles.compile("sm_90a", REGISTERS=(232, 40), LOAD_WARPS=4, STAGES=3)
    for wanted in ("setmaxnreg", "cp.async.bulk.tensor"):
        assert wanted in compiled.ptx
    assert "wgmma.mma_async" in compiled.ptx
    # The compiler infers the channel's producer, which the kernel leaves open.
    assert "producer = #tile.producer<tma>" in compiled.mlir("laid_out")


def test_register_hints():
    text = gemm.mlir("sm_90a", REGISTERS=(232, 40))
    assert "tile.role_registers = {load = 40 : i64, math = 232 : i64}" in text
    ptx = gemm.compile("sm_90a", REGISTERS=(232, 40)).ptx
    assert re.search(r"setmaxnreg\.\w+\.sync\.aligned\.u32 \t232;", ptx)
    assert re.search(r"setmaxnreg\.dec\.sync\.aligned\.u32 \t40;", ptx)


def test_producers_are_checked():
    @tilews.kernel
    def wrong(A: tl.Tensor["64, 64", tl.f16], C: tl.Tensor["64, 64", tl.f16]):
        tl.grid(1)
        As = tl.alloc_shared((64, 64), A.dtype, versions=2)
        ch = tl.channel(As, producer="tma")
        with tl.specialize():
            with tl.role("load", warps=4):
                p = ch.cursor()
                ch.acquire(p)
                tl.store(tl.load(A) * 2.0, tl.slot(As, p))
                ch.commit(p)
            with tl.role("math", warps=4):
                q = ch.cursor()
                ch.wait(q)
                tl.copy(tl.slot(As, q), C)
                ch.release(q)

    module = wrong.build("sm_90a")
    message = r"has the producer 'tma', but is filled by 'simt'; 'mixed' stands for"
    with pytest.raises(tilews.CompileError, match=message):
        passes.run(module, "tile-annotate-instructions,tile-specialize-warps")


# --- Errors ----------------------------------------------------------------------


def wrong_kernel(body: str) -> str:
    """The message of a kernel whose body has an error in its last line."""
    indented = "\n".join("    " + line for line in body.strip("\n").splitlines())
    scope = {}
    source = (
        "import tilews\nimport tilews.language as tl\n\n"
        "@tilews.kernel\n"
        "def wrong(A: tl.Tensor['64, 64', tl.f16]):\n"
        "    tl.grid(1)\n"
        "    As = tl.alloc_shared((64, 64), A.dtype, versions=2)\n"
        "    Bs = tl.alloc_shared((64,), A.dtype, versions=3)\n"
        "    ch = tl.channel(As)\n"
        "    other = tl.channel((), 3)\n"
        f"{indented}\n"
    )
    import linecache

    name = "wrong_kernel.py"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    exec(compile(source, name, "exec"), scope)
    with pytest.raises(KernelError) as caught:
        scope["wrong"].build()
    return str(caught.value)


ROLE = 'with tl.specialize():\n    with tl.role("load", warps=1):\n        '


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ('with tl.role("a", warps=1):\n    pass', "role 'a' stands outside of tl.spec"),
        ("with tl.specialize():\n    pass", "expected at least one role"),
        ("with tl.specialize():\n    x = tl.zeros((4,), tl.f32) + 1.0", "holds roles"),
        ("with tl.specialize() as s:\n    pass", "'with' takes one item, without"),
        ("with A:\n    pass", "for tl.specialize() and tl.role(...) only"),
        (ROLE + "return", "a function cannot return from inside a role"),
        (
            "for i in tl.range(3):\n    with tl.specialize():\n        pass",
            "tl.specialize stands in a run-time loop, conditional or role",
        ),
        (
            ROLE + 'pass\n    with tl.role("load", warps=1):\n        pass',
            "has the name of another role: @load",
        ),
        (ROLE + "with tl.specialize():\n            pass", "tl.specialize stands in"),
        (
            ROLE + 'with tl.role("b", warps=1):\n            pass',
            "role 'b' stands outside of tl.specialize",
        ),
        ('tl.role("a b", warps=1)', "tl.role: expected a name, found"),
        (
            'tl.role("a", warps=0)',
            "warps is an integer from 1 to 32, found the Python value 0",
        ),
        ('tl.role("a", warps=1, registers=20)', "a multiple of 8 from 24 to 256"),
        (
            'with tl.specialize():\n    with tl.role("a", warps=1, registers=40):\n'
            "        pass",
            "registers are given to warpgroups of 4 warps, but role @a has 1 warps",
        ),
        (
            'with tl.specialize():\n    with tl.role("a", warps=12, registers=240):\n'
            "        pass",
            "roles ask for 92160 registers, but a block has 65536",
        ),
        (
            "tl.role_registers(math=232, load=40)\n"
            "tl.role_registers(math=240, load=24)",
            "the registers of roles are set twice",
        ),
        ("tl.role_registers(math=300, load=40)", "a multiple of 8 from 24 to 256"),
        (ROLE + "x = ch.cursor()\ny = x", "'x' is assigned in the role of line 11"),
        (
            "x = tl.load(A)\n" + ROLE + "tl.store(x, A)",
            "uses a fragment in role @load that was made outside of it",
        ),
        (
            "Vs = tl.view(As, (2, 4096))\ntl.channel(Vs)",
            "takes whole buffers, found the result of 'tile.view'; give it",
        ),
        ("tl.channel(A)", "expected shared buffers with versions, found the global"),
        ("tl.channel((As, Bs))", "as many slots as each buffer has versions, found 2"),
        ("tl.channel(As, 3)", "as many slots as each buffer has versions, found 2, 3"),
        ("tl.channel(())", "found no buffers and no depth"),
        ("tl.channel(2.5)", "with versions, found the Python value 2.5"),
        ("tl.channel((), 65)", "the depth is an integer from 1 to 64"),
        ('tl.channel(As, producer="warp")', "the producer is one of tma, cp_async"),
        ("ch.acquire(0)", "channel.acquire: expected a cursor, found the Python value"),
        ("ch.wait(other.cursor())", "has 2 slots, but the cursor is of one with 3"),
        ("tl.slot(As, other.cursor())", "a channel with 3 slots, but the buffer has 2"),
        ("tl.slot(A, ch.cursor())", "expected a shared buffer with versions, found"),
        ("tl.slot(As, 1)", "tl.slot: expected a cursor, found the Python value 1"),
        ("p = ch.cursor()\np = p + 1", "'+': expected a fragment, a scalar or a num"),
        ("p = -ch.cursor()", "found a cursor of a channel with 2 slots"),
        ("p = ch.cursor() < 1", "'<': expected a fragment, a scalar or a number"),
        ("ch.cursor().to(tl.i32)", "cannot convert a cursor of a channel with 2 slots"),
        ("if ch.cursor():\n    pass", "expected a condition, found a cursor"),
        (
            "p = ch.cursor()\nfor i in tl.range(3):\n    p = other.cursor()",
            "'p' changes its type in the loop of line 12",
        ),
        (
            "tl.alloc_shared((4,), tl.f16, versions=0)",
            "versions is an integer from 1 to 64, found",
        ),
    ],
)
def test_errors_name_the_place(body, message):
    text = wrong_kernel(body)
    assert message in text
    assert text.startswith("wrong_kernel.py:")
