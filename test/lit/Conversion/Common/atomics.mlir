// Atomic accesses: one thread accesses each element. LLVM's read-modify-writes have no order
// on NVIDIA, so that fences give it.
//
// RUN: tilews-opt %s --tile-set-target="chip=sm_90a" --tilews-to-nvvm | FileCheck %s --check-prefixes=CHECK,NV
// RUN: tilews-opt %s --tile-set-target="chip=gfx942" --tilews-to-rocdl | FileCheck %s --check-prefixes=CHECK,AMD

gpu.module @m {
  // CHECK-LABEL: llvm.func @ticket
  // NV: llvm.fence syncscope("device") release
  // NV-NEXT: %[[OLD:.*]] = llvm.atomicrmw add {{.*}} syncscope("device") monotonic
  // NV-NEXT: llvm.fence syncscope("device") acquire
  // AMD-NOT: llvm.fence syncscope("agent")
  // AMD: %[[OLD:.*]] = llvm.atomicrmw add {{.*}} syncscope("agent") acq_rel
  gpu.func @ticket(%n: memref<1xi32>, %out: memref<1xi32>) kernel attributes {tile.threads = 128 : i32} {
    %v = arith.constant dense<1> : tensor<i32>
    %c0 = arith.constant 0 : index
    %0 = tile.atomic_rmw <add> %v to %n[0] {order = #tile.order<acq_rel>}
      : tensor<i32> to memref<1xi32> -> tensor<i32>
    %s = tensor.extract %0[] : tensor<i32>
    memref.store %s, %out[%c0] : memref<1xi32>
    gpu.return
  }

  // Each thread has elements of its own: nothing passes through scratch memory.
  // CHECK-LABEL: llvm.func @each
  // NV-NOT: nvvm.barrier
  // AMD-NOT: rocdl.s.barrier
  // CHECK: llvm.atomicrmw max
  // CHECK: llvm.return
  gpu.func @each(%n: memref<128xi32>, %out: memref<128xi32>) kernel attributes {tile.threads = 128 : i32} {
    %v = tile.load %out : memref<128xi32> -> tensor<128xi32>
    %0 = tile.atomic_rmw <max> %v to %n : tensor<128xi32> to memref<128xi32> -> tensor<128xi32>
    tile.store %0 to %out : tensor<128xi32> to memref<128xi32>
    gpu.return
  }

  // CHECK-LABEL: llvm.func @scopes
  // CHECK: llvm.load {{.*}} atomic acquire
  // NV: llvm.load {{.*}} atomic syncscope("block") monotonic
  // AMD: llvm.load {{.*}} atomic syncscope("workgroup") monotonic
  // CHECK: llvm.store {{.*}} atomic syncscope({{.*}}) release
  // NV: llvm.cmpxchg {{.*}} syncscope("cluster") monotonic monotonic
  // AMD: llvm.cmpxchg {{.*}} syncscope("agent") acquire acquire
  // CHECK: llvm.fence acq_rel
  gpu.func @scopes(%n: memref<1xf32>, %out: memref<1xf32>) kernel attributes {tile.threads = 128 : i32} {
    %v = arith.constant dense<1.0> : tensor<f32>
    %0 = tile.atomic_load %n[0] {order = #tile.order<acquire>, scope = #tile.scope<system>}
      : memref<1xf32> -> tensor<f32>
    %1 = tile.atomic_load %n[0] {scope = #tile.scope<block>} : memref<1xf32> -> tensor<f32>
    tile.atomic_rmw <exchange> %v to %n[0] {order = #tile.order<release>}
      : tensor<f32> to memref<1xf32>
    %2 = tile.atomic_cas %0, %1 to %n[0] {order = #tile.order<acquire>, scope = #tile.scope<cluster>}
      : tensor<f32> to memref<1xf32>
    tile.fence {scope = #tile.scope<system>}
    tile.store %2 to %out[0] : tensor<f32> to memref<1xf32>
    gpu.return
  }

  // LLVM drops the scope of the system on NVIDIA, so that it is written in PTX. An update
  // without an instruction of its own becomes a loop, which keeps the scope.
  // CHECK-LABEL: llvm.func @system
  // NV: llvm.fence release
  // NV-NEXT: llvm.inline_asm has_side_effects {{.*}}"atom.relaxed.sys.add.u32 $0, [$1], $2;", "=r,l,r"
  // NV: "atom.relaxed.sys.min.u32
  // NV: "atom.relaxed.sys.exch.b64 $0, [$1], $2;", "=l,l,l"
  // NV: "atom.relaxed.sys.add.noftz.f16 $0, [$1], $2;", "=h,l,h"
  // NV: llvm.atomicrmw fmax
  // AMD: llvm.atomicrmw add {{.*}} release
  // AMD: llvm.atomicrmw umin
  // AMD: llvm.atomicrmw fmax
  gpu.func @system(%n: memref<1xi32>, %w: memref<1xi64>, %h: memref<1xf16>, %f: memref<1xf32>) kernel attributes {tile.threads = 128 : i32} {
    %i = arith.constant dense<1> : tensor<i32>
    %l = tile.load %w[0] : memref<1xi64> -> tensor<i64>
    %x = arith.constant dense<1.0> : tensor<f16>
    %y = arith.constant dense<1.0> : tensor<f32>
    tile.atomic_rmw <add> %i to %n[0] {order = #tile.order<release>, scope = #tile.scope<system>} : tensor<i32> to memref<1xi32>
    tile.atomic_rmw <umin> %i to %n[0] {scope = #tile.scope<system>} : tensor<i32> to memref<1xi32>
    %old = tile.atomic_rmw <exchange> %l to %w[0] {scope = #tile.scope<system>} : tensor<i64> to memref<1xi64> -> tensor<i64>
    tile.store %old to %w[0] : tensor<i64> to memref<1xi64>
    tile.atomic_rmw <add> %x to %h[0] {scope = #tile.scope<system>} : tensor<f16> to memref<1xf16>
    tile.atomic_rmw <max> %y to %f[0] {scope = #tile.scope<system>} : tensor<f32> to memref<1xf32>
    gpu.return
  }
}
