// The figures that ptxas reports become resource figures, and its errors become errors
// of the compiler.
// REQUIRES: ptxas
// RUN: tilews-translate %s --to=cubin -o %t.cubin && llvm-readobj --file-header %t.cubin | FileCheck %s --check-prefix=CUBIN
// RUN: tilews-translate %s --to=manifest | FileCheck %s
// RUN: not tilews-translate %s --to=cubin --chip=sm_80 2>&1 | FileCheck %s --check-prefix=CHIP

// CUBIN: Machine: EM_CUDA
// CHECK: "resources": {
// CHECK-NEXT: "registers": {{[1-9][0-9]*}},
// CHECK-NEXT: "spill_loads": 0,
// CHECK-NEXT: "spill_stores": 0,
// CHECK-NEXT: "stack_bytes": 0,
// CHECK-NEXT: "static_shared_bytes": 512,
// CHECK-NEXT: "warnings": []
// CHIP: error: is lowered for sm_90a already, found the request for sm_80
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  llvm.mlir.global internal @buffer() {addr_space = 3 : i32} : !llvm.array<128 x f32>
  llvm.func @k(%x: !llvm.ptr<1>) attributes {nvvm.kernel, tile.arguments = [{type = memref<128xf32>}]} {
    %t = nvvm.read.ptx.sreg.tid.x : i32
    %a = llvm.mlir.addressof @buffer : !llvm.ptr<3>
    %s = llvm.getelementptr %a[%t] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
    %p = llvm.getelementptr %x[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %v = llvm.load volatile %p : !llvm.ptr<1> -> f32
    llvm.store volatile %v, %s : f32, !llvm.ptr<3>
    %w = llvm.load volatile %s : !llvm.ptr<3> -> f32
    llvm.store volatile %w, %p : f32, !llvm.ptr<1>
    llvm.return
  }
}
