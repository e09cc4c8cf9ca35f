"""The tilews command."""

import json

import pytest
from click.testing import CliRunner

from tilews.cli import main


def run(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def test_compile_writes_the_object_and_its_manifest(source, tmp_path):
    output = tmp_path / "kernel.hsaco"
    result = run("compile", source, "-o", output, "-v")
    assert result.exit_code == 0, result.output
    assert output.read_bytes()[:4] == b"\x7fELF"
    assert json.loads(output.with_suffix(".json").read_text())["kernel"] == "nothing"
    assert "registers:" in result.stderr
    assert "ms  link" in result.stderr


@pytest.mark.parametrize("form", ["mlir", "llvm", "asm", "object", "manifest"])
def test_compile_refuses_a_kernel_that_is_not_there(source, form):
    result = run("compile", source, "--kernel", "unknown", "--to", form)
    assert result.exit_code == 1 and not result.stdout
    assert "has no kernel 'unknown'" in result.stderr
    assert "kernel @nothing" in result.stderr


def test_compile_names_kernels_in_python_by_the_source(tmp_path):
    result = run("compile", tmp_path / "file.py:one", "--kernel", "two")
    assert result.exit_code == 2
    assert "--kernel is for .mlir files" in result.stderr
    assert "file.py:two" in result.stderr


FORMS = [
    ("mlir", b"llvm.func @nothing"),
    ("llvm", b"define amdgpu_kernel void @nothing"),
    ("asm", b".amdhsa_kernel nothing"),
    ("object", b"ELF"),
    ("manifest", b'"kernel": "nothing"'),
]


@pytest.mark.parametrize(("form", "content"), FORMS)
def test_compile_writes_each_form_to_stdout(source, form, content):
    result = run("compile", source, "--to", form)
    assert result.exit_code == 0, result.output
    assert content in result.stdout_bytes


def test_the_suffix_says_what_to_make(source, tmp_path):
    assert run("compile", source, "-o", tmp_path / "kernel.s").exit_code == 0
    assert ".amdhsa_kernel" in (tmp_path / "kernel.s").read_text()
    assert (tmp_path / "kernel.json").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--to", "ptx"], "gfx1100 has no PTX; it has asm and hsaco"),
        (["--target", "sm_1"], "unknown chip 'sm_1'"),
        (["-D", "BM=64"], "-D is for kernels in Python"),
        (["--to", "hsaco", "-o", "/nowhere/k.hsaco"], "there is no folder"),
    ],
)
def test_errors_are_one_message(source, arguments, message):
    result = run("compile", source, *arguments)
    assert result.exit_code != 0
    assert message in result.stderr
    assert "Traceback" not in result.output


def test_parse_errors_name_the_file(tmp_path):
    path = tmp_path / "bad.mlir"
    path.write_text("foo.bar")
    result = run("compile", path)
    assert result.exit_code == 1
    assert f"{path}:1:1: error: Dialect `foo' not found" in result.stderr


def test_python_kernels(source, tmp_path):
    path = tmp_path / "kernels.py"
    path.write_text(
        "from tilews import compiler\n"
        "class Kernel:\n"
        "    def compile(self, target, line_info, **constants):\n"
        f"        source = {str(source)!r}\n"
        "        assert constants == {'BM': 64, 'x': 0.5, 'kind': 'fast'}\n"
        "        return compiler.compile_file(source, target, line_info=line_info)\n"
        "nothing = Kernel()\n"
    )
    constants = [part for c in ("BM=64", "x=0.5", "kind=fast") for part in ("-D", c)]
    result = run("compile", f"{path}:nothing", "--to", "asm", *constants)
    assert result.exit_code == 0, result.output
    assert ".loc\t" in result.stdout
    result = run(
        "compile", f"{path}:nothing", "--to", "asm", *constants, "--no-line-info"
    )
    assert result.exit_code == 0, result.output
    assert ".loc\t" not in result.stdout
    result = run("compile", f"{path}:gemm")
    assert "has no kernel 'gemm', only: Kernel, nothing" in result.stderr


def test_element_types_are_constants(tmp_path):
    path = tmp_path / "kernels.py"
    path.write_text(
        "import tilews\n"
        "import tilews.language as tl\n"
        "@tilews.kernel(threads=64)\n"
        "def zero(X: tl.Tensor['N', 'T']):\n"
        "    X[tl.grid(X.shape[0])] = tl.zeros((1,), X.dtype)\n"
    )
    source = f"{path}:zero"
    result = run("compile", source, "--target", "sm_80", "--to", "manifest")
    assert "the element type of 'X' is not known" in result.stderr
    chip = ("--target", "gfx942", "--to", "manifest")
    result = run("compile", source, *chip, "-D", "T=tl.bf16")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["arguments"][0]["dtype"] == "bf16"
    result = run("compile", source, *chip, "-D", "T=tl.copy")
    assert "expected an element type such as tl.f16, found 'tl.copy'" in result.stderr
    result = run("compile", path, *chip)
    assert f"name the kernel, as in {path}:NAME; {path} has: zero" in result.stderr


def test_none_and_bools_are_constants(tmp_path):
    path = tmp_path / "kernels.py"
    path.write_text(
        "import tilews\n"
        "import tilews.language as tl\n"
        "@tilews.kernel(threads=64)\n"
        "def fill(X: tl.Tensor['N', tl.f32], Y: tl.Tensor['N', tl.f32] | None,\n"
        "         ONE: tl.constexpr):\n"
        "    assert ONE is False and Y is None\n"
        "    X[tl.grid(X.shape[0])] = 0.0\n"
    )
    arguments = ("compile", f"{path}:fill", "--target", "gfx942", "--to", "manifest")
    result = run(*arguments, "-D", "Y=None", "-D", "ONE=False")
    assert result.exit_code == 0, result.output
    (argument,) = json.loads(result.stdout)["arguments"]
    assert argument["name"] == "X"


def test_files_that_do_not_exist(tmp_path):
    for name in ("none.mlir", "none.py:gemm"):
        result = run("compile", tmp_path / name, "--to", "asm")
        assert result.exit_code == 1
        assert "none." in result.stderr and "Traceback" not in result.output
        assert "unknown:" not in result.stderr


def test_targets_are_listed():
    result = run("targets")
    assert result.exit_code == 0
    assert "sm_90a" in result.output and "gfx942" in result.output
