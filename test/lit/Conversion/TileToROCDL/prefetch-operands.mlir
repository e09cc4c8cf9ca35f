// Waits and the reads of a matmul's first step go before the last step of the iteration
// before. Waits, barriers, copies and reads keep their order.
// RUN: tilews-opt %s --tile-prefetch-operands | FileCheck %s

gpu.module @kernels {
  // CHECK-LABEL: llvm.func @three_steps
  // CHECK: %[[ANY:.*]] = arith.cmpi slt, %[[C0:.*]], %[[N:.*]] : i32
  // CHECK: %[[FIRST:.*]] = scf.if %[[ANY]] -> (vector<8xf16>)
  // CHECK-NEXT: rocdl.s.waitcnt 3956
  // CHECK-NEXT: rocdl.s.barrier
  // CHECK-NEXT: llvm.getelementptr %[[LDS:.*]][0]
  // CHECK-NEXT: llvm.load
  // CHECK-NEXT: scf.yield
  // CHECK: llvm.mlir.zero
  // CHECK: scf.for %[[I:.*]] = %{{.*}} iter_args(%{{.*}} = %{{.*}}, %[[SLOT:.*]] = %[[LDS]], %[[A:.*]] = %[[FIRST]])
  // CHECK-NOT: s.barrier
  // CHECK: rocdl.load.to.lds
  // CHECK-NEXT: rocdl.sched.barrier 193
  // CHECK-NOT: llvm.load
  // CHECK: rocdl.mfma{{.*}} %[[A]], %[[A]],
  // CHECK: llvm.load
  // CHECK: rocdl.sched.barrier 0
  // CHECK: rocdl.mfma
  // CHECK: %[[LAST:.*]] = llvm.load
  // CHECK: rocdl.sched.barrier 0
  // The slot of the next iteration.
  // CHECK-NEXT: %[[SLOT1:.*]] = llvm.getelementptr %[[SLOT]][%[[I]]]
  // CHECK-NEXT: arith.addi %[[I]]
  // CHECK-NEXT: rocdl.s.waitcnt 3956
  // CHECK-NEXT: rocdl.s.barrier
  // CHECK-NEXT: %[[P:.*]] = llvm.getelementptr %[[SLOT1]][0]
  // CHECK-NEXT: %[[NEXT:.*]] = llvm.load %[[P]]
  // CHECK-NEXT: %[[D:.*]] = rocdl.mfma{{.*}} %[[LAST]], %[[LAST]],
  // CHECK-NEXT: scf.yield %[[D]], %[[SLOT1]], %[[NEXT]]
  llvm.func @three_steps(%lds: !llvm.ptr<3>, %from: !llvm.ptr<7>, %init: vector<16xf32>, %n: i32) -> vector<16xf32> {
    %zero = llvm.mlir.constant(0 : i32) : i32
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %d:2 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %init, %slot = %lds) -> (vector<16xf32>, !llvm.ptr<3>) : i32 {
      rocdl.s.waitcnt 3956
      rocdl.s.barrier
      rocdl.load.to.lds %from, %slot, 16, 0, 0 : <7>
      rocdl.sched.barrier 193
      %pa0 = llvm.getelementptr %slot[0] : (!llvm.ptr<3>) -> !llvm.ptr<3>, f16
      %a0 = llvm.load %pa0 : !llvm.ptr<3> -> vector<8xf16>
      %d0 = rocdl.mfma.f32.32x32x16.f16 %a0, %a0, %acc, %zero, %zero, %zero : (vector<8xf16>, vector<8xf16>, vector<16xf32>, i32, i32, i32) -> vector<16xf32>
      %pa1 = llvm.getelementptr %slot[16] : (!llvm.ptr<3>) -> !llvm.ptr<3>, f16
      %a1 = llvm.load %pa1 : !llvm.ptr<3> -> vector<8xf16>
      rocdl.sched.barrier 0
      %d1 = rocdl.mfma.f32.32x32x16.f16 %a1, %a1, %d0, %zero, %zero, %zero : (vector<8xf16>, vector<8xf16>, vector<16xf32>, i32, i32, i32) -> vector<16xf32>
      %pa2 = llvm.getelementptr %slot[32] : (!llvm.ptr<3>) -> !llvm.ptr<3>, f16
      %a2 = llvm.load %pa2 : !llvm.ptr<3> -> vector<8xf16>
      rocdl.sched.barrier 0
      %d2 = rocdl.mfma.f32.32x32x16.f16 %a2, %a2, %d1, %zero, %zero, %zero : (vector<8xf16>, vector<8xf16>, vector<16xf32>, i32, i32, i32) -> vector<16xf32>
      %slot1 = llvm.getelementptr %slot[%i] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f16
      scf.yield %d2, %slot1 : vector<16xf32>, !llvm.ptr<3>
    }
    llvm.return %d#0 : vector<16xf32>
  }

  // With two steps the copies would have half of the time.
  // CHECK-LABEL: llvm.func @two_steps
  // CHECK-NOT: scf.if
  llvm.func @two_steps(%lds: !llvm.ptr<3>, %from: !llvm.ptr<7>, %init: vector<16xf32>, %n: i32) -> vector<16xf32> {
    %zero = llvm.mlir.constant(0 : i32) : i32
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %d:2 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %init, %slot = %lds) -> (vector<16xf32>, !llvm.ptr<3>) : i32 {
      rocdl.s.waitcnt 3956
      rocdl.s.barrier
      rocdl.load.to.lds %from, %slot, 16, 0, 0 : <7>
      rocdl.sched.barrier 193
      %pa0 = llvm.getelementptr %slot[0] : (!llvm.ptr<3>) -> !llvm.ptr<3>, f16
      %a0 = llvm.load %pa0 : !llvm.ptr<3> -> vector<8xf16>
      %d0 = rocdl.mfma.f32.32x32x16.f16 %a0, %a0, %acc, %zero, %zero, %zero : (vector<8xf16>, vector<8xf16>, vector<16xf32>, i32, i32, i32) -> vector<16xf32>
      %pa1 = llvm.getelementptr %slot[16] : (!llvm.ptr<3>) -> !llvm.ptr<3>, f16
      %a1 = llvm.load %pa1 : !llvm.ptr<3> -> vector<8xf16>
      rocdl.sched.barrier 0
      %d1 = rocdl.mfma.f32.32x32x16.f16 %a1, %a1, %d0, %zero, %zero, %zero : (vector<8xf16>, vector<8xf16>, vector<16xf32>, i32, i32, i32) -> vector<16xf32>
      %slot1 = llvm.getelementptr %slot[%i] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f16
      scf.yield %d1, %slot1 : vector<16xf32>, !llvm.ptr<3>
    }
    llvm.return %d#0 : vector<16xf32>
  }

  // A store follows the matmul: the reads of the next iteration may not pass it.
  // CHECK-LABEL: llvm.func @store_after
  // CHECK-NOT: scf.if
  llvm.func @store_after(%lds: !llvm.ptr<3>, %from: !llvm.ptr<7>, %init: vector<16xf32>, %n: i32) -> vector<16xf32> {
    %zero = llvm.mlir.constant(0 : i32) : i32
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %d:2 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %init, %slot = %lds) -> (vector<16xf32>, !llvm.ptr<3>) : i32 {
      rocdl.s.waitcnt 3956
      rocdl.s.barrier
      rocdl.load.to.lds %from, %slot, 16, 0, 0 : <7>
      rocdl.sched.barrier 193
      %pa0 = llvm.getelementptr %slot[0] : (!llvm.ptr<3>) -> !llvm.ptr<3>, f16
      %a0 = llvm.load %pa0 : !llvm.ptr<3> -> vector<8xf16>
      %d0 = rocdl.mfma.f32.32x32x16.f16 %a0, %a0, %acc, %zero, %zero, %zero : (vector<8xf16>, vector<8xf16>, vector<16xf32>, i32, i32, i32) -> vector<16xf32>
      %pa1 = llvm.getelementptr %slot[16] : (!llvm.ptr<3>) -> !llvm.ptr<3>, f16
      %a1 = llvm.load %pa1 : !llvm.ptr<3> -> vector<8xf16>
      rocdl.sched.barrier 0
      %d1 = rocdl.mfma.f32.32x32x16.f16 %a1, %a1, %d0, %zero, %zero, %zero : (vector<8xf16>, vector<8xf16>, vector<16xf32>, i32, i32, i32) -> vector<16xf32>
      %pa2 = llvm.getelementptr %slot[32] : (!llvm.ptr<3>) -> !llvm.ptr<3>, f16
      %a2 = llvm.load %pa2 : !llvm.ptr<3> -> vector<8xf16>
      rocdl.sched.barrier 0
      %d2 = rocdl.mfma.f32.32x32x16.f16 %a2, %a2, %d1, %zero, %zero, %zero : (vector<8xf16>, vector<8xf16>, vector<16xf32>, i32, i32, i32) -> vector<16xf32>
      llvm.store %a0, %slot : vector<8xf16>, !llvm.ptr<3>
      %slot1 = llvm.getelementptr %slot[%i] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f16
      scf.yield %d2, %slot1 : vector<16xf32>, !llvm.ptr<3>
    }
    llvm.return %d#0 : vector<16xf32>
  }

  // The next slot depends on the result of the last step.
  // CHECK-LABEL: llvm.func @needs_result
  // CHECK-NOT: scf.if
  llvm.func @needs_result(%lds: !llvm.ptr<3>, %from: !llvm.ptr<7>, %init: vector<16xf32>, %n: i32) -> vector<16xf32> {
    %zero = llvm.mlir.constant(0 : i32) : i32
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %d:2 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %init, %slot = %lds) -> (vector<16xf32>, !llvm.ptr<3>) : i32 {
      rocdl.s.waitcnt 3956
      rocdl.s.barrier
      rocdl.load.to.lds %from, %slot, 16, 0, 0 : <7>
      rocdl.sched.barrier 193
      %pa0 = llvm.getelementptr %slot[0] : (!llvm.ptr<3>) -> !llvm.ptr<3>, f16
      %a0 = llvm.load %pa0 : !llvm.ptr<3> -> vector<8xf16>
      %d0 = rocdl.mfma.f32.32x32x16.f16 %a0, %a0, %acc, %zero, %zero, %zero : (vector<8xf16>, vector<8xf16>, vector<16xf32>, i32, i32, i32) -> vector<16xf32>
      %pa1 = llvm.getelementptr %slot[16] : (!llvm.ptr<3>) -> !llvm.ptr<3>, f16
      %a1 = llvm.load %pa1 : !llvm.ptr<3> -> vector<8xf16>
      rocdl.sched.barrier 0
      %d1 = rocdl.mfma.f32.32x32x16.f16 %a1, %a1, %d0, %zero, %zero, %zero : (vector<8xf16>, vector<8xf16>, vector<16xf32>, i32, i32, i32) -> vector<16xf32>
      %pa2 = llvm.getelementptr %slot[32] : (!llvm.ptr<3>) -> !llvm.ptr<3>, f16
      %a2 = llvm.load %pa2 : !llvm.ptr<3> -> vector<8xf16>
      rocdl.sched.barrier 0
      %d2 = rocdl.mfma.f32.32x32x16.f16 %a2, %a2, %d1, %zero, %zero, %zero : (vector<8xf16>, vector<8xf16>, vector<16xf32>, i32, i32, i32) -> vector<16xf32>
      %x = llvm.extractelement %d2[%zero : i32] : vector<16xf32>
      %y = llvm.fptosi %x : f32 to i32
      %slot2 = llvm.getelementptr %lds[%y] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f16
      %slot1 = llvm.getelementptr %slot[%i] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f16
      scf.yield %d2, %slot2 : vector<16xf32>, !llvm.ptr<3>
    }
    llvm.return %d#0 : vector<16xf32>
  }

  // Something else uses what the first step reads.
  // CHECK-LABEL: llvm.func @other_use
  // CHECK-NOT: scf.if
  llvm.func @other_use(%lds: !llvm.ptr<3>, %from: !llvm.ptr<7>, %init: vector<16xf32>, %n: i32) -> vector<16xf32> {
    %zero = llvm.mlir.constant(0 : i32) : i32
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %d:2 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %init, %slot = %lds) -> (vector<16xf32>, !llvm.ptr<3>) : i32 {
      rocdl.s.waitcnt 3956
      rocdl.s.barrier
      rocdl.load.to.lds %from, %slot, 16, 0, 0 : <7>
      rocdl.sched.barrier 193
      %pa0 = llvm.getelementptr %slot[0] : (!llvm.ptr<3>) -> !llvm.ptr<3>, f16
      %a0 = llvm.load %pa0 : !llvm.ptr<3> -> vector<8xf16>
      %d0 = rocdl.mfma.f32.32x32x16.f16 %a0, %a0, %acc, %zero, %zero, %zero : (vector<8xf16>, vector<8xf16>, vector<16xf32>, i32, i32, i32) -> vector<16xf32>
      %pa1 = llvm.getelementptr %slot[16] : (!llvm.ptr<3>) -> !llvm.ptr<3>, f16
      %a1 = llvm.load %pa1 : !llvm.ptr<3> -> vector<8xf16>
      rocdl.sched.barrier 0
      %d1 = rocdl.mfma.f32.32x32x16.f16 %a1, %a1, %d0, %zero, %zero, %zero : (vector<8xf16>, vector<8xf16>, vector<16xf32>, i32, i32, i32) -> vector<16xf32>
      %pa2 = llvm.getelementptr %slot[32] : (!llvm.ptr<3>) -> !llvm.ptr<3>, f16
      %a2 = llvm.load %pa2 : !llvm.ptr<3> -> vector<8xf16>
      rocdl.sched.barrier 0
      %d2 = rocdl.mfma.f32.32x32x16.f16 %a2, %a2, %d1, %zero, %zero, %zero : (vector<8xf16>, vector<8xf16>, vector<16xf32>, i32, i32, i32) -> vector<16xf32>
      %e = llvm.fadd %a0, %a1 : vector<8xf16>
      %f = llvm.bitcast %e : vector<8xf16> to vector<4xi32>
      %g = llvm.extractelement %f[%zero : i32] : vector<4xi32>
      %slot2 = llvm.getelementptr %lds[%g] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f16
      %slot1 = llvm.getelementptr %slot[%i] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f16
      scf.yield %d2, %slot2 : vector<16xf32>, !llvm.ptr<3>
    }
    llvm.return %d#0 : vector<16xf32>
  }

  // A wait for all copies, with two slots.
  // CHECK-LABEL: llvm.func @waits_for_all
  // CHECK-NOT: scf.if
  llvm.func @waits_for_all(%lds: !llvm.ptr<3>, %from: !llvm.ptr<7>, %init: vector<16xf32>, %n: i32) -> vector<16xf32> {
    %zero = llvm.mlir.constant(0 : i32) : i32
    %c0 = arith.constant 0 : i32
    %c1 = arith.constant 1 : i32
    %d:2 = scf.for %i = %c0 to %n step %c1 iter_args(%acc = %init, %slot = %lds) -> (vector<16xf32>, !llvm.ptr<3>) : i32 {
      rocdl.s.waitcnt 3952
      rocdl.s.barrier
      rocdl.load.to.lds %from, %slot, 16, 0, 0 : <7>
      rocdl.sched.barrier 193
      %pa0 = llvm.getelementptr %slot[0] : (!llvm.ptr<3>) -> !llvm.ptr<3>, f16
      %a0 = llvm.load %pa0 : !llvm.ptr<3> -> vector<8xf16>
      %d0 = rocdl.mfma.f32.32x32x16.f16 %a0, %a0, %acc, %zero, %zero, %zero : (vector<8xf16>, vector<8xf16>, vector<16xf32>, i32, i32, i32) -> vector<16xf32>
      %pa1 = llvm.getelementptr %slot[16] : (!llvm.ptr<3>) -> !llvm.ptr<3>, f16
      %a1 = llvm.load %pa1 : !llvm.ptr<3> -> vector<8xf16>
      rocdl.sched.barrier 0
      %d1 = rocdl.mfma.f32.32x32x16.f16 %a1, %a1, %d0, %zero, %zero, %zero : (vector<8xf16>, vector<8xf16>, vector<16xf32>, i32, i32, i32) -> vector<16xf32>
      %pa2 = llvm.getelementptr %slot[32] : (!llvm.ptr<3>) -> !llvm.ptr<3>, f16
      %a2 = llvm.load %pa2 : !llvm.ptr<3> -> vector<8xf16>
      rocdl.sched.barrier 0
      %d2 = rocdl.mfma.f32.32x32x16.f16 %a2, %a2, %d1, %zero, %zero, %zero : (vector<8xf16>, vector<8xf16>, vector<16xf32>, i32, i32, i32) -> vector<16xf32>
      %slot1 = llvm.getelementptr %slot[%i] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f16
      scf.yield %d2, %slot1 : vector<16xf32>, !llvm.ptr<3>
    }
    llvm.return %d#0 : vector<16xf32>
  }
}
