"""Lines of the source in device code: `.loc` in PTX, DWARF in cubins and HSACO."""

import inspect
import pathlib
import re

import numpy as np
import pytest

import tilews
import tilews.language as tl
from amdgcn.binaries import machine_code, without_lines
from kernels import zoo
from tilews import compiler
from tilews.runtime.manifest import check_manifest
from tilews.sim.amdgcn.line_table import dump, read_line_table

HERE = pathlib.Path(__file__)


@tilews.func
def scaled(x, factor):
    return x * factor  # scaled


@tilews.func
def moved(x):
    return tl.exp2(scaled(x, 3.0)) + 1.0  # moved


@tilews.kernel(threads=128)
def lines(A: tl.Tensor["M, 64", tl.f32], C: tl.Tensor["M, 64", tl.f32]):
    b = tl.grid(tl.cdiv(A.shape[0], 16))
    x = tl.load(A[b * 16, 0], (16, 64))  # load
    y = moved(x)  # call
    C[b * 16, 0] = y  # store


def line_of(mark):
    """The line of this file that ends with a comment."""
    texts = HERE.read_text().splitlines()
    (line,) = [i for i, text in enumerate(texts, 1) if text.endswith(f"  # {mark}")]
    return line


FIRST = inspect.getsourcelines(lines.python)[1]


def test_ptx_names_the_file_and_its_lines():
    ptx = lines.compile("sm_90a").ptx
    assert re.search(rf'^\t\.file\t1 "{HERE}"$', ptx, re.M)
    assert ptx.count(".file\t") == 1
    found = {int(line) for line in re.findall(r"^\t\.loc\t1 (\d+) ", ptx, re.M)}
    assert {line_of(mark) for mark in ("load", "moved", "store")} <= found
    # No line besides those of the kernel, of what it inlines, and of none.
    known = {0, FIRST, FIRST + 2, *map(line_of, ("scaled", "moved", "load", "store"))}
    assert found <= known
    # The load is from the line of the load.
    before = ptx[: ptx.index("ld.global.v4")]
    assert re.findall(r"\.loc\t1 (\d+) ", before)[-1] == str(line_of("load"))


def test_ptx_is_no_debug_build():
    ptx = lines.compile("sm_90a").ptx
    assert not re.search(r"^\.target.*debug", ptx, re.M)
    assert "\t.section\t.debug_info" not in ptx


@pytest.mark.parametrize("chip", ["gfx942", "gfx950", "gfx1100", "gfx1201"])
def test_hsaco_has_the_lines_of_the_kernel(chip):
    image = lines.compile(chip).hsaco
    table = read_line_table(image)
    assert {row.file for row in table} == {HERE.name}
    found = {row.line for row in table}
    assert {line_of(mark) for mark in ("load", "moved", "store")} <= found
    assert found <= {0, FIRST, FIRST + 2, *range(line_of("scaled"), FIRST + 7)}


def test_inlined_functions_say_who_called_them():
    info = dump(lines.compile("gfx942").hsaco, "info")
    names = re.findall(r'DW_AT_name\s+\("(\w+)"\)', info)
    assert {"lines", "moved"} <= set(names)
    assert names.count("moved") == 1
    called = re.search(
        r'DW_TAG_inlined_subroutine.*?"moved".*?DW_AT_call_line\s+\((\d+)\)', info, re.S
    )
    assert int(called[1]) == line_of("call")


@pytest.mark.parametrize("chip", ["sm_80", "sm_90a", "gfx942", "gfx1100"])
@pytest.mark.parametrize(
    "case", (zoo.gemm_cases() + zoo.other_cases())[::8], ids=lambda case: case.name
)
def test_lines_change_no_instruction(case, chip):
    arguments = case.arguments(np.random.default_rng(0))
    constants = case.constants_for(chip)
    module = case.kernel.build_for(*arguments, target=chip, **constants)
    with_lines, without = (
        compiler.compile_module(module, chip, line_info=line_info)
        for line_info in (True, False)
    )
    if chip.startswith("sm_"):
        assert "\t.loc\t" in with_lines.ptx
        assert "\t.loc\t" not in without.ptx
        assert without_lines(with_lines.ptx) == without_lines(without.ptx)
    else:
        assert read_line_table(with_lines.hsaco)
        assert not read_line_table(without.hsaco)
        assert machine_code(with_lines.hsaco) == machine_code(without.hsaco)


@pytest.mark.skipif(not compiler.find_ptxas(), reason="needs ptxas")
def test_cubins_have_lines_and_the_same_instructions():
    with_lines, without = (
        lines.compile("sm_90a", line_info=line_info).cubin
        for line_info in (True, False)
    )
    assert b".debug_line" in with_lines
    assert HERE.name.encode() in with_lines
    assert b".debug_line" not in without
    code = machine_code(with_lines, (".text.lines",))
    assert code
    assert code == machine_code(without, (".text.lines",))


def test_the_option_is_part_of_the_cache():
    kernel = lines.compile("sm_90a")
    assert lines.compile("sm_90a", line_info=True) is kernel
    without = lines.compile("sm_90a", line_info=False)
    assert without is not kernel
    assert lines.compile("sm_90a", line_info=False) is without
    assert "\t.loc\t" not in without.ptx
    with pytest.raises(tilews.CompileError, match="line_info: expected True or False"):
        lines.compile("sm_90a", line_info="no")


@pytest.mark.parametrize("chip", ["sm_90a", "gfx942"])
def test_saved_kernels_have_lines(chip, tmp_path):
    path = tmp_path / "lines.s"
    kernel = lines.compile(chip)
    kernel.save(path, "asm")
    assert HERE.name in path.read_text()
    assert re.search(rf"^\t\.loc\t\d+ {line_of('load')} ", path.read_text(), re.M)
    check_manifest(kernel.manifest)


@pytest.mark.parametrize("chip", ["sm_90a", "gfx942"])
def test_code_is_reproducible(chip):
    """Names of temporary files and of the compiler's own are no part of it."""
    if chip.startswith("sm_") and not compiler.find_ptxas():
        pytest.skip("needs ptxas")
    first, second = (
        compiler.compile_module(lines.build(chip), chip).binary for _ in range(2)
    )
    assert first == second
    own = [word for word in re.findall(rb"/[\w./-]{4,}", first) if b"tmp" in word]
    assert not [word for word in own if not str(HERE).encode().startswith(word)]
