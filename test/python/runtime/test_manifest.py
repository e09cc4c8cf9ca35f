"""Device code from MLIR, its resource figures and its manifest."""

import hashlib
import json
import threading

import pytest

from tilews import compiler, ir
from tilews.compiler import CompileError, compile_module
from tilews.runtime.launch import Launcher

needs_ptxas = pytest.mark.skipif(
    compiler.find_ptxas() is None, reason="ptxas is not installed"
)

KERNEL = """
gpu.module @kernels [#{dialect}.target<chip = "{chip}">] {{
  llvm.func @scale(%x: !llvm.ptr<1>, %m: i32, %n: i32, %f: f32)
    attributes {{{dialect}.kernel, tile.threads = 128 : i32,
      tile.shared_bytes = 65536 : i64,
      tile.grid = affine_map<()[s0, s1] -> ((s0 * s1) ceildiv 128)>,
      tile.arguments = [
        {{type = memref<?x?xf32>, tile.name = "X", tile.symbols = ["M", "N"]}},
        {{type = f32, tile.name = "f"}}]}} {{
    %v = llvm.load %x : !llvm.ptr<1> -> f32
    %w = llvm.fmul %v, %f : f32
    llvm.store %w, %x : f32, !llvm.ptr<1>
    llvm.return
  }}
}}
"""


def compile_kernel(chip="gfx942", **options):
    dialect = "nvvm" if chip.startswith("sm_") else "rocdl"
    with ir.Context():
        module = ir.Module.parse(KERNEL.format(dialect=dialect, chip=chip))
        return compile_module(module, **options)


def test_manifest_has_what_a_launcher_needs():
    manifest = compile_kernel().manifest
    assert manifest["kernel"] == "scale"
    assert manifest["target"] == {"chip": "gfx942", "vendor": "amd", "warp_size": 64}
    assert manifest["block"] == [128, 1, 1]
    assert manifest["shared_bytes"] == 65536
    assert manifest["grid_text"] == ["ceildiv((M * N), 128)", "1", "1"]
    assert [(p["kind"], p["dtype"]) for p in manifest["parameters"]] == [
        ("pointer", "f32"),
        ("extent", "i32"),
        ("extent", "i32"),
        ("scalar", "f32"),
    ]
    assert manifest["resources"]["spill_stores"] == 0
    assert manifest["resources"]["registers"] > 0
    assert Launcher(manifest).kernel == "scale"


def test_forms_of_an_amd_kernel():
    kernel = compile_kernel()
    assert "define amdgpu_kernel void @scale" in kernel.llvm
    assert ".amdhsa_kernel scale" in kernel.asm
    assert kernel.object[:4] == kernel.hsaco[:4] == b"\x7fELF"
    assert "llvm.func @scale" in kernel.mlir()
    with pytest.raises(CompileError, match="gfx942 has no PTX; it has asm and hsaco"):
        _ = kernel.ptx


def test_forms_of_an_nvidia_kernel():
    kernel = compile_kernel("sm_90a")
    assert ".entry scale" in kernel.ptx
    with pytest.raises(CompileError, match="sm_90a has no HSACO"):
        _ = kernel.hsaco


@needs_ptxas
def test_cubin_and_its_resources():
    kernel = compile_kernel("sm_80")
    assert kernel.cubin[:4] == b"\x7fELF"
    assert kernel.resources["registers"] > 0
    assert kernel.resources["warnings"] == []


