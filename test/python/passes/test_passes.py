"""Passes and pipelines as functions on live modules."""

import inspect
import os
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

from kernels.gemm import gemm
from tilews import CompileError, compiler, ir, pass_list, passes, sim
from tilews._mlir_libs import _tilews

ROOT = Path(__file__).parents[3]

#: Passes up to phase 4, in which each wgmma ends before the next one starts.
CUSTOM = (
    "canonicalize,cse,tile-annotate-instructions,tile-plan-pipeline,"
    "tile-multi-version,tile-specialize-warps,tile-expand-pipeline,canonicalize,cse,"
    "tile-infer-layouts,tile-plan-shared-memory,tile-insert-barriers"
)


def call(module: ir.Module, element: str) -> list[str]:
    """Runs an element of a pipeline by its Python function, if there is one."""
    flag, options = re.fullmatch(r"([\w-]+)(?:\{(.*)\})?", element).groups()
    function = getattr(passes, flag.removeprefix("tile-").replace("-", "_"), None)
    if function is None or flag == "canonicalize":
        return passes.run(module, element)
    pairs = [pair.split("=") for pair in (options or "").split()]
    return function(module, **{name.replace("-", "_"): x for name, x in pairs})


def multiply(module: ir.Module) -> np.ndarray:
    """Runs a matmul of two small matrices on the interpreter and checks the result."""
    random = np.random.default_rng(0)
    a = random.integers(-3, 4, (70, 200)).astype(np.float16)
    b = random.integers(-3, 4, (200, 72)).astype(np.float16)
    c = np.zeros((70, 72), np.float32)
    sim.run(module, None, [a, b, c])
    np.testing.assert_array_equal(c, a.astype(np.float32) @ b.astype(np.float32))


def lowered(compiled: compiler.CompiledKernel) -> str:
    """The module in the LLVM dialect, printed as a live module is."""
    with ir.Context():
        return str(ir.Module.parse(compiled.mlir("target")))


@pytest.mark.parametrize(
    ("target", "pipeline"),
    [("sm_90a", "nvvm"), ("sm_80", "nvvm"), ("gfx942", "rocdl")],
)
def test_step_by_step_is_the_default_pipeline(target, pipeline):
    module = gemm.build(target)
    steps = passes.expand(f"tilews-to-{pipeline}{{chip={target}}}")
    assert "tile-infer-layouts{explain=false}" in steps
    for step in steps:
        call(module, step)
        if step.startswith("tile-expand-pipeline"):
            multiply(module)
    expected = gemm.compile(target)
    assert str(module) == lowered(expected)
    at_once = gemm.build(target)
    getattr(passes, f"to_{pipeline}")(at_once, chip=target)
    assert str(at_once) == lowered(expected)
    assert compiler.compile_module(module).asm == expected.asm


def test_halves_of_the_pipeline():
    module = gemm.build("sm_90a")
    steps = passes.expand("tilews-to-nvvm{chip=sm_90a}")
    barriers = steps.index("tile-insert-barriers")
    passes.run(module, ",".join(steps[: barriers + 1]))
    passes.laid_out_to_nvvm(module, index_bitwidth=64)
    compiled = gemm.compile("sm_90a", index_bitwidth=64)
    assert str(module) == lowered(compiled)


def test_custom_pipeline():
    default = gemm.compile("sm_90a")
    custom = gemm.compile("sm_90a", pipeline=CUSTOM)
    assert gemm.compile("sm_90a", pipeline=CUSTOM) is custom
    for compiled, is_deferred in ((default, True), (custom, False)):
        assert "mbarrier.try_wait" in compiled.ptx
        assert ("wgmma.wait_group.sync.aligned 1" in compiled.ptx) == is_deferred
        assert ("tile.gemm_wait" in compiled.mlir("laid_out")) == is_deferred
        assert ("tile-defer-gemm-waits" in compiled.timings) == is_deferred
    for target in ("sm_80", "gfx942"):
        assert gemm.compile(target, pipeline=CUSTOM).asm


def test_a_wait_leaves_no_more_matmuls_than_are_in_flight():
    text = gemm.compile("sm_90a").mlir("barriers")
    assert "tile.gemm_wait {pending = 1 : i64}" in text
    for pending, expected in ((1, 1), (7, 7), (8, 7), (1023, 7)):
        with ir.Context():
            module = ir.Module.parse(
                text.replace("pending = 1 :", f"pending = {pending} :")
            )
            passes.run(module, "convert-tile-to-nvvm")
            assert f"wgmma.wait_group.sync.aligned {expected};" in str(module)


def test_remarks_are_returned():
    module = gemm.build("sm_90a")
    passes.annotate_instructions(module)
    assert passes.plan_pipeline(module) == []
    remarks = passes.infer_layouts(module, explain=True)
    line = inspect.getsourcelines(gemm.python)[1] + 17
    assert any(
        re.match(rf"\S*kernels/gemm.py:{line}:\d+: remark: layout", remark)
        for remark in remarks
    ), remarks


