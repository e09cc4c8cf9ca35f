"""Launches on a real NVIDIA GPU; skipped where there is none."""

import pytest

from tilews import compiler, ir, runtime

torch = pytest.importorskip("torch", reason="torch is not installed")
if not runtime.device_target().startswith("sm_"):
    pytest.skip("no NVIDIA GPU, or no cuda-bindings", allow_module_level=True)

# x[i] *= f, for every element of a two-dimensional array.
KERNEL = """
gpu.module @kernels [#nvvm.target<chip = "{chip}">] {{
  llvm.func @scale(%x: !llvm.ptr<1>, %m: i32, %n: i32, %f: f32)
    attributes {{nvvm.kernel, tile.threads = 128 : i32,
      tile.grid = affine_map<()[s0, s1] -> ((s0 * s1) ceildiv 128)>,
      tile.shared_bytes = 65536 : i64,
      tile.arguments = [
        {{type = memref<?x?xf32>, tile.name = "X", tile.symbols = ["M", "N"]}},
        {{type = f32, tile.name = "f"}}]}} {{
    %t = nvvm.read.ptx.sreg.tid.x : i32
    %b = nvvm.read.ptx.sreg.ctaid.x : i32
    %threads = llvm.mlir.constant(128 : i32) : i32
    %first = llvm.mul %b, %threads : i32
    %i = llvm.add %first, %t : i32
    %size = llvm.mul %m, %n : i32
    %inside = llvm.icmp "ult" %i, %size : i32
    llvm.cond_br %inside, ^body, ^exit
  ^body:
    %p = llvm.getelementptr %x[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %v = llvm.load %p : !llvm.ptr<1> -> f32
    %w = llvm.fmul %v, %f : f32
    llvm.store %w, %p : f32, !llvm.ptr<1>
    llvm.br ^exit
  ^exit:
    llvm.return
  }}
}}
"""


@pytest.fixture(scope="module")
def compiled():
    with ir.Context():
        module = ir.Module.parse(KERNEL.format(chip=runtime.device_target()))
        return compiler.compile_module(module)


def test_scale(compiled):
    x = torch.randn(300, 77, device="cuda")
    expected = x * 2.5
    compiled(x, 2.5)
    assert torch.equal(x, expected)


def test_ptx_is_compiled_by_the_driver(compiled):
    kernel = runtime.LoadedKernel(compiled.manifest, compiled.ptx.encode())
    x = torch.ones(7, 5, device="cuda")
    kernel(x, 3.0)
    assert torch.equal(x, torch.full_like(x, 3.0))


def test_stream_of_torch_orders_the_launch(compiled):
    x = torch.ones(1 << 12, 1 << 10, device="cuda")
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        x.mul_(2)
        compiled(x, 4.0)
        total = x.double().mean()
    assert total.item() == 8.0
    compiled(x, 0.5, stream=stream)
    stream.synchronize()
    assert x.double().mean().item() == 4.0


def test_arguments_are_refused_before_the_launch(compiled):
    x = torch.ones(8, 8, device="cuda")
    for wrong in (x.half(), x.t()[:, ::2], x[0], x.cpu()):
        with pytest.raises(runtime.LaunchError, match="argument 'X'"):
            compiled(wrong, 2.0)
    torch.cuda.synchronize()
    assert torch.equal(x, torch.ones_like(x))


def test_arrays_of_cupy(compiled):
    cupy = pytest.importorskip("cupy")
    x = cupy.arange(60, dtype=cupy.float32).reshape(5, 12)
    compiled(x, 2.0)
    assert (x == 2 * cupy.arange(60).reshape(5, 12)).all()


def test_arrays_of_jax(compiled):
    jax = pytest.importorskip("jax")
    x = jax.device_put(jax.numpy.ones((6, 7), "float32"), jax.devices("gpu")[0])
    compiled(x, 2.0)
    torch.cuda.synchronize()
    assert (jax.device_get(x) == 2).all()