def test_without_ptxas_there_is_ptx_and_no_figures(monkeypatch):
    for variable in ("CUDA_HOME", "CUDA_PATH"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(compiler.tool_path, "directories", lambda: [])
    kernel = compile_kernel("sm_90a")
    with pytest.raises(
        CompileError, match=r"ptxas not found on PATH.*nvidia-cuda-nvcc"
    ):
        _ = kernel.cubin
    assert kernel.manifest["resources"] is None
    assert kernel.loaded._image == kernel.ptx.encode()


def test_a_failing_ptxas_is_quoted_and_leaves_no_file(monkeypatch, tmp_path):
    ptxas = tmp_path / "ptxas"
    ptxas.write_text("#!/bin/sh\necho 'ptxas fatal : no such thing' >&2\nexit 1\n")
    ptxas.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with pytest.raises(CompileError, match="ptxas fatal : no such thing"):
        _ = compile_kernel("sm_90a").cubin
    assert list(tmp_path.iterdir()) == [ptxas]


def test_ptxas_output_becomes_figures_and_messages(monkeypatch, tmp_path):
    ptxas = tmp_path / "ptxas"
    ptxas.write_text(
        """#!/bin/sh
cat >&2 <<END
ptxas info    : 0 bytes gmem
ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions \
are serialized due to a reason in function 'scale'
ptxas info    : Compiling entry function 'scale' for 'sm_90a'
ptxas info    : Function properties for scale
    8 bytes stack frame, 12 bytes spill stores, 16 bytes spill loads
ptxas info    : Used 168 registers, used 2 barriers, 1024 bytes smem, 8 bytes cmem[0]
END
"""
    )
    ptxas.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    kernel = compile_kernel("sm_90a")
    # This stand-in for ptxas makes an empty cubin.
    resources = kernel.manifest["resources"]
    (warning,) = resources.pop("warnings")
    assert "C7510" in warning
    assert resources == {
        "registers": 168,
        "static_shared_bytes": 1024,
        "stack_bytes": 8,
        "spill_stores": 12,
        "spill_loads": 16,
    }
    assert any("warning: ptxas: (C7510)" in message for message in kernel.messages)


def test_timings_list_the_steps_in_order():
    kernel = compile_kernel("sm_90a")
    _ = kernel.ptx
    steps = list(kernel.timings)
    first = steps.index("translate to LLVM IR")
    assert steps[first : first + 3] == [
        "translate to LLVM IR",
        "optimize LLVM IR",
        "generate assembly",
    ]
    assert all(milliseconds >= 0 for milliseconds in kernel.timings.values())


def test_errors_have_locations():
    with ir.Context():
        module = ir.Module.parse(
            'gpu.module @a [#nvvm.target<chip = "sm_90a">] {\n'
            "  llvm.func @k() attributes {nvvm.kernel} {\n"
            "    llvm.return\n  }\n}"
        )
        kernel = compile_module(module)
    with pytest.raises(CompileError, match=r"-:2:3: error: has no 'tile.arguments'"):
        _ = kernel.manifest


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"target": "sm_12"}, "unknown chip 'sm_12'"),
        ({"target": "gfx1100"}, "is lowered for gfx942 already"),
        ({"target": "cpu"}, "use tilews.sim"),
        ({"index_bitwidth": 16}, "expected 32 or 64, found 16"),
    ],
)
def test_refused_options(options, message):
    with pytest.raises(CompileError, match=message):
        compile_kernel(**options)


def test_refused_phases():
    kernel = compile_kernel()
    with pytest.raises(CompileError, match="unknown phase 'final', expected one of"):
        kernel.mlir("final")
    with pytest.raises(CompileError, match="never is in phase 'planned'"):
        kernel.mlir("planned")


def test_refused_kernel():
    with pytest.raises(CompileError, match="has no kernel 'gemm'"):
        _ = compile_kernel(kernel="gemm").manifest


def test_a_fatal_error_of_llvm_is_an_exception_every_time():
    text = """
gpu.module @a [#nvvm.target<chip = "sm_90a">] {
  llvm.func @k(%p: !llvm.ptr<1>) attributes {nvvm.kernel} {
    %x = llvm.load %p : !llvm.ptr<1> -> f32
    %y = llvm.intr.log(%x) : (f32) -> f32
    llvm.store %y, %p : f32, !llvm.ptr<1>
    llvm.return
  }
}"""
    for _ in range(3):
        with ir.Context():
            kernel = compile_module(ir.Module.parse(text))
        with pytest.raises(CompileError, match="no libcall available for flog"):
            _ = kernel.ptx
        with pytest.raises(CompileError, match="gave up on this module before"):
            _ = kernel.ptx
    assert ".entry scale" in compile_kernel("sm_90a").ptx


def test_threads_compile_at_once():
    """Threads share lld and LLVM's initialization."""
    sizes = []

    def work():
        sizes.append(len(compile_kernel().hsaco))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(sizes) == 4
    assert len(set(sizes)) == 1


def test_save_writes_the_manifest_beside_the_object(tmp_path):
    from tilews.runtime import load

    kernel = compile_kernel()
    kernel.save(tmp_path / "scale.hsaco")
    content = (tmp_path / "scale.hsaco").read_bytes()
    assert content.startswith(kernel.hsaco)
    written = json.loads((tmp_path / "scale.json").read_text())
    assert written.pop("code_sha256") == hashlib.sha256(content).hexdigest()
    assert written == kernel.manifest
    loaded = load(tmp_path / "scale.hsaco")
    assert (loaded.manifest, loaded._image) == (kernel.manifest, kernel.hsaco)
