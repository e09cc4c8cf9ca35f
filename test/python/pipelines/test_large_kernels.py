"""Large and deep kernels compile in a time in proportion, and overflow no stack."""

import os
import re
import resource
import subprocess
from pathlib import Path

import pytest

from benchmarks.scaling import pass_times
from benchmarks.scaling.axes import AXES
from benchmarks.scaling.pipelined_kernels import doubled, pipelines
from benchmarks.scaling.schedule_kernels import (
    guard_loads,
    guard_terms,
    trip_counts,
)
from benchmarks.scaling.straight_kernels import (
    affine,
    carried_depth,
    depth,
    if_depth,
    scalars,
)
from benchmarks.scaling.texts import function, module, repeat

pytestmark = pytest.mark.skipif(
    "TILEWS_SANITIZER_RUNTIME" in os.environ,
    reason="the tables of a sanitizer do not fit into the limits of these tests",
)

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


def run(text: str, *flags: str, output: str = os.devnull) -> str:
    """Runs tilews-opt with a small stack; returns its output and its remarks."""
    command = [OPT, "-", "-o", output, "--mlir-print-op-on-diagnostic=false"]
    done = subprocess.run(
        [*command, *flags],
        input=text,
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        preexec_fn=limit_stack,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout + done.stderr


@pytest.mark.parametrize("axis", AXES, ids=lambda axis: axis.name)
def test_every_axis_of_the_benchmark_compiles(axis):
    for chip in axis.chips:
        times = pass_times.time_passes(axis, chip, 4, repeats=1)
        assert times["total"] > 0


def test_an_index_is_doubled_many_times():
    # Each doubling uses its operand twice.
    run(doubled(300), "--tile-set-target=chip=sm_80", *SCHEDULE)


@pytest.mark.parametrize("chip", ["sm_80", "sm_90a"])
def test_states_of_a_sequence_of_loops_do_not_multiply(chip):
    # On sm_90a each loop once made the search start over.
    remarks = run(pipelines(24), f"--tile-set-target=chip={chip}", *SCHEDULE)
    states = re.search(r"is proved: .* (\d+) states", remarks)
    assert states and int(states[1]) < 5 * 24


def test_states_of_loops_with_trip_counts_of_their_own_do_not_multiply():
    # Which of the loops ran was once a part of a state: 2^25 of them.
    remarks = run(trip_counts(24), "--tile-verify-schedule=report")
    states = re.search(r"is proved: .* (\d+) states", remarks)
    assert states and int(states[1]) < 5 * 24


@pytest.mark.parametrize("size", [64, 4000])
def test_a_guard_of_many_terms_is_decided(size):
    # 20 terms once took 39 s, and four times as long with each two more. Later, more
    # than 90 were not decided, and 4000 took 16 s.
    remarks = run(guard_terms(size), "--tile-verify-schedule=report")
    assert "is proved" in remarks


def test_a_large_guard_that_differs_between_threads_is_found():
    text = guard_terms(400)
    term = "%g0 = memref.load %M[%k, %j0] : memref<?x400xi1>"
    assert text.count(term) == 2
    thread = "%thread = gpu.thread_id x\n%g0 = arith.cmpi slt, %thread, %k : index"
    with pytest.raises(AssertionError, match="threads of a role may take different"):
        run(text.replace(term, thread), "--tile-verify-schedule")


def test_a_guard_that_depends_on_many_loads_takes_linear_time():
    # Once 9 s for 2500 loads, and 64 times as long for these.
    remarks = run(guard_loads(20000), "--tile-verify-schedule=report")
    assert "is proved" in remarks


@pytest.mark.parametrize("pipeline", ["nvvm=chip=sm_90a", "rocdl=chip=gfx942"])
def test_affine_maps_in_a_chain_are_not_composed(pipeline):
    # The map of 12 of them once took 3 s, and three times as long with each one more.
    run(affine(100), f"--tilews-to-{pipeline}")


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


def test_a_long_chain_of_views_overflows_no_stack():
    # Canonicalization folds views of views, so that the pipelines never see many.
    shared = ("memref<64xf16, #wg>", "memref<64xbf16, #wg>")
    views = repeat(
        60000,
        lambda i: (
            f"%s{i + 1} = tile.view %s{i} : {shared[i % 2]} to {shared[1 - i % 2]}"
        ),
    )
    for producer in ("copy", "store"):
        fill = {
            "copy": "tile.copy %X[%k] to %s60000 : !V to !v",
            "store": "tile.store %x to %s60000 : !t to !v",
        }[producer]
        text = function(
            f"%s0 = tile.alloc_shared : !v\n{views}\n"
            "%z = arith.constant dense<0.0> : !t\n"
            "%r = scf.for %k = %c0 to %n step %c64 iter_args(%x = %z) -> !t {\n"
            f"{fill}\n%l = tile.load %s60000 : !v -> !t\n"
            "%y = arith.addf %x, %l : !t\nscf.yield %y : !t\n"
            "} {tile.num_stages = 2 : i32}\n"
            "tile.store %r to %Y : !t to memref<64xf16>"
        )
        memory = ("infer-layouts", "plan-shared-memory", "insert-barriers")
        flags = SCHEDULE + tuple(f"--tile-{flag}" for flag in memory)
        run(module(text), "--tile-set-target=chip=sm_90a", *flags)


def test_a_nest_of_remainders_is_a_short_model_for_spin():
    # Written out, a remainder has its operand twice.
    nest = "d0"
    for i in range(40):
        nest = f"({nest} + 1) mod {60 - i}"
    place = "%h = arith.cmpi slt, %l1,"
    text = guard_loads(1).replace(
        place,
        f"%m = affine.apply affine_map<(d0) -> ({nest})>(%k)\n%h = arith.cmpi slt, %m,",
    )
    command = [OPT.with_name("tilews-translate"), "-", "--to=promela"]
    done = subprocess.run(
        command, input=text, capture_output=True, text=True, timeout=TIMEOUT
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.count("floormod") > 40 and len(done.stdout) < 100_000


@pytest.mark.parametrize(
    ("first", "second", "last", "size"),
    [
        # The second operand of each addition is the sum so far.
        ("%x", "%l", "%l", 20000),
        # Neither operand is a sum, and each value has two uses.
        ("%l", "%y{0}", "%x", 300),
    ],
    ids=["chain", "doubled"],
)
def test_sums_of_many_terms_are_split(first, second, last, size):
    terms = repeat(
        size, lambda i: f"%y{i + 1} = arith.addf {second.format(i)}, %y{i} : !t"
    )
    text = function(
        "%z = arith.constant dense<0.0> : !t\n"
        "%r = scf.for %k = %c0 to %n step %c64 iter_args(%x = %z) -> !t {\n"
        f"%l = tile.load %X[%k] : !V -> !t\n%y0 = arith.addf {first}, %l : !t\n"
        f"{terms}\n%sum = arith.addf %y{size}, {last} : !t\n"
        "scf.yield %sum : !t\n} {tile.split_k = 2 : i32}\n"
        "tile.atomic_rmw <add> %r to %Y : !t to memref<64xf16>",
        attributes=", tile.grid = affine_map<()[v, x, y, z, k] -> (1)>",
    )
    found = run(module(text), "--tile-split-k", output="-")
    assert "tile-split-0001" not in found and "gpu.block_id" in found


def cluster(before: str, row: str, carried: str = "", types: str = "", next: str = ""):
    """A role that copies row `row` of an array, shared by the blocks of a cluster."""
    shared, slot = "memref<2x64x64xf16, #sw2, #wg>", "memref<64x64xf16, #sw, #wg>"
    body = f"""
    %s = tile.alloc_shared : {shared}
    %ch = tile.channel(%s) {{producer = #tile.producer<tma>}} :
      {shared} -> !tile.channel<2>
    tile.specialize {{
      tile.role @load warps(1) {{
        %q = tile.cursor : !tile.cursor<2>
        {before}
        scf.for %i = %c0 to %n step %c64 iter_args(%p = %q{carried})
            -> (!tile.cursor<2>{types}) {{
          tile.acquire %ch[%p] : !tile.channel<2>
          %a = tile.slot %s[%p] : {shared} -> {slot}
          tile.copy %A[{row}, 0] to %a {{tile.inst = #tile.inst<tma>}} : !G to {slot}
          tile.commit %ch[%p] : !tile.channel<2>
          %new = tile.advance %p : !tile.cursor<2>
          {next}
        }}
      }}
    }}"""
    text = module(function(body)).replace(
        "tile.threads = 128",
        "tile.cluster = array<i32: 2, 1, 1>, tile.threads = 32",
    )
    layouts = (
        "#sw = #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>\n"
        "#sw2 = #tile.shared<(2, 64, 64):(4096, 64, 1), Sw<3,4,3>>\n"
    )
    return layouts + text.replace("@kernels", '@kernels [#nvvm.target<chip="sm_90a">]')


def is_fetched_once(text: str) -> bool:
    return "multicast = " in run(text, "--tile-multicast-copies", output="-")


def test_a_cluster_finds_what_its_blocks_share_in_a_long_chain():
    chain = repeat(60000, lambda i: f"%j{i + 1} = arith.addi %j{i}, %n : index")
    start = "%j0 = arith.addi %n, %n : index\n"
    end = "scf.yield %new : !tile.cursor<2>"
    assert is_fetched_once(cluster(start + chain, "%j60000", next=end))
    # The blocks of a cluster have ids of their own.
    start = "%j0 = gpu.block_id x\n"
    assert not is_fetched_once(cluster(start + chain, "%j60000", next=end))


def test_a_cluster_finds_what_its_blocks_share_in_many_carried_values():
    # Each value of the next iteration is a sum of two of this one.
    size, last = 100, 99
    text = cluster(
        before="%x = gpu.block_id x",
        row="%j0",
        carried="".join(f", %j{i} = %n" for i in range(size)),
        types=", index" * size,
        next=repeat(
            size,
            lambda i: (
                f"%k{i} = arith.addi %j{(i + 1) % size}, %j{(i + 2) % size} : index"
            ),
        )
        + f"\nscf.yield %new{''.join(f', %k{i}' for i in range(size))} : "
        f"!tile.cursor<2>{', index' * size}",
    )
    assert is_fetched_once(text)
    # What one of them starts with reaches all.
    assert not is_fetched_once(text.replace(f"%j{last} = %n", f"%j{last} = %x"))


def guarded_copies(size: int) -> str:
    """A pipelined loop with guards in sequence, each around a copy of its own."""
    buffers = repeat(size, lambda i: f"%s{i} = tile.alloc_shared : !v")
    body = repeat(
        size,
        lambda i: (
            f"%d{i} = arith.constant {i + 2} : index\n"
            f"%m{i} = arith.remsi %k, %d{i} : index\n"
            f"%on{i} = arith.cmpi ne, %m{i}, %c0 : index\n"
            f"%x{i + 1} = scf.if %on{i} -> !t {{\n"
            f"tile.copy %X[%k] to %s{i} : !V to !v\n"
            f"%l{i} = tile.load %s{i} : !v -> !t\n"
            f"%y{i} = arith.addf %x{i}, %l{i} : !t\nscf.yield %y{i} : !t\n"
            f"}} else {{\nscf.yield %x{i} : !t\n}}"
        ),
    )
    return module(
        function(
            f"{buffers}\n%z = arith.constant dense<0.0> : !t\n"
            "%r = scf.for %k = %c0 to %n step %c64 iter_args(%x0 = %z) -> !t {\n"
            f"{body}\nscf.yield %x{size} : !t\n}} {{tile.num_stages = 2 : i32}}\n"
            "tile.store %r to %Y : !t to memref<64xf16>"
        )
    )


@pytest.mark.parametrize("size", [2, 12])
def test_copies_in_many_guards_are_staged(size):
    # The copies of the first guard were erased and then looked at again: a crash.
    output = run(
        guarded_copies(size),
        "--tile-set-target=chip=gfx942",
        *SCHEDULE[:-2],
        "--tile-stage-copies",
        output="-",
    )
    assert "tile.copy" not in output
    assert output.count("tile.load %arg2[") == size
