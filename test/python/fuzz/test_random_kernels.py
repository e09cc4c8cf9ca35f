"""Random kernels compute the same after every pass, and their schedules are proved;
see docs/fuzzing.md."""

import dataclasses
import os
import re
import subprocess
import sys

import numpy as np
import pytest

import tilews.language as tl
from tilews import ir, passes, sim
from tilews.errors import CompileError
from tilews.fuzz import check as checking
from tilews.fuzz.check import (
    CHIPS,
    FuzzFinding,
    Options,
    check,
    difference,
    tile_passes,
)
from tilews.fuzz.generator import generate
from tilews.fuzz.reference import reference_roles
from tilews.fuzz.shrink import shrink

OPTIONS = Options(reference_every=5, emit_every=32, rotates=True)


#: Seeds of kernels that the verifier can neither prove nor refute, and what it says.
UNVERIFIED = {
    146: "more than 63 slots",
    449: "the tile.wait before permits too many pending groups",
}

#: What no random kernel uses, and why.
UNUSED = {
    **dict.fromkeys(
        ("Buffer", "BufferRegion", "Channel", "Cursor", "DType", "Scalar", "Tile"),
        "a class of values, which functions return",
    ),
    **dict.fromkeys(
        ("e4m3fnuz", "e5m2fnuz"), "types of gfx942, for which tl.e4m3 stands"
    ),
}


@pytest.mark.unverified
@pytest.mark.parametrize("first", range(0, 500, 20))
def test_passes_keep_what_random_kernels_compute(first):
    seeds = range(first, first + 20)
    found = [finding for seed in seeds for finding in check(generate(seed), OPTIONS)]
    wrong = [finding for finding in found if finding.kind != "unverified"]
    assert not wrong, "\n".join(map(str, wrong))
    assert {finding.seed for finding in found} == UNVERIFIED.keys() & set(seeds)
    for finding in found:
        assert UNVERIFIED[finding.seed] in finding.message


def test_a_slow_compilation_is_a_finding(monkeypatch):
    monkeypatch.setattr(checking, "COMPILE_SECONDS", 1e-9)
    found = check(generate(8), Options(chips=("sm_90a",), emit_every=1))
    assert [each.kind for each in found] == ["slow"]
    assert re.fullmatch(r"([\w-]+ \d+\.\d s, ){2}[\w-]+ \d+\.\d s", found[0].message)


def test_seeds_are_repeatable_and_different():
    texts = [generate(seed).text for seed in range(40)]
    assert texts == [generate(seed).text for seed in range(40)]
    assert len(set(texts)) == 40


def test_seeds_are_the_same_in_every_process():
    program = (
        "import hashlib\nfrom tilews.fuzz.generator import generate\n"
        "text = ''.join(generate(seed).text for seed in range(200))\n"
        "print(hashlib.sha256(text.encode()).hexdigest())"
    )
    digests = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(digests) == 1


def test_kernels_have_what_schedules_get_wrong():
    text = "".join(generate(seed).text for seed in range(1000))
    for feature in (
        "num_stages=5", "tl.persistent", "while ", "else:", "tl.any(", "tl.view(",
        "atomic_add", "transpose_lhs", "exp2", "layout=", "tl.e4m3", "i64", "mask=",
        "+ size", "- 3\n", ".bitcast(tl.e2m1)", "tl.u8", "tl.u32", "tl.e3m2",
        "tl.argmin(", "tl.sort(", "tl.argsort(", "tl.topk(", "lambda a1, b1, a2, b2",
        "exclusive=True", "reverse=True", "tl.cat(", "tl.stack(", "tl.split(",
        "tl.permute(", "tl.flip(", "tl.fma(", "tl.clz(", "tl.byte_perm(", "tl.mulhi(",
        "tl.udiv(", "tl.rand(", "tl.philox(", "tl.f64", "tl.u64", " // 3", " % 5",
        "tl.atomic_cas(", "tl.atomic_exchange(", "tl.atomic_xor(", "lhs_scale=",
        "x, y, z, w = tl.grid(", "tl.zeros((2, ", "tl.gemm_sp(",
    ):  # fmt: skip
        assert feature in text, feature


def test_kernels_use_the_whole_language():
    text = "".join(generate(seed).text for seed in range(2000))
    used = set(re.findall(r"tl\.(\w+)", text))
    assert set(dir(tl)) - used == UNUSED.keys()


def test_parameters_and_insertions_have_all_forms():
    text = "".join(generate(seed).text for seed in range(2000))
    for feature in (
        "] | None, ", "] | None = None", "tl.index | None", " is not None:",
        " is not None else ", ": list[tl.Tensor[", " in enumerate(L", "tl.stack([",
        "[len(L", "@dataclasses.dataclass\n", "dataclass(frozen=True)",
        "(typing.NamedTuple)", "config.moved(", "if config.f0:", "(0, config.n",
        "tl.constexpr, ", "tl.constexpr = ", ": tl.index = ", ": tl.i64 = ",
        "tl.print('at", "'and'", "assert tl.load(", "tl.device_assert(t",
        'scope="cluster"', 'tl.fence(order="acquire", scope=', "tl.role_registers(",
    ):  # fmt: skip
        assert feature in text, feature


