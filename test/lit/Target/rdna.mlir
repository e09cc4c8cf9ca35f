// The resource figures of a chip without accumulation registers list none.
// RUN: tilews-translate %s --to=manifest | FileCheck %s

// CHECK: "accumulation_registers": 0,
// CHECK-NEXT: "registers": {{[1-9][0-9]*}},
gpu.module @kernels [#rocdl.target<chip = "gfx1100">] {
  llvm.func @k(%p: !llvm.ptr<1>) attributes {rocdl.kernel, tile.arguments = [{type = memref<1xf32>}]} {
    %x = llvm.load %p : !llvm.ptr<1> -> f32
    %y = llvm.fadd %x, %x : f32
    llvm.store %y, %p : f32, !llvm.ptr<1>
    llvm.return
  }
}
