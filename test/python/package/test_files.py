"""Outputs are written as a whole: a failure leaves the files that were there."""

import os
import resource
import shlex
import signal
import subprocess
import sys

import pytest

from tilews import runtime
from tilews._support import files
from tilews.compiler import CompileError, compile_file
from tilews.runtime.pairs import pair


def limit_files():
    """Lets the disk seem full after 100 bytes."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))


def tilews(*arguments, cwd, limit=None):
    return subprocess.run(
        [sys.executable, "-m", "tilews", *map(str, arguments)],
        cwd=cwd,
        capture_output=True,
        text=True,
        preexec_fn=limit,
    )


def native(tool, *arguments, cwd, limit=None):
    path = os.path.join(os.environ["TILEWS_BUILD_DIR"], "bin", tool)
    return subprocess.run(
        [path, *map(str, arguments)],
        cwd=cwd,
        capture_output=True,
        text=True,
        preexec_fn=limit,
    )


def listing(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


#: The options of the native tools.
NATIVE = {
    "tilews-opt": [],
    "tilews-reduce": ["--reduce-kernel=test=/bin/false"],
    "tilews-translate": ["--to=asm"],
}


@pytest.mark.parametrize("tool", ["tilews", *NATIVE])
@pytest.mark.parametrize("failure", ["full disk", "parse error", "folder"])
def test_failures_leave_the_old_files(tool, failure, source, tmp_path):
    folder = tmp_path / "out"
    folder.mkdir()
    for name in ("kernel.s", "kernel.json"):
        (folder / name).write_text("old")
    before = listing(folder)
    if failure == "parse error":
        source.write_text("nonsense")
    limit = limit_files if failure == "full disk" else None
    output = folder / ("no/kernel.s" if failure == "folder" else "kernel.s")
    if tool == "tilews":
        result = tilews("compile", source, "-o", output, cwd=folder, limit=limit)
        assert "Error: " in result.stderr and "Traceback" not in result.stderr
    else:
        options = ["-o", output, *NATIVE[tool]]
        result = native(tool, source, *options, cwd=folder, limit=limit)
        assert "error: " in result.stderr
        assert "LLVM ERROR" not in result.stderr
    assert result.returncode in (1, 2)
    assert listing(folder) == before


@pytest.mark.parametrize("tool", NATIVE)
@pytest.mark.parametrize("option", ["-o {}", "-o={}", "--o {}"])
def test_native_tools_replace_the_old_file(tool, option, source, tmp_path):
    output = tmp_path / "kernel.s"
    for old in (None, "old"):
        if old:
            output.write_text(old)
        names = {path.name for path in tmp_path.iterdir()} | {output.name}
        options = option.format(output).split()
        done = native(tool, source, *options, *NATIVE[tool], cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert "nothing" in output.read_text()
        assert {path.name for path in tmp_path.iterdir()} == names


@pytest.mark.parametrize("tool", ["tilews-opt", "tilews-translate"])
def test_native_tools_write_where_a_link_leads(tool, source, tmp_path):
    (tmp_path / "link.s").symlink_to("kernel.s")
    done = native(tool, source, "-o", "link.s", *NATIVE[tool], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "link.s").is_symlink()
    assert "nothing" in (tmp_path / "kernel.s").read_text()


@pytest.mark.parametrize("tool", NATIVE)
@pytest.mark.parametrize("target", ["-o /dev/full", "-o {}", "> /dev/full", ">&-"])
def test_native_tools_report_where_they_cannot_write(tool, target, source, tmp_path):
    path = os.path.join(os.environ["TILEWS_BUILD_DIR"], "bin", tool)
    command = [path, source, *NATIVE[tool]]
    redirected = f"{shlex.join(map(str, command))} {target.format(tmp_path)}"
    done = subprocess.run(redirected, shell=True, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1
    assert done.stderr.startswith("error: ") and done.stderr.count("\n") == 1


SIGNALS = """
import os, resource, signal
import tilews, tilews.language as tl

@tilews.kernel(threads=64)
def fill(A: tl.Tensor["64", tl.f32]):
    A[0] = tl.full((64,), 1.0, tl.f32)

compiled = fill.compile("gfx942")
assert compiled.binary
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
try:
    compiled.save("kernel.hsaco")
except OSError as error:
    print(error.strerror)
try:
    fill.compile("gfx90a").save("other.hsaco")
except (OSError, tilews.CompileError) as error:
    print("File too large" in str(error))
try:
    os.kill(os.getpid(), signal.SIGINT)
except KeyboardInterrupt:
    print("interrupted")
