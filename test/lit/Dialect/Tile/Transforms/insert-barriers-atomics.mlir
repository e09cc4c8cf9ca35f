// An access that acquires or releases does so for all threads of the block: barriers come
// between it and the accesses of the other threads. A relaxed one needs none.
//
// RUN: tilews-opt %s --tile-infer-layouts --tile-plan-shared-memory --tile-insert-barriers | FileCheck %s

gpu.module @hopper [#nvvm.target<chip = "sm_90a">] {
  // CHECK-LABEL: gpu.func @release_and_acquire
  gpu.func @release_and_acquire(%data: memref<128xf32>, %flag: memref<1xi32>,
                                %one: i32, %t: f32) kernel attributes {tile.threads = 128 : i32} {
    %x = tensor.splat %t : tensor<128xf32>
    %v = tensor.splat %one : tensor<i32>
    // CHECK: tile.store
    // CHECK-NEXT: tile.barrier{{$}}
    // CHECK-NEXT: tile.atomic_rmw <add> {{.*}}order = #tile.order<release>
    tile.store %x to %data : tensor<128xf32> to memref<128xf32>
    tile.atomic_rmw <add> %v to %flag[0] {order = #tile.order<release>}
      : tensor<i32> to memref<1xi32>
    // The result passes through scratch memory, by a barrier of the operation's own,
    // after which all threads may read.
    // CHECK: tile.atomic_load {{.*}}tile.offset = 0
    // CHECK-NOT: tile.barrier
    // CHECK: tile.load
    %f = tile.atomic_load %flag[0] {order = #tile.order<acquire>}
      : memref<1xi32> -> tensor<i32>
    %y = tile.load %data : memref<128xf32> -> tensor<128xf32>
    %n = tensor.extract %f[] : tensor<i32>
    tile.print "sum" %y, %n : tensor<128xf32>, i32
    gpu.return
  }

  // Without a use of its result, the load has no barrier of its own.
  // CHECK-LABEL: gpu.func @unused
  // CHECK: tile.atomic_load
  // CHECK-NOT: tile.offset
  // CHECK: tile.barrier{{$}}
  // CHECK-NEXT: tile.load
  gpu.func @unused(%data: memref<128xf32>, %flag: memref<1xi32>,
                   %out: memref<128xf32>) kernel attributes {tile.threads = 128 : i32} {
    %f = tile.atomic_load %flag[0] {order = #tile.order<acquire>}
      : memref<1xi32> -> tensor<i32>
    %y = tile.load %data : memref<128xf32> -> tensor<128xf32>
    tile.store %y to %out : tensor<128xf32> to memref<128xf32>
    gpu.return
  }

  // CHECK-LABEL: gpu.func @relaxed
  // CHECK: tile.store
  // CHECK-NEXT: tile.atomic_rmw
  // CHECK-NEXT: tile.store
  gpu.func @relaxed(%data: memref<128xf32>, %flag: memref<1xi32>,
                    %more: memref<128xf32>, %t: f32, %one: i32) kernel attributes {tile.threads = 128 : i32} {
    %x = tensor.splat %t : tensor<128xf32>
    %v = tensor.splat %one : tensor<i32>
    tile.store %x to %data : tensor<128xf32> to memref<128xf32>
    tile.atomic_rmw <add> %v to %flag[0] : tensor<i32> to memref<1xi32>
    tile.store %x to %more : tensor<128xf32> to memref<128xf32>
    gpu.return
  }

  // A fence needs one on both sides: stores of other threads come before it, and the
  // thread that sets the flag after it.
  // CHECK-LABEL: gpu.func @fence
  // CHECK: tile.store
  // CHECK-NEXT: tile.barrier
  // CHECK-NEXT: tile.fence
  // CHECK-NEXT: tile.barrier
  // CHECK-NEXT: tile.atomic_rmw
  gpu.func @fence(%data: memref<128xf32>, %flag: memref<1xi32>, %t: f32,
                  %one: i32) kernel attributes {tile.threads = 128 : i32} {
    %x = tensor.splat %t : tensor<128xf32>
    %v = tensor.splat %one : tensor<i32>
    tile.store %x to %data : tensor<128xf32> to memref<128xf32>
    tile.fence
    tile.atomic_rmw <exchange> %v to %flag[0] : tensor<i32> to memref<1xi32>
    gpu.return
  }
}
