"""Kernels from the disk: the same as compiled ones, and never those of other inputs."""

import pathlib
import subprocess
import sys

import pytest

import tilews
import tilews.language as tl
from tilews import compiler, dispatch, ir
from tilews._support.lazy import LazyModule
from tilews.disk_cache import keys, place
from tilews.disk_cache.entries import CacheEntry
from tilews.disk_cache.store import DiskCache

SOURCE = """
import tilews
import tilews.language as tl

FACTOR = 2.0

def helper(x):
    return x + 1.0

@tilews.kernel(threads=64)
def scale(X: tl.Tensor["N", "T"], shift: tl.constexpr = 3):
    i = tl.grid(tl.cdiv(X.shape[0], 64)) * 64
    for k in tl.range(4):
        X[i] = (helper(tl.load(X[i], (64,)).to(tl.f32)) * FACTOR + shift).to(X.dtype)
"""


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TILEWS_CACHE", "on")
    monkeypatch.setenv("TILEWS_CACHE_DIR", str(tmp_path / "cache"))
    return DiskCache(tmp_path / "cache")


@pytest.fixture
def compilations(monkeypatch):
    """The arguments of each compilation, without the module."""
    made = []

    def compile(module, *options):
        made.append(options)
        return make(module, *options)

    make = compiler._tilews.Compilation
    monkeypatch.setattr(compiler._tilews, "Compilation", compile)
    return made


@pytest.fixture(params=["shortcut", "IR"])
def by(request, monkeypatch):
    """Kernels are found by what their IR is built from, or by the IR."""
    if request.param == "IR":
        monkeypatch.setattr(dispatch, "find_shortcut", lambda *_: None)
    return request.param


def scale(change=("", "")):
    """A new kernel, as a new process has it."""
    text = SOURCE.replace(*change) if change[0] else SOURCE
    assert not change[0] or text != SOURCE
    scope = {"text": text}
    exec(
        compile(text.replace("64)\n", "64, source=text)\n"), "scale.py", "exec"), scope
    )
    return scope["scale"]


def build(target="gfx942", change=("", ""), T=tl.f32, **options):
    compiled = scale(change).compile(target, T=T, **options)
    assert compiled.binary
    return compiled


@pytest.mark.parametrize("target", ["gfx942", "gfx1100"])
def test_a_kernel_from_the_disk_is_the_compiled_one(cache, by, compilations, target):
    first = build(target)
    second = build(target)
    assert len(compilations) == 1
    assert second.timings == {}
    for name in ("binary", "manifest", "messages", "resources", "target", "vendor"):
        assert getattr(first, name) == getattr(second, name)
    assert len(compilations) == 1
    # Other forms are compiled when they are read.
    for name in ("asm", "llvm", "object"):
        assert getattr(first, name) == getattr(second, name)
    assert first.mlir() == second.mlir()
    assert len(compilations) == 2


def test_without_an_assembler_ptx_is_kept(cache, by, compilations, monkeypatch):
    monkeypatch.setattr(compiler, "find_ptxas", lambda: None)
    images = []
    monkeypatch.setattr(
        compiler,
        "LoadedKernel",
        lambda manifest, image: images.append(image) or image,
    )
    for _ in range(2):
        assert scale().compile("sm_90a", T=tl.f32).loaded
    assert len(compilations) == 1
    assert images[0] == images[1]
    assert b".entry scale" in images[0]


@tilews.kernel(threads=128)
def product(
    A: tl.Tensor["M, K", tl.f16],
    B: tl.Tensor["K, N", tl.f16],
    C: tl.Tensor["M, N", tl.f32],
):
    i, j = tl.grid(tl.cdiv(C.shape[0], 64), tl.cdiv(C.shape[1], 64))
    a = tl.alloc_shared((64, 64), tl.f16)
    b = tl.alloc_shared((64, 64), tl.f16)
    acc = tl.zeros((64, 64), tl.f32)
    for k in tl.range(tl.cdiv(A.shape[1], 64), num_stages=3):
        tl.copy(A[i * 64, k * 64], a)
        tl.copy(B[k * 64, j * 64], b)
        acc = tl.gemm(a, b, acc)
    C[i * 64, j * 64] = acc