def test_written_roles_have_all_forms():
    programs = [each for each in map(generate, range(2000)) if "tl.role(" in each.text]
    text = "".join(each.text for each in programs)
    for feature in (
        'tl.role("save', 'tl.role("math1"', 'tl.role("load1"', "registers=232",
        "tl.persistent(", "if tl.load(G", "transpose_rhs=True", "tl.store(tl.load(",
        'producer="simt"', "versions=4", "n0: tl.index", "tl.range(0)",
    ):  # fmt: skip
        assert feature in text, feature
    assert all(set(each.chips) <= {"sm_80", "sm_90a"} for each in programs)


def test_roles_run_in_numpy_after_those_they_wait_for():
    program = next(
        each
        for each in map(generate, range(2000))
        if re.findall(r'tl.role\("(\w+)"', each.text)[:3] == ["save0", "math0", "load0"]
    )
    ordered = reference_roles.in_order(program).source
    assert re.findall(r"tl.role\('(\w+)'", ordered) == ["load0", "math0", "save0"]
    plain = generate(0)
    assert reference_roles.in_order(plain) is plain


def test_small_matmuls_have_all_forms():
    text = "".join(generate(seed).text for seed in range(2000))
    for feature in (
        "lhs_type=tl.e2m3", "rhs_type=tl.e3m2", "rhs_scale=tl.load(", "lhs_scale=S",
        "tl.u4]", "tl.i4]", "split_k=", "stream_k=True", 'order="acq_rel"', "scope=",
        "pad=1", "S1[ids",
    ):  # fmt: skip
        assert feature in text, feature


def test_kernels_for_some_chips_are_built_for_each():
    """The frontend converts operands of fp6 and fp4 where it has to."""
    programs = [each for each in map(generate, range(400)) if "_type=" in each.text]
    by_chip = {
        chip: ["_type = " in str(checking.module_for(each, chip)) for each in programs]
        for chip in ("gfx950", "sm_90a")
    }
    assert any(by_chip["gfx950"]) and not any(by_chip["sm_90a"])
    program = programs[by_chip["gfx950"].index(True)]
    assert check(program, Options(emit_every=0)) == []


def find_pipelined_seed() -> int:
    """The seed of a kernel with a channel, for a chip whose schedules have no roles.

    One of its loops has a constant number of iterations.
    """
    for seed in range(2000):
        loop = re.search(r"\n    for .*tl.range\(\d, [4-9], num", generate(seed).source)
        if not loop:
            continue
        module = checking.with_target(generate(seed).build(), "sm_80")
        for step in tile_passes("sm_80"):
            passes.run(module, step)
        text = str(module)
        if "pending = 1" in text and "tile.gemm" in text:
            return seed
    raise AssertionError("no kernel of two thousand is pipelined")


@pytest.mark.unverified
def test_a_wrong_pass_is_found_and_blamed(monkeypatch):
    """A wait that permits one more pending group is too weak: copies land too late."""
    seed = find_pipelined_seed()
    run = passes.run

    def run_wrongly(module, pipeline):
        messages = run(module, pipeline)
        if "tile-expand-pipeline" in pipeline:
            for wait in find_ops(module, "tile.wait"):
                if "pending" in wait.attributes:
                    pending = wait.attributes["pending"]
                    wait.attributes["pending"] = type(pending).get(
                        pending.type, pending.value + 1
                    )
        return messages

    monkeypatch.setattr(checking.passes, "run", run_wrongly)
    options = Options(("sm_80",), reference_every=0, emit_every=0)
    (finding,) = check(generate(seed), options)
    assert finding.kind in ("error", "differs")
    assert finding.step == "tile-expand-pipeline for sm_80"


def find_ops(module, name):
    """All operations with a name."""
    found = []

    def visit(op):
        if op.name == name:
            found.append(op)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)
    return found


def test_reduction_keeps_what_is_wrong(monkeypatch):
    """If kernels with an atomic count as wrong, the reducer leaves little else."""
    program = next(
        p for p in map(generate, range(100)) if p.text.count("atomic_add") == 1
    )

    def is_wrong(candidate, options):
        wrong = "atomic_add" in candidate.source
        return [FuzzFinding(candidate.seed, "pass", "x for sm_80", "")] * wrong

    monkeypatch.setattr("tilews.fuzz.shrink.check_apart", is_wrong)
    finding = FuzzFinding(program.seed, "pass", "x for sm_80", "")
    small = shrink(program, finding, OPTIONS)
    body = small.source[small.source.index("):") :].splitlines()[1:]
    assert len(body) == 1 and "atomic_add" in body[0]


