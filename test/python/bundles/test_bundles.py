"""Bundles: what modules declare is compiled once, and services compile nothing."""

import os
import subprocess
import sys

import pytest
from click.testing import CliRunner

import tilews
import tilews.language as tl
from tilews.bundles.bundle_command import bundle_command
from tilews.disk_cache.store import DiskCache

MODULE = """
import numpy as np
import tilews
import tilews.language as tl

SPECS = [
    {"X": tilews.ArraySpec((1, 4096), dtype), "factor": factor}
    for dtype in (tl.f32, tl.f16)
    for factor in (2, 3)
]

@tilews.kernel(specialize=SPECS)
def scale(X: tl.Tensor["M, N", "T"], factor: tl.constexpr):
    i, j = tl.grid(X.shape[0], tl.cdiv(X.shape[1], 256))
    X[i, j * 256] = tl.load(X[i, j * 256], (256,)) * factor

@tilews.kernel(specialize=[{"T": tl.f32, "threads": 64}])
def unfit(X: tl.Tensor["N", "T"]):
    i = tl.grid(tl.cdiv(X.shape[0], 256)) * 256
    X[i] = tl.load(X[i], (256,)) * 2
"""

SERVE = """
import sys
import numpy as np
from service_kernels import scale

x = np.ones((5, int(sys.argv[2])), sys.argv[1])
scale(x, int(sys.argv[3]), target="gfx942", run="sim")
print(sorted({*map(float, x.flat)}))
"""


@pytest.fixture
def module(tmp_path):
    path = tmp_path / "service_kernels.py"
    path.write_text(MODULE)
    return path


def run(*arguments):
    return CliRunner().invoke(bundle_command, [*map(str, arguments)])


def bundle(module, folder, *options):
    command = [sys.executable, "-m", "tilews", "bundle", str(module), *options]
    return subprocess.run(
        [*command, "--target", "gfx942", "-o", str(folder), "--jobs", "2"],
        capture_output=True,
        text=True,
        timeout=200,
    )


def serve(module, folder, *arguments):
    environment = {
        **os.environ,
        "TILEWS_CACHE": "read",
        "TILEWS_CACHE_DIR": str(folder),
        "TILEWS_JIT": "error",
        "PYTHONPATH": os.pathsep.join([str(module.parent), *sys.path]),
    }
    return subprocess.run(
        [sys.executable, "-c", SERVE, *map(str, arguments)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=200,
    )


def test_a_service_with_a_bundle_compiles_nothing(module, tmp_path):
    module.write_text(MODULE.replace("specialize=[{", "specialize=[] and [{"))
    folder = tmp_path / "bundle"
    made = bundle(module, folder)
    assert made.returncode == 0, made.stderr
    assert made.stdout.startswith(f"4 of 4 kernels in {folder}, ")
    assert len(DiskCache(folder).entries()) == 4
    for dtype, extent, factor in (
        ("float32", 4096, 2),
        ("float16", 16, 3),
        ("float16", 1024, 2),
    ):
        served = serve(module, folder, dtype, extent, factor)
        assert served.stdout == f"[{float(factor)}]\n", served.stderr
    # Another constant, and rows whose length no power of two divides.
    for arguments in (("float32", 4096, 4), ("float32", 4095, 2)):
        refused = serve(module, folder, *arguments)
        assert "a call of scale has to compile it for gfx942" in refused.stderr


def test_what_fails_is_named_and_the_rest_is_made(module, tmp_path):
    folder = tmp_path / "bundle"
    made = bundle(module, folder)
    assert made.returncode == 1
    assert made.stdout.startswith(f"4 of 5 kernels in {folder}, ")
    # compile_for takes an array for each parameter.
    assert "unfit[0] for gfx942: unfit: missing a required argument" in made.stderr


@pytest.mark.parametrize("shape", [(), (4096,), (1, 1, 4096)])
def test_specifications_have_the_dimensions_of_the_parameter(shape):
    def double(X: tl.Tensor["M, N", "T"]):
        i, j = tl.grid(X.shape[0], tl.cdiv(X.shape[1], 256))
        X[i, j * 256] = tl.load(X[i, j * 256], (256,)) * 2

    with pytest.raises(tilews.KernelError, match=r"'X': expected .* of 2 dimensions"):
        tilews.kernel(double).compile_for(
            tilews.ArraySpec(shape, tl.f16), target="gfx942"
        )


@pytest.mark.parametrize(
    "text, message",
    [
        ("import tilews", "declares nothing to compile: it has no kernels"),
        (
            MODULE.replace("specialize=", "source=None) #"),
            "declares nothing to compile: it has the kernels scale, unfit",
        ),
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("a b", "SyntaxError"),
    ],
)
def test_modules_without_declarations_are_errors(tmp_path, text, message):
    path = tmp_path / f"module_{abs(hash(text))}.py"
    path.write_text(text)
    result = run(path, "--target", "gfx942", "-o", tmp_path / "bundle")
    assert result.exit_code == 1
    assert message in result.output
    assert not (tmp_path / "bundle").exists()


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["nothing.py", "--target", "gfx942"], "cannot read nothing.py"),
        (["no.such.module", "--target", "gfx942"], "ModuleNotFoundError"),
        (["nothing.py", "--target", "cpu"], "'cpu' is interpreted"),
        (["nothing.py", "--target", "gtx"], "gtx"),
    ],
)
def test_wrong_arguments_are_errors(tmp_path, arguments, message):
    result = run(*arguments, "-o", tmp_path / "bundle")
    assert result.exit_code == 1
    assert message in result.output


@pytest.mark.parametrize(
    "failure, message",
    [
        ("raise ValueError('no luck')", "ValueError: no luck"),
        ("raise SystemExit(0)", "SystemExit: 0"),
        ("os._exit(3)", "a process that compiles kernels has died"),
    ],
)
def test_modules_that_fail_in_the_processes_are_errors(module, failure, message):
    helper = "import multiprocessing, os\n"
    helper += f"if multiprocessing.parent_process():\n    {failure}\n"
    module.write_text(helper + MODULE)
    made = bundle(module, module.with_name("a folder"))
    assert made.returncode == 1
    assert message in made.stderr
    assert "Traceback" not in made.stderr


def test_kernels_that_are_not_kept_are_errors(module, tmp_path):
    folder = tmp_path / "bundle"
    folder.mkdir()
    for number in range(256):
        (folder / f"{number:02x}").touch()  # In the place of a folder.
    made = bundle(module, folder)
    assert made.returncode == 1
    assert made.stdout.startswith("0 of 5 kernels in")
    assert "compiled kernels are not kept" in made.stderr


@pytest.mark.parametrize("specialize", [{"T": tl.f32}, [1], "T"])
def test_specialize_is_a_list_of_dictionaries(specialize):
    with pytest.raises(TypeError, match="specialize= is a list of dictionaries"):

        @tilews.kernel(specialize=specialize)
        def kernel(X: tl.Tensor["N", "T"]):
            X[0] = tl.load(X)


@pytest.mark.parametrize(
    "shape, dtype, message",
    [
        ([1, 2], tl.f32, "the shape is a tuple of integers"),
        ((-1,), tl.f32, "the shape is a tuple of integers"),
        ((1,), "f32", "expected an element type such as tl.f16"),
    ],
)
def test_descriptions_are_checked(shape, dtype, message):
    with pytest.raises(TypeError, match=message):
        tilews.ArraySpec(shape, dtype)
