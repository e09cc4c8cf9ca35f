// Shifts, divisions and conversions to integers that LLVM leaves undefined for
// some operands have a result for all; constants in range need no code for it.
//
// RUN: tilews-opt %s --convert-tile-threads-to-llvm --split-input-file | FileCheck %s

gpu.module @nvidia [#nvvm.target<chip = "sm_80">] {
  // CHECK-LABEL: llvm.func @shifts
  // CHECK-SAME: %[[X:.*]]: i32, %[[N:.*]]: i32
  llvm.func @shifts(%x: i32, %n: i32, %p: !llvm.ptr) {
    // CHECK: %[[MOST:.*]] = llvm.mlir.constant(31 : i32)
    // CHECK: %[[FITS:.*]] = llvm.icmp "ule" %[[N]], %[[MOST]]
    // CHECK: %[[LEFT:.*]] = llvm.shl %[[X]], %[[N]]
    // CHECK: %[[ZERO:.*]] = llvm.mlir.constant(0 : i32)
    // CHECK: llvm.select %[[FITS]], %[[LEFT]], %[[ZERO]]
    %a = arith.shli %x, %n : i32
    // CHECK: llvm.icmp "ule"
    // CHECK: llvm.lshr
    // CHECK: llvm.select
    %b = arith.shrui %a, %n : i32
    // CHECK: %[[BY:.*]] = llvm.intr.umin(%[[N]], %{{.*}})
    // CHECK: llvm.ashr %{{.*}}, %[[BY]]
    %c = arith.shrsi %b, %n : i32
    // CHECK-NOT: llvm.select
    // CHECK: llvm.shl
    %three = arith.constant 3 : i32
    %d = arith.shli %c, %three : i32
    llvm.store %d, %p : i32, !llvm.ptr
    llvm.return
  }

  // PTX has counts of 32 bits, to which LLVM truncates longer ones: no count is above 64.
  // CHECK-LABEL: llvm.func @long_shifts
  // CHECK-SAME: %[[X:.*]]: i64, %[[N:.*]]: i64
  llvm.func @long_shifts(%x: i64, %n: i64, %p: !llvm.ptr) {
    // CHECK: %[[COUNT:.*]] = llvm.intr.umin(%[[N]], %{{.*}})
    // CHECK: %[[HALF:.*]] = llvm.lshr %[[COUNT]]
    // CHECK: %[[REST:.*]] = llvm.sub %[[COUNT]], %[[HALF]]
    // CHECK: %[[FIRST:.*]] = llvm.shl %[[X]], %[[HALF]]
    // CHECK: llvm.shl %[[FIRST]], %[[REST]]
    // CHECK-NOT: llvm.select
    %a = arith.shli %x, %n : i64
    llvm.store %a, %p : i64, !llvm.ptr
    llvm.return
  }

  // CHECK-LABEL: llvm.func @divisions
  // CHECK-SAME: %[[X:.*]]: vector<2xi32>, %[[N:.*]]: vector<2xi32>
  llvm.func @divisions(%x: vector<2xi32>, %n: vector<2xi32>, %p: !llvm.ptr) {
    // CHECK: %[[ISZERO:.*]] = llvm.icmp "eq" %[[N]]
    // CHECK: %[[LOWEST:.*]] = llvm.icmp "eq" %[[X]]
    // CHECK: %[[MINUS:.*]] = llvm.icmp "eq" %[[N]]
    // CHECK: %[[OVER:.*]] = llvm.and %[[LOWEST]], %[[MINUS]]
    // CHECK: %[[BAD:.*]] = llvm.or %[[ISZERO]], %[[OVER]]
    // CHECK: %[[SAFE:.*]] = llvm.select %[[BAD]], %{{.*}}, %[[N]]
    // CHECK: %[[Q:.*]] = llvm.sdiv %[[X]], %[[SAFE]]
    // CHECK: llvm.select %[[ISZERO]], %{{.*}}, %[[Q]]
    %a = arith.divsi %x, %n : vector<2xi32>
    // CHECK-NOT: llvm.or
    // CHECK: %[[R:.*]] = llvm.urem
    // CHECK: llvm.select %{{.*}}, %{{.*}}, %[[R]]
    %b = arith.remui %a, %n : vector<2xi32>
    // CHECK-NOT: llvm.select
    // CHECK: llvm.sdiv
    %c7 = arith.constant dense<7> : vector<2xi32>
    %c = arith.divsi %b, %c7 : vector<2xi32>
    // CHECK: llvm.select
    // CHECK: llvm.sdiv
    // CHECK: llvm.select
    %cm1 = arith.constant dense<[7, -1]> : vector<2xi32>
    %d = arith.divsi %c, %cm1 : vector<2xi32>
    // CHECK-NOT: llvm.select
    // CHECK: llvm.udiv
    %e = arith.divui %d, %cm1 : vector<2xi32>
    llvm.store %e, %p : vector<2xi32>, !llvm.ptr
    llvm.return
  }

  // CHECK-LABEL: llvm.func @conversions
  llvm.func @conversions(%f: f32, %d: f64, %h: f16, %p: !llvm.ptr) {
    // CHECK: %[[A:.*]] = llvm.call_intrinsic "llvm.nvvm.f2i.rz"
    // CHECK-NEXT: llvm.store %[[A]]
    %a = arith.fptosi %f : f32 to i32
    llvm.store %a, %p : i32, !llvm.ptr
    // CHECK: llvm.call_intrinsic "llvm.nvvm.d2ull.rz"
    // CHECK: llvm.fcmp "uno"
    // CHECK: llvm.select
    %b = arith.fptoui %d : f64 to i64
    llvm.store %b, %p : i64, !llvm.ptr
    // CHECK: llvm.fpext %{{.*}} : f16 to f32
    // CHECK: llvm.call_intrinsic "llvm.nvvm.f2i.rz"
    // CHECK: llvm.intr.smin
    // CHECK: llvm.intr.smax
    // CHECK: llvm.trunc %{{.*}} : i32 to i8
    %c = arith.fptosi %h : f16 to i8
    llvm.store %c, %p : i8, !llvm.ptr
    llvm.return
  }
}

// -----

gpu.module @amd [#rocdl.target<chip = "gfx942">] {
  // CHECK-LABEL: llvm.func @conversions_on_amd
  llvm.func @conversions_on_amd(%x: vector<4xf32>, %p: !llvm.ptr) {
    // CHECK: llvm.call_intrinsic "llvm.fptosi.sat"(%{{.*}}) : (vector<4xf32>) -> vector<4xi8>
    %a = arith.fptosi %x : vector<4xf32> to vector<4xi8>
    llvm.store %a, %p : vector<4xi8>, !llvm.ptr
    llvm.return
  }
}
