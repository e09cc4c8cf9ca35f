"""Large and deep kernels compile in a time in proportion, and overflow no stack."""

import os
import re
import resource
import subprocess
from pathlib import Path

import pytest

from benchmarks.scaling import __main__ as scaling
from benchmarks.scaling.axes import AXES
from benchmarks.scaling.pipelined_kernels import doubled, pipelines
from benchmarks.scaling.straight_kernels import (
    carried_depth,
    depth,
    if_depth,
    scalars,
)
from benchmarks.scaling.texts import function, module, repeat

OPT = Path(os.environ["TILEWS_BUILD_DIR"]) / "bin" / "tilews-opt"
#: The stack that Linux gives a process by default.
STACK = 8 << 20
#: Bytes; libraries and tables take half of it.
MEMORY = 2 << 30
#: Seconds; what is exponential takes hours.
TIMEOUT = 300
SCHEDULE = (
    "--tile-annotate-instructions",
    "--tile-plan-pipeline",
    "--tile-multi-version",
    "--tile-specialize-warps",
    "--tile-expand-pipeline",
    "--tile-verify-schedule=report",
)


def limit_stack():
    resource.setrlimit(resource.RLIMIT_STACK, (STACK, STACK))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def run(text: str, *flags: str) -> str:
    """Runs tilews-opt with a small stack; returns its remarks."""
    command = [OPT, "-", "-o", os.devnull, "--mlir-print-op-on-diagnostic=false"]
    done = subprocess.run(
        [*command, *flags],
        input=text,
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        preexec_fn=limit_stack,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stderr


@pytest.mark.parametrize("axis", AXES, ids=lambda axis: axis.name)
def test_every_axis_of_the_benchmark_compiles(axis):
    for chip in axis.chips:
        times = scaling.time_passes(axis, chip, 4, repeats=1)
        assert times["total"] > 0


def test_an_index_is_doubled_many_times():
    # Each doubling uses its operand twice.
    run(doubled(300), "--tile-set-target=chip=sm_80", *SCHEDULE)


def test_states_of_a_sequence_of_loops_do_not_multiply():
    remarks = run(pipelines(24), "--tile-set-target=chip=sm_80", *SCHEDULE)
    states = re.search(r"is proved: .* (\d+) states", remarks)
    assert states and int(states[1]) < 1000


@pytest.mark.parametrize("chip", ["sm_80", "sm_90a"])
def test_nested_loops_overflow_no_stack(chip):
    # Text with more than 1024 nested brackets is refused.
    run(depth(1000), f"--tile-set-target=chip={chip}", *SCHEDULE)


@pytest.mark.parametrize("make", [depth, carried_depth, if_depth])
@pytest.mark.parametrize("size", [10, 20, 22, 40])
def test_no_pass_is_exponential_in_depth(size, make):
    # Barriers of 18, 20 and 22 nested loops once took 1.9, 7 and 28 s.
    for pipeline in ("nvvm=chip=sm_80", "nvvm=chip=sm_90a", "rocdl=chip=gfx942"):
        run(make(size), f"--tilews-to-{pipeline}")


@pytest.mark.parametrize("pipeline", ["nvvm=chip=sm_90a", "rocdl=chip=gfx942"])
def test_long_chains_overflow_no_stack(pipeline):
    run(scalars(10000), f"--tilews-to-{pipeline}")


@pytest.mark.parametrize("pipeline", ["nvvm=chip=sm_90a", "rocdl=chip=gfx942"])
def test_guards_in_sequence_take_linear_memory(pipeline):
    # Each load and store has a guard. As many moves of the rest of the block as
    # there are pairs of guards take more memory.
    threads = 64 if "gfx9" in pipeline else 32
    fragment, memory = f"tensor<{threads * 1024}xf32>", "memref<?xf32>"
    body = repeat(
        3,
        lambda i: (
            f"%l{i} = tile.load %P[%c{i and 1}] : {memory} -> {fragment}\n"
            f"tile.store %l{i} to %P[%c64] : {fragment} to {memory}"
        ),
    )
    text = module(function(body, arguments=f"%P: {memory}, %n: index"))
    text = text.replace("tile.threads = 128", f"tile.threads = {threads}")
    run(text, f"--tilews-to-{pipeline}")


def test_a_long_chain_in_a_pipelined_loop_overflows_no_stack():
    chain = repeat(5000, lambda i: f"%j{i + 1} = arith.muli %j{i}, %k : index")
    text = function(
        "%s = tile.alloc_shared : !v\n%z = arith.constant dense<0.0> : !t\n"
        "%r = scf.for %k = %c0 to %n step %c64 iter_args(%x = %z) -> !t {\n"
        f"%j0 = arith.addi %k, %n : index\n{chain}\n"
        "tile.copy %X[%j5000] to %s : !V to !v\n%l = tile.load %s : !v -> !t\n"
        "%y = arith.addf %x, %l : !t\nscf.yield %y : !t\n"
        "} {tile.num_stages = 2 : i32}\n"
        "tile.store %r to %Y : !t to memref<64xf16>"
    )
    for chip in ("sm_80", "sm_90a"):
        run(module(text), f"--tile-set-target=chip={chip}", *SCHEDULE)