def test_a_pass_that_fails_changes_nothing():
    module = gemm.build("sm_90a")
    before = str(module)
    with pytest.raises(CompileError, match=r"kernels/gemm.py:\d+:\d+: error: .*layout"):
        passes.run(module, "tile-annotate-instructions,convert-tile-to-nvvm")
    assert str(module) == before
    assert module.operation.verify()
    passes.to_nvvm(module)
    assert "llvm.func @gemm" in str(module)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (
            lambda m: passes.infer_layouts(m, explan=True),
            r"tile-infer-layouts has no option 'explan'; its options are: explain$",
        ),
        (
            lambda m: passes.plan_pipeline(m, depth=2),
            r"tile-plan-pipeline has no option 'depth'; it has none$",
        ),
        (
            lambda m: passes.to_nvvm(m, index_bitwidth="wide"),
            r"cannot parse the passes 'tilews-to-nvvm\{index-bitwidth=wide\}'",
        ),
        (
            lambda m: passes.run(m, "tile-plan-pipelin"),
            r"^unknown pass 'tile-plan-pipelin' in 'tile-plan-pipelin'; "
            r"did you mean 'tile-plan-pipeline'\?$",
        ),
        (lambda m: passes.run(m, "cse,zzz"), r"^unknown pass 'zzz' in 'cse,zzz'$"),
        (
            lambda m: passes.run(m, "tile-infer-layouts{depth=2}"),
            r"'tile-infer-layouts\{depth=2\}': .*no such option depth",
        ),
        (lambda m: passes.run(m, "cse)"), r"unbalanced parentheses"),
        (lambda m: passes.expand("zzz"), r"^unknown pass 'zzz'"),
        (lambda m: gemm.compile("sm_90a", pipeline="cse,zzz"), r"'zzz' does not refer"),
        (lambda m: gemm.compile("sm_90a", pipeline="cse"), r"error: .*layout"),
        (lambda m: gemm.compile("cpu", pipeline="cse"), r"takes no pipeline"),
    ],
)
def test_errors(wrong, message):
    module = gemm.build("sm_90a")
    before = str(module)
    with pytest.raises(CompileError, match=message):
        wrong(module)
    assert str(module) == before


def test_what_is_no_pass_or_module():
    with pytest.raises(AttributeError, match=r"did you mean 'plan_pipeline'\?"):
        passes.plan_pipelines  # noqa: B018
    with pytest.raises(TypeError, match=r"expected an ir.Module, found 'module"):
        passes.cse("module {}")


def test_every_documented_pass_is_a_function():
    page = (ROOT / "docs/passes.md").read_text()
    flags = re.findall(r"^## `--(\S+)`\n\n_(.*)_$", page, flags=re.M)
    assert len(flags) > 15
    for flag, summary in flags:
        function = getattr(passes, flag.removeprefix("tile-").replace("-", "_"))
        assert function.__doc__.startswith(summary[0].upper() + summary[1:])
        assert f"--{flag}" in function.__doc__


#: A value for an option of each type.
VALUES = {"integer": 64, "boolean": True, "string": ""}


@pytest.mark.parametrize(
    ("flag", "options"), [(flag, options) for flag, _, options in _tilews.pipelines()]
)
def test_functions_of_pipelines_take_every_option(flag, options):
    function = getattr(passes, flag.removeprefix("tilews-").replace("-", "_"))
    names = [name.replace("-", "_") for name, _, _ in options]
    assert list(inspect.signature(function).parameters) == ["module", *names]
    with ir.Context():
        module = ir.Module.parse("module {}")
    for name, (_, type_, _) in zip(names, options, strict=True):
        assert function(module, **{name: VALUES[type_]}) == []


def test_pipelines_have_the_options_that_the_compiler_registers():
    found = {flag: [name for name, *_ in o] for flag, _, o in _tilews.pipelines()}
    assert found["tilews-to-nvvm"] == ["index-bitwidth", "chip", "one-role"]
    assert found["tilews-laid-out-to-rocdl"] == ["index-bitwidth"]
    assert found["tilews-clean-up"] == []
    tool = Path(os.environ["TILEWS_BUILD_DIR"], "bin/tilews-opt")
    help_ = subprocess.run([tool, "--help"], capture_output=True, text=True)
    section = help_.stdout.partition("Pass Pipelines:")[2]
    # Options of the tool are indented less.
    registered = re.findall(r"^ {6}--(tilews-\S+)", section, flags=re.M)
    assert sorted(registered) == sorted(found)


def test_kernels_without_roles_on_request():
    module = gemm.build("sm_90a")
    passes.to_nvvm(module, one_role=True)
    assert "setmaxnreg" not in str(module)
    steps = passes.expand("tilews-to-nvvm{one-role=true}")
    assert "tile-specialize-warps{one-role=true}" in steps


def test_values_of_options_are_one_value(tmp_path):
    module = gemm.build("sm_90a")
    for chip in ("sm_80},cse{", "'sm_80'"):
        with pytest.raises(CompileError, match="'chip': expected a value without"):
            passes.to_nvvm(module, chip=chip)
    with pytest.raises(CompileError, match="unknown chip 'sm_80 one-role=true'"):
        passes.to_nvvm(module, chip="sm_80 one-role=true")
    text = passes._to_text("counterexample", tmp_path / "a b, c.json")
    assert passes.run(module, f"tile-verify-schedule{{report {text}}}")


def test_every_pass_has_a_pass_of_its_flag():
    for one in pass_list.read_passes():
        assert passes.expand(one.flag), one.flag


def test_example_of_the_documentation():
    page = (ROOT / "docs/launch.md").read_text()
    section = page.split("## Passes one by one")[1]
    code = re.findall(r"```python\n(.*?)```", section, flags=re.S)[:2]
    scope = {"gemm": gemm, "compile_module": compiler.compile_module}
    for example in code:
        exec(example, scope)
    assert "wgmma.wait_group.sync.aligned 0" in scope["kernel"].ptx
    assert "wgmma.wait_group.sync.aligned 1" not in scope["kernel"].ptx