def is_alarm(monkeypatch, text):
    """The finding for a kernel if the verifier's message is `text`."""
    run = passes.run

    def run_verifier(module, pipeline):
        if not pipeline.startswith(checking.VERIFIER):
            return run(module, pipeline)
        if "error" in text:
            raise CompileError(text)
        return [text]

    monkeypatch.setattr(checking.passes, "run", run_verifier)
    return check(generate(0), Options(("sm_80",), reference_every=0, emit_every=0))


def test_a_counterexample_that_the_simulator_does_not_see_is_found(monkeypatch):
    (finding,) = is_alarm(monkeypatch, "error: schedule of @kernel_0 is wrong: so")
    assert finding.kind == "alarm"
    assert finding.step == "tile-expand-pipeline for sm_80"


def test_a_schedule_that_is_not_verified_is_found(monkeypatch):
    (finding,) = is_alarm(monkeypatch, "remark: tile-verify-0001: not verified")
    assert finding.kind == "unverified"


def find_with(text: str):
    """A kernel whose text has something."""
    return next(each for each in map(generate, range(2000)) if text in each.text)


def test_a_wrong_call_is_found(monkeypatch):
    """A call that runs nothing."""
    program = find_with(": list[tl.Tensor")
    options = Options(("sm_80",), reference_every=0, emit_every=0)
    assert check(program, options) == []
    monkeypatch.setattr(type(program), "call", lambda *arguments: None)
    (finding,) = check(program, options)
    assert finding.kind == "call" and "differ)" in finding.message


def test_a_call_passes_the_class_that_the_kernel_declares():
    program = find_with("config.moved(")
    values = program.assemble(program.arguments(), lambda _, value: value)
    declared = program.function().__globals__[f"Config_{program.seed}"]
    assert type(values["config"]) is declared


def test_a_print_that_a_pass_drops_is_found(monkeypatch):
    program = find_with("    tl.print('at 0', t)")
    run = passes.run

    def run_wrongly(module, pipeline):
        messages = run(module, pipeline)
        if "canonicalize" in pipeline:
            for op in find_ops(module, "tile.print"):
                op.operation.erase()
        return messages

    monkeypatch.setattr(checking.passes, "run", run_wrongly)
    (finding,) = check(program, Options(("sm_80",), 0, 0))
    assert finding.kind == "differs" and finding.step.startswith("canonicalize")
    assert "the kernel prints 'nothing', expected 'block (0" in finding.message


def test_differences_are_told():
    a = [np.zeros(3), 5, np.array([1.0, np.nan])]
    b = [np.zeros(3), 5, np.array([1.0, np.nan])]
    assert difference(a, b) == ""
    b[2][0] = 2.0
    assert difference(a, b).startswith("argument 2 has 1.0 at (0,), expected 2.0")


def test_kernels_that_read_garbage_are_told_apart():
    program = generate(0)
    source = program.source.splitlines()
    place = next(i for i, line in enumerate(source) if "alloc_shared" in line)
    buffer = source[place].split()[0]
    source.insert(place + 1, f"    tl.print(tl.load({buffer}))")
    broken = dataclasses.replace(program, source="\n".join(source) + "\n")
    (finding,) = check(broken, Options(CHIPS[:1]))
    assert finding.kind == "invalid"
    assert sim.SimulationError.__name__ not in finding.message


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--seeds", "5:3"], "there are no seeds in '5:3'"),
        (["--seeds", "5:5"], "there are no seeds in '5:5'"),
        (["--seeds=-1"], "expected FIRST:LAST or one seed, from 0 on, found '-1'"),
        (["--seeds", "a:b"], "expected FIRST:LAST or one seed"),
        (["--chip", "other"], "unknown target 'other'"),
        (["--chip", "cpu"], "expected a GPU such as sm_90a, found 'cpu'"),
        (["--jobs", "-1"], "-1 is not in the range"),
        (["--numpy", "-1"], "-1 is not in the range"),
        (["--save", __file__], "is a file"),
        (["--reduce"], "--reduce makes smaller what --save writes"),
        (["--show", "--chip", "sm_80"], "--chip does not go with --show"),
    ],
)
def test_wrong_usage(arguments, message):
    command = [sys.executable, "-m", "tilews.fuzz", *arguments]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 2, result.stderr
    assert message in " ".join(result.stderr.split())
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    "options, message",
    [
        (["--gpu", "--chip", "sm_80"], "--chip does not go with --gpu"),
        (["--gpu", "--emit", "2"], "--emit does not go with --gpu"),
        (["--gpu", "--show"], "--gpu does not go with --show"),
    ],
)
def test_options_of_a_gpu(options, message):
    command = [sys.executable, "-m", "tilews.fuzz", "--seeds", "0:2", *options]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert message in result.stderr
