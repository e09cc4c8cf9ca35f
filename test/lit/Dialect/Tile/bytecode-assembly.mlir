// Bytecode of inline assembly and of parts of shared buffers, which came with version 2 of the
// dialect.
//
// Inputs/bytecode-assembly-2.mlirbc and -3 hold the kernel below in versions 2 and 3.

// RUN: tilews-opt %s -o %t.text
// RUN: FileCheck %s --input-file=%t.text
// RUN: tilews-opt %S/Inputs/bytecode-assembly-2.mlirbc -o %t.old
// RUN: diff %t.text %t.old
// RUN: tilews-opt %S/Inputs/bytecode-assembly-3.mlirbc -o %t.three
// RUN: diff %t.text %t.three
// RUN: tilews-opt %s --emit-bytecode --emit-bytecode-version=5 | tilews-opt -o %t.five
// RUN: diff %t.text %t.five

!S = memref<4x64x64xf16, #gpu.address_space<workgroup>>
!P = memref<64x32xf16, #gpu.address_space<workgroup>>

gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  func.func private @twice(%x: f16) -> f16 {
    %y = arith.addf %x, %x : f16
    return %y : f16
  }

  // CHECK-LABEL: gpu.func @assembly
  // CHECK: tile.subview %{{.*}}[%{{.*}}, 0, 32] [1, 64, 32] : memref<4x64x64xf16, #gpu.address_space<workgroup>> to memref<64x32xf16, #gpu.address_space<workgroup>>
  // CHECK: tile.asm(%{{.*}}) {nvidia = #tile.assembly<"add.f16 $0, $1, $1;", "=h,h">} pure defined_by @twice : (tensor<64x32xf16>) -> tensor<64x32xf16>
  // CHECK: tile.asm() {nvidia = #tile.assembly<"nanosleep.u32 100;", "">} : () -> ()
  gpu.func @assembly(%i: index) kernel {
    %s = tile.alloc_shared : !S
    %p = tile.subview %s[%i, 0, 32] [1, 64, 32] : !S to !P
    %x = tile.load %p : !P -> tensor<64x32xf16>
    %y = tile.asm(%x) {nvidia = #tile.assembly<"add.f16 $0, $1, $1;", "=h,h">}
      pure defined_by @twice : (tensor<64x32xf16>) -> tensor<64x32xf16>
    tile.store %y to %p : tensor<64x32xf16> to !P
    tile.asm() {nvidia = #tile.assembly<"nanosleep.u32 100;", "">} : () -> ()
    gpu.return
  }
}
