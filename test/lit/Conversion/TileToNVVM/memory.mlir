// RUN: tilews-opt %s --tile-annotate-instructions --tile-infer-layouts --tile-plan-shared-memory --tile-insert-barriers --convert-tile-to-nvvm --cse | FileCheck %s

!a = memref<64x64xf16, #gpu.address_space<workgroup>>

gpu.module @kernels [#nvvm.target<chip = "sm_80">] {
  // A region that lies inside of the memref is loaded without masks, 16 bytes at a
  // time.
  // CHECK-LABEL: llvm.func @inside
  // CHECK-NOT: scf.if
  // CHECK-COUNT-4: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr -> vector<4xf32>
  // CHECK-NOT: llvm.load
  // CHECK-COUNT-4: llvm.store %{{.*}}, %{{.*}} {alignment = 16 : i64} : vector<4xf32>, !llvm.ptr
  // CHECK-NOT: llvm.store
  gpu.func @inside(%x: memref<32x64xf32>, %y: memref<32x64xf32>) kernel {
    %t = tile.load %x[0, 0] : memref<32x64xf32> -> tensor<32x64xf32>
    tile.store %t to %y[0, 0] : tensor<32x64xf32> to memref<32x64xf32>
    gpu.return
  }

  // A region that reaches over the edge is loaded with a mask for each vector, any
  // other without masks. The padding takes the place of elements past the edge.
  // CHECK-LABEL: llvm.func @edge
  // CHECK: %[[INSIDE:.*]] = arith.andi
  // CHECK: scf.if %[[INSIDE]] -> (vector<16xf32>)
  // CHECK-COUNT-4: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr -> vector<4xf32>
  // CHECK: } else {
  // CHECK: %[[ROW:.*]] = arith.cmpi ult
  // CHECK: scf.if %[[ROW]] -> (vector<4xf32>)
  // CHECK: vector.broadcast %{{.*}} : f32 to vector<4xf32>
  gpu.func @edge(%x: memref<?x64xf32>, %y: memref<32x64xf32>, %i: index) kernel {
    %pad = arith.constant 7.0 : f32
    %t = tile.load %x[%i, 0] pad %pad : memref<?x64xf32> -> tensor<32x64xf32>
    tile.store %t to %y[0, 0] : tensor<32x64xf32> to memref<32x64xf32>
    gpu.return
  }

  // An innermost extent without known divisors allows loads of single elements only.
  // CHECK-LABEL: llvm.func @unaligned
  // CHECK-NOT: vector<2xf32>
  // CHECK-NOT: vector<4xf32>
  // CHECK: llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr -> f32
  gpu.func @unaligned(%x: memref<?x?xf32>, %y: memref<32x64xf32>) kernel {
    %t = tile.load %x[0, 0] : memref<?x?xf32> -> tensor<32x64xf32>
    tile.store %t to %y[0, 0] : tensor<32x64xf32> to memref<32x64xf32>
    gpu.return
  }

  // Copies to shared memory are asynchronous. The instruction fills the elements past
  // the edge with zeros. The address includes the swizzle of the destination.
  // CHECK-LABEL: llvm.func @copy
  // CHECK: arith.xori
  // CHECK: scf.if
  // CHECK-COUNT-4: nvvm.cp.async.shared.global %{{.*}}, %{{.*}}, 16, cache = cg : !llvm.ptr<3>, !llvm.ptr<1>
  // CHECK: } else {
  // CHECK-COUNT-4: nvvm.cp.async.shared.global %{{.*}}, %{{.*}}, 16, cache = cg, %{{.*}} : !llvm.ptr<3>, !llvm.ptr<1>, i32
  // CHECK: nvvm.cp.async.commit.group
  // CHECK: nvvm.cp.async.wait.group 0
  // CHECK-NOT: fence.proxy
  // CHECK: nvvm.barrier0
  // CHECK: llvm.load %{{.*}} {alignment = 16 : i64} : !llvm.ptr<3> -> vector<8xf16>
  gpu.func @copy(%x: memref<?x64xf16>, %y: memref<64x64xf16>, %i: index) kernel {
    %s = tile.alloc_shared : memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
    tile.copy %x[%i, 0] to %s : memref<?x64xf16> to memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
    tile.copy %s to %y : memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>> to memref<64x64xf16>
    gpu.return
  }

  // All threads load a scalar. The first one stores it.
  // CHECK-LABEL: llvm.func @scalar
  // CHECK: %[[X:.*]] = llvm.load %{{.*}} : !llvm.ptr -> f32
  // CHECK: %[[FIRST:.*]] = arith.cmpi eq, %{{.*}}, %c0_i32
  // CHECK: scf.if %[[FIRST]] {
  // CHECK-NEXT: llvm.store %[[X]]
  gpu.func @scalar(%x: memref<8xf32>, %y: memref<8xf32>, %i: index) kernel {
    %v = memref.load %x[%i] : memref<8xf32>
    memref.store %v, %y[%i] : memref<8xf32>
    gpu.return
  }

  // Several threads hold each element. One of them performs the atomic operation.
  // CHECK-LABEL: llvm.func @atomic
  // CHECK: %[[OWNER:.*]] = arith.cmpi eq
  // CHECK: scf.if %[[OWNER]]
  // CHECK: llvm.atomicrmw fadd %{{.*}}, %{{.*}} syncscope("device") monotonic : !llvm.ptr, f32
  // CHECK-NOT: llvm.atomicrmw
  gpu.func @atomic(%x: memref<32xf32>) kernel {
    %one = arith.constant dense<1.0> : tensor<32xf32>
    tile.atomic_rmw <add> %one to %x[0] : tensor<32xf32> to memref<32xf32>
    gpu.return
  }
}