def test_messages_are_reported_from_the_disk_too(cache, compilations):
    found = []
    for _ in range(2):
        messages = []
        with compiler.on_messages(messages.extend):
            compiled = compiler.compile_module(product.build("gfx942"))
            assert compiled.binary
            assert compiled.messages == messages
            assert compiled.llvm
        assert compiled.messages == messages
        found.append(messages)
    assert found[0] == found[1]
    assert any("remark: " in message for message in found[0])
    assert len(compilations) == 2  # The second one for LLVM IR.


def test_a_module_may_change_after_its_kernel_was_found(cache):
    first = build()
    module = scale().build("gfx942", T=tl.f32)
    found = compiler.compile_module(module, kernel="scale")
    assert found.binary == first.binary
    module.body.operations[0].erase()
    assert found.asm == first.asm


CHANGES = {
    "source": {"change": ("tl.range(4)", "tl.range(5)")},
    "function that it calls": {"change": ("x + 1.0", "x + 1.5")},
    "global": {"change": ("FACTOR = 2.0", "FACTOR = 2.5")},
    "line": {"change": ("FACTOR = 2.0", "FACTOR = 2.0\n")},
    "default": {"change": ("constexpr = 3", "constexpr = 4")},
    "constant": {"shift": 7},
    "element type": {"T": tl.f16},
    "extent": {"N": 4096},
    "threads": {"threads": 128},
    "target": {"target": "gfx950"},
    "width of indices": {"index_bitwidth": 64},
    "line information": {"line_info": False},
}


@pytest.mark.parametrize("name", CHANGES)
def test_other_inputs_are_other_kernels(cache, by, compilations, name):
    build()
    build(**CHANGES[name])
    assert len(compilations) == 2
    build()
    build(**CHANGES[name])
    assert len(compilations) == 2


@pytest.mark.parametrize(
    "function, value",
    [
        ("compiler_identity", ("0.1.0", "another build")),
        ("assembler_identity", ("/usr/bin/ptxas", 1, 2)),
    ],
)
def test_other_compilers_make_other_kernels(
    cache, compilations, monkeypatch, function, value
):
    monkeypatch.setattr(dispatch, "find_shortcut", lambda *_: None)
    build()
    monkeypatch.setattr(keys, function, lambda *_: value)
    build()
    assert len(compilations) == 2


def test_a_link_that_leads_nowhere_is_no_file_of_the_package(tmp_path, monkeypatch):
    monkeypatch.setattr(keys, "__file__", str(tmp_path / "disk_cache" / "keys.py"))
    (tmp_path / "__pycache__").mkdir()
    for name in ("a.py", "__pycache__/a.pyc"):
        (tmp_path / name).touch()
    (tmp_path / ".#a.py").symlink_to("nobody@nowhere")
    found = keys._installed_files.__wrapped__()
    assert [path for path, *_ in found] == [str(tmp_path / "a.py")]


@pytest.mark.parametrize("function", ["_installed_files", "_assemblers"])
def test_other_compilers_have_other_shortcuts(cache, monkeypatch, function):
    captured = (scale().python, 3)
    shortcut = place.find_shortcut(captured, SOURCE)
    assert place.find_shortcut(captured, SOURCE) == shortcut
    files = getattr(keys, function)()
    monkeypatch.setattr(keys, function, lambda: [*files, ("/other", 1, 2)])
    assert place.find_shortcut(captured, SOURCE) != shortcut


def test_an_assembler_that_appears_on_the_path_changes_shortcuts(
    cache, monkeypatch, tmp_path
):
    monkeypatch.setenv("PATH", str(tmp_path))
    before = keys.make_shortcut("captures")
    (tmp_path / "ptxas").write_text("another")
    assert keys.make_shortcut("captures") != before


