// The conversion records which arguments must not overlap: each that the kernel
// writes, with each other one that it accesses.
// RUN: tilews-opt %s --convert-tile-to-nvvm | FileCheck %s

!g = memref<?xf32>
gpu.module @m [#nvvm.target<chip = "sm_80">] {
  // %a is read, %b and %c are written; of %d only the extent is taken.
  // CHECK: llvm.func @writes
  // CHECK-SAME: tile.disjoint = [array<i32: 1, 0>, array<i32: 1, 3>, array<i32: 3, 0>]
  gpu.func @writes(%a: !g, %b: !g, %i: index, %c: !g, %d: !g) kernel {
    %c0 = arith.constant 0 : index
    %x = memref.load %a[%i] : !g
    %n = memref.dim %d, %c0 : !g
    memref.store %x, %b[%i] : !g
    memref.store %x, %c[%n] : !g
    gpu.return
  }

  // CHECK: llvm.func @reads
  // CHECK-SAME: tile.disjoint = []
  gpu.func @reads(%a: !g, %b: !g, %i: index) kernel {
    %x = memref.load %a[%i] : !g
    %y = memref.load %b[%i] : !g
    gpu.return
  }

  // CHECK: llvm.func @allowed
  // CHECK-SAME: tile.disjoint = [array<i32: 2, 1>]
  // CHECK-SAME: tile.may_alias = [array<i32: 0, 2>]
  gpu.func @allowed(%a: !g, %b: !g, %c: !g, %i: index) kernel attributes {tile.may_alias = [array<i32: 0, 2>]} {
    %x = memref.load %a[%i] : !g
    %y = memref.load %b[%i] : !g
    memref.store %x, %c[%i] : !g
    gpu.return
  }
}