"""


def test_compilers_leave_the_signals_to_python(tmp_path):
    """LLVM would end the process at Ctrl-C, and at a file that is too large."""
    script = tmp_path / "script.py"
    script.write_text(SIGNALS)
    folder = tmp_path / "folder"
    folder.mkdir()
    done = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, cwd=folder
    )
    assert done.stdout.split("\n") == ["File too large", "True", "interrupted", ""]
    assert list(folder.iterdir()) == []


def test_a_signal_leaves_the_old_file(source, tmp_path):
    output = tmp_path / "kernel.json"
    output.write_text("old")
    names = {path.name for path in tmp_path.iterdir()}
    code = (
        "import os, signal, sys\n"
        "from tilews._support import files\n"
        "os.fsync = lambda file: os.kill(os.getpid(), signal.SIGINT)\n"
        "files.write(sys.argv[1], 'new')\n"
    )
    done = subprocess.run([sys.executable, "-c", code, output], capture_output=True)
    assert done.returncode in (-signal.SIGINT, 1, 130)
    assert output.read_text() == "old"
    assert {path.name for path in tmp_path.iterdir()} == names


def test_all_files_or_none(tmp_path):
    (tmp_path / "a").write_text("old")
    with pytest.raises(OSError, match="nowhere/b"):
        files.write_all({tmp_path / "a": "new", tmp_path / "nowhere/b": "new"})
    assert listing(tmp_path) == {"a": b"old"}


def test_links_permissions_and_devices_stay(tmp_path):
    (tmp_path / "file").write_text("old")
    (tmp_path / "file").chmod(0o640)
    (tmp_path / "link").symlink_to("file")
    files.write(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_text() == "new"
    assert (tmp_path / "file").stat().st_mode & 0o777 == 0o640
    files.write(tmp_path / "other", "new")
    mask = os.umask(0)
    os.umask(mask)
    assert (tmp_path / "other").stat().st_mode & 0o777 == 0o666 & ~mask
    files.write("/dev/null", "new")
    with pytest.raises(OSError):
        files.write("/dev/full", "new")


def test_translate_keeps_links_and_writes_to_devices(source, tmp_path):
    (tmp_path / "file").write_text("old")
    (tmp_path / "link").symlink_to("file")
    arguments = (source, "--to=asm", "-o")
    assert not native("tilews-translate", *arguments, "link", cwd=tmp_path).returncode
    assert (tmp_path / "link").is_symlink()
    assert ".amdhsa_kernel" in (tmp_path / "file").read_text()
    done = native("tilews-translate", *arguments, "/dev/stdout", cwd=tmp_path)
    assert ".amdhsa_kernel" in done.stdout
    done = native("tilews-translate", *arguments, "/dev/full", cwd=tmp_path)
    assert "No space left" in done.stderr and done.returncode == 1


def test_the_manifest_does_not_overwrite_the_code(source, tmp_path):
    output = tmp_path / "kernel.json"
    result = tilews("compile", source, "--to", "asm", "-o", output, cwd=tmp_path)
    assert "its manifest has that name" in result.stderr
    assert result.returncode == 1 and not output.exists()
    assert not tilews("compile", source, "-o", output, cwd=tmp_path).returncode
    assert '"kernel": "nothing"' in output.read_text()


def test_the_manifest_does_not_follow_a_link_to_the_code(source, tmp_path):
    (tmp_path / "a.hsaco").write_text("old")
    (tmp_path / "a.json").symlink_to("a.hsaco")
    for name in ("a.hsaco", "a.json"):
        with pytest.raises(CompileError, match="its manifest has that name"):
            compile_file(source).save(tmp_path / name)
    assert (tmp_path / "a.hsaco").read_text() == "old"


def test_devices_and_pipes_get_no_manifest(source, tmp_path):
    (tmp_path / "null").symlink_to("/dev/null")
    before = {path.name for path in tmp_path.iterdir()}
    assert not tilews("compile", source, "-o", "null", cwd=tmp_path).returncode
    assert {path.name for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize("name", ["", "a\0b"])
def test_code_needs_the_name_of_a_file(name, source):
    with pytest.raises(CompileError, match="a folder, or has a NUL character"):
        compile_file(source).save(name)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_signals_leave_no_temporary_files(number, source, tmp_path):
    """The code is in a new file that would get the name of the old one."""
    output = tmp_path / "kernel.hsaco"
    output.write_text("old")
    names = {path.name for path in tmp_path.iterdir()}
    code = (
        "import os, signal\n"
        "from tilews.cli import main\n"
        f"os.fsync = lambda file: os.kill(os.getpid(), {int(number)})\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "compile", source, "-o", output],
        capture_output=True,
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),
    )
    assert done.returncode == 128 + number and done.stderr == b""
    assert output.read_text() == "old"
    assert {path.name for path in tmp_path.iterdir()} == names


def test_a_signal_while_modules_are_imported(tmp_path):
    """An exception in the import of a native module would crash."""
    module = tmp_path / "kernels.py"
    module.write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n")
    done = subprocess.run(
        [sys.executable, "-m", "tilews", "compile", f"{module}:f"],
        capture_output=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert done.returncode == -signal.SIGINT and done.stderr == b""


def test_code_and_manifest_belong_together(source, tmp_path):
    kernel = compile_file(source)
    code, manifest = tmp_path / "a.hsaco", tmp_path / "a.json"
    kernel.save(code)
    assert runtime.load(code).manifest == kernel.manifest
    old = manifest.read_text()
    manifest.write_text(old.replace('"nothing"', '"another"'))
    with pytest.raises(runtime.LaunchError, match="code is of another manifest"):
        runtime.load(code)
    manifest.write_text(old)
    code.write_bytes(code.read_bytes().replace(b"nothing", b"another"))
    with pytest.raises(runtime.LaunchError, match=r"code_sha256.*another file"):
        runtime.load(code)
    # Also if the code is the same, as after a change of the grid.
    whole, _ = pair(kernel.hsaco, {**kernel.manifest, "grid": [2, 1, 1]})
    with pytest.raises(runtime.LaunchError, match="code is of another manifest"):
        runtime.LoadedKernel(kernel.manifest, whole)


def test_text_with_the_hash_is_still_code(source, tmp_path):
    kernel = compile_file(source)
    for form, comment in (("asm", "//"), ("llvm", ";")):
        kernel.save(tmp_path / f"a.{form}", form)
        text = (tmp_path / f"a.{form}").read_text()
        assert text.startswith(getattr(kernel, form))
        assert text.splitlines()[-1].startswith(f"{comment} tilews manifest sha256")


def test_unknown_forms_are_refused(source, tmp_path):
    with pytest.raises(CompileError, match=r"expected one of ptx, .*found 'manifest'"):
        compile_file(source).save(tmp_path / "a.hsaco", "manifest")
    assert not (tmp_path / "a.hsaco").exists()