def test_a_shortcut_needs_the_libraries_that_compiled(cache, compilations, monkeypatch):
    library = cache.folder.parent / "libLLVM.so"
    library.write_text("one")
    libraries = tuple(keys.identities([str(library)]))
    assert len(libraries) == 1
    monkeypatch.setattr(place, "outer_libraries", lambda: libraries)
    first = build()
    assert build()._made is None
    library.write_text("three")
    # The module is built, and has the same key here.
    monkeypatch.setattr(compiler, "follow_shortcut", follow := Followed())
    assert build().binary == first.binary
    assert follow.found == [None]


class Followed:
    """Follows shortcuts, and keeps what was found."""

    def __init__(self):
        self.found = []

    def __call__(self, shortcut):
        self.found.append(place.follow_shortcut(shortcut))
        return self.found[-1]


def test_a_shortcut_is_kept_for_a_kernel_that_was_found_by_its_ir(cache, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(dispatch, "find_shortcut", lambda *_: None)
        build()
    monkeypatch.setattr(compiler, "follow_shortcut", follow := Followed())
    for _ in range(2):
        build()
    assert [found is not None for found in follow.found] == [False, True]


def test_the_compiler_is_known_by_its_libraries(tmp_path):
    version, *builds = keys.compiler_identity()
    assert version == tilews.__version__
    assert builds
    assert all(len(build) >= 16 and int(build, 16) for build in builds)
    ptxas = tmp_path / "ptxas"
    ptxas.write_text("one")
    found = keys.assembler_identity(str(ptxas))
    ptxas.write_text("three")
    assert keys.assembler_identity(str(ptxas)) != found


def test_the_assembler_of_nvidia_is_no_part_of_amd_kernels(cache, monkeypatch):
    monkeypatch.setattr(keys, "assembler_identity", lambda path: (path,))
    found = []
    for ptxas in ("/one/ptxas", "/other/ptxas"):
        monkeypatch.setattr(compiler, "find_ptxas", lambda ptxas=ptxas: ptxas)
        chips = ("gfx942", "sm_90a")
        monkeypatch.setattr(dispatch, "find_shortcut", lambda *_: None)
        found.append([scale().compile(chip, T=tl.f32)._place.key for chip in chips])
    assert found[0][0] == found[1][0]
    assert found[0][1] != found[1][1]


def test_a_pipeline_of_ones_own_is_another_kernel(cache):
    module = scale().build("gfx942", T=tl.f32)
    first = compiler.compile_module(module, kernel="scale")
    steps = "tile-infer-layouts,tile-plan-shared-memory,tile-insert-barriers"
    other = compiler.compile_module(module, kernel="scale", pipeline=steps)
    assert first._place.key != other._place.key


def test_damage_costs_a_compilation(cache, compilations):
    first = build()
    damaged = 1
    for path in cache.folder.rglob("*.*"):
        if path.suffix == ".lock":
            continue
        content = bytearray(path.read_bytes())
        content[-1] ^= 1
        path.write_bytes(content)
        assert build().binary == first.binary
        # With a damaged shortcut the kernel is built, and found by its IR.
        damaged += path.suffix == ".tilews"
        assert len(compilations) == damaged
        build()
        assert len(compilations) == damaged
    assert damaged == 2


PROCESS = f"""
import sys
sys.path[:] = {sys.path!r}
sys.path.append({str(pathlib.Path(__file__).parent)!r})
from test_cached_kernels import build
sys.stdin.readline()
kernel = build()
generated = any("generate" in step for step in kernel.timings)
print(len(kernel.binary), int(generated))
"""


def test_of_many_processes_one_generates_code(cache):
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", PROCESS],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(6)
    ]
    for process in processes:
        process.stdin.write("\n")
        process.stdin.flush()
    outputs = [process.communicate(timeout=100)[0].split() for process in processes]
    assert {size for size, _ in outputs} == {str(len(build().binary))}
    assert sum(int(generated) for _, generated in outputs) == 1


