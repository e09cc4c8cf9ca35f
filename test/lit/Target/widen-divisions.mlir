// LLVM for AMD divides numbers of 24 bits by floating point, with wrong results, so they
// are divided as numbers of 32 bits. Those of 23 bits, and constants, stay.
// RUN: tilews-translate %s --to=llvm | FileCheck %s

gpu.module @kernels [#rocdl.target<chip = "gfx942">] {
  // CHECK-LABEL: @quotient(
  // CHECK: %[[A:.*]] = shl i32 %{{.*}}, 8
  // CHECK: %[[B:.*]] = shl i32 %{{.*}}, 8
  // CHECK: udiv i32 %[[A]], %[[B]]
  llvm.func @quotient(%a: i32, %b: i32, %out: !llvm.ptr<1>) attributes {rocdl.kernel} {
    %m = llvm.mlir.constant(16777215 : i32) : i32
    %x = llvm.and %a, %m : i32
    %y = llvm.and %b, %m : i32
    %0 = llvm.udiv %x, %y : i32
    llvm.store %0, %out : i32, !llvm.ptr<1>
    llvm.return
  }

  // One of the numbers has 24 bits, and their type 64.
  // CHECK-LABEL: @remainder(
  // CHECK: %[[R:.*]] = urem i32
  // CHECK: lshr {{.*}}i32 %[[R]], 8
  llvm.func @remainder(%a: i64, %b: i64, %out: !llvm.ptr<1>) attributes {rocdl.kernel} {
    %m = llvm.mlir.constant(16777215 : i64) : i64
    %n = llvm.mlir.constant(255 : i64) : i64
    %x = llvm.and %a, %m : i64
    %y = llvm.and %b, %n : i64
    %0 = llvm.urem %x, %y : i64
    llvm.store %0, %out : i64, !llvm.ptr<1>
    llvm.return
  }

  // CHECK-LABEL: @small(
  // CHECK-NOT: shl
  // CHECK: udiv i32
  llvm.func @small(%a: i32, %b: i32, %out: !llvm.ptr<1>) attributes {rocdl.kernel} {
    %m = llvm.mlir.constant(8388607 : i32) : i32
    %x = llvm.and %a, %m : i32
    %y = llvm.and %b, %m : i32
    %0 = llvm.udiv %x, %y : i32
    llvm.store %0, %out : i32, !llvm.ptr<1>
    llvm.return
  }

  // CHECK-LABEL: @constant(
  // CHECK-NOT: shl
  // CHECK: udiv i32 %{{.*}}, 7
  llvm.func @constant(%a: i32, %out: !llvm.ptr<1>) attributes {rocdl.kernel} {
    %m = llvm.mlir.constant(16777215 : i32) : i32
    %c = llvm.mlir.constant(7 : i32) : i32
    %x = llvm.and %a, %m : i32
    %0 = llvm.udiv %x, %c : i32
    llvm.store %0, %out : i32, !llvm.ptr<1>
    llvm.return
  }
}