ADD = """
import numpy as np
import tilews
import tilews.language as tl

@tilews.kernel
def add(X: tl.Tensor["N", "T"], Y: tl.Tensor["N", "T"]):
    i = tl.grid(tl.cdiv(X.shape[0], 256)) * 256
    Y[i] = tl.load(X[i], (256,)) + tl.load(Y[i], (256,))

compiled = add.compile_for(*np.ones((2, 1000), np.float32), target="gfx942")
assert compiled.binary and compiled.manifest["kernel"] == "add" and compiled.loaded
"""
SOFTMAX = """
import numpy as np
from tilews import kernels

rows = np.ones((2, 3, 64), np.float32)
compiled = kernels.softmax.kernel.compile_for(*rows, COLUMNS=64, target="gfx942")
assert compiled.binary and compiled.manifest and compiled.loaded
"""
LOADED = """
import sys
print(*sys.modules)
print(open("/proc/self/maps").read())
"""


#: Modules that a kernel from the disk needs only to build it, or for an error.
SLOW = (
    *("tilews.ir", "tilews.build", "tilews.interpreted", "tilews.sim", "ml_dtypes"),
    *("concurrent.futures", "difflib", "importlib.metadata", "logging", "click"),
    *("tilews.layout", "tilews.dialects", "numpy.typing", "rich"),
)


@pytest.mark.parametrize("program", [ADD, SOFTMAX], ids=["add", "softmax"])
def test_a_hit_loads_neither_mlir_nor_llvm(program, cache, tmp_path):
    (tmp_path / "program.py").write_text(program + LOADED)
    outputs = []
    for _ in range(2):
        command = [sys.executable, str(tmp_path / "program.py")]
        run = subprocess.run(command, capture_output=True, text=True, check=True)
        outputs.append(run.stdout)
    for word in ("libTilewsCore", "_mlir_libs"):
        assert word in outputs[0]
        assert word not in outputs[1]
    built, found = ({*text.splitlines()[0].split()} for text in outputs)
    assert built >= {"tilews.ir", "tilews.build", "tilews.language.values"}
    # The functions of the language, and modules that take long to load, are not.
    language = {name for name in found if name.startswith("tilews.language.")}
    assert language == {"tilews.language.types", "tilews.language.integers"}
    assert not {*SLOW} & found


def test_names_of_a_lazy_module_are_listed():
    found = LazyModule("tilews.disk_cache.entries")
    assert "CacheEntry" in dir(found)
    assert found.CacheEntry is CacheEntry
    assert not hasattr(found, "CacheEntries")
    assert not hasattr(found, "__wrapped__")


def test_a_single_operation_is_refused():
    """MLIR cannot write it as bytecode."""
    text = "%0 = tile.alloc_shared : memref<8xf32, #gpu.address_space<workgroup>>"
    with ir.Context():
        module = ir.Module.parse(text)
        (allocation,) = module.body.operations
        with pytest.raises(TypeError, match=r"expected an ir\.Module, found"):
            compiler.compile_module(allocation, "sm_80")


def test_a_module_that_another_thread_breaks_is_written_as_it_was(cache, monkeypatch):
    """Between its check and its writing; the writer crashed on such IR."""
    module = scale().build("gfx942", T=tl.f32)
    checked = []
    verify = ir.Operation.verify

    def verify_and_break(operation):
        checked.append(verify(operation))
        for kernels in module.body.operations:
            del kernels.attributes["sym_name"]
        return checked[-1]

    monkeypatch.setattr(ir.Operation, "verify", verify_and_break)
    found = place.find_place(module, ["gfx942"], None)
    monkeypatch.undo()
    assert checked == [True]
    assert found.parse().operation.verify()
