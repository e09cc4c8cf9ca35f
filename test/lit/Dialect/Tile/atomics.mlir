// Atomic accesses print as they are written; a result without uses goes away;
// accesses that acquire or release stay where they are.
//
// RUN: tilews-opt %s | tilews-opt | FileCheck %s
// RUN: tilews-opt %s --canonicalize --cse | FileCheck %s --check-prefix=CANON

gpu.module @m {
  // CHECK-LABEL: gpu.func @updates
  // CANON-LABEL: gpu.func @updates
  gpu.func @updates(%c: memref<?x?xf32>, %n: memref<1xi32>,
                    %s: memref<8xi32, #gpu.address_space<workgroup>>,
                    %t: tensor<16x8xf32>, %i: tensor<i32>, %m: index) kernel {
    // CHECK: tile.atomic_rmw <add> %{{.*}} to %{{.*}}[%{{.*}}, 0] : tensor<16x8xf32> to memref<?x?xf32>{{$}}
    tile.atomic_rmw <add> %t to %c[%m, 0] : tensor<16x8xf32> to memref<?x?xf32>
    // CHECK: tile.atomic_rmw <max> %{{.*}} to %{{.*}} {order = #tile.order<acq_rel>, scope = #tile.scope<system>} : tensor<16x8xf32> to memref<?x?xf32> -> tensor<16x8xf32>
    // CANON: tile.atomic_rmw <max> {{.*}} : tensor<16x8xf32> to memref<?x?xf32>{{$}}
    %0 = tile.atomic_rmw <max> %t to %c[%m, 0]
      {order = #tile.order<acq_rel>, scope = #tile.scope<system>}
      : tensor<16x8xf32> to memref<?x?xf32> -> tensor<16x8xf32>
    // CHECK: tile.atomic_rmw <exchange> %{{.*}} to %{{.*}}[0] : tensor<i32> to memref<1xi32> -> tensor<i32>
    %1 = tile.atomic_rmw <exchange> %i to %n[0] {order = #tile.order<relaxed>}
      : tensor<i32> to memref<1xi32> -> tensor<i32>
    // CHECK: tile.atomic_cas %{{.*}}, %{{.*}} to %{{.*}}[0] {order = #tile.order<acquire>} : tensor<i32> to memref<1xi32>
    %2 = tile.atomic_cas %1, %i to %n[0] {order = #tile.order<acquire>}
      : tensor<i32> to memref<1xi32>
    // CHECK: tile.atomic_rmw <or> {{.*}} {scope = #tile.scope<cluster>}
    tile.atomic_rmw <or> %i to %s[%m] {scope = #tile.scope<cluster>}
      : tensor<i32> to memref<8xi32, #gpu.address_space<workgroup>>
    // CHECK: tile.fence{{$}}
    tile.fence
    // CHECK: tile.fence {order = #tile.order<acquire>, scope = #tile.scope<block>}
    tile.fence {order = #tile.order<acquire>, scope = #tile.scope<block>}
    gpu.return
  }

  // A load in a loop is no invariant of it, and the loop stays.
  // CANON-LABEL: gpu.func @spin
  gpu.func @spin(%flag: memref<1xi32>, %data: memref<4xf32>,
                 %out: memref<4xf32>) kernel {
    %one = arith.constant 1 : i32
    %zero = arith.constant 0 : index
    // CANON: memref.load
    %before = memref.load %data[%zero] : memref<4xf32>
    // CANON: scf.while
    // CANON-NEXT: tile.atomic_load
    scf.while : () -> () {
      // CHECK: tile.atomic_load %{{.*}}[0] {order = #tile.order<acquire>} : memref<1xi32> -> tensor<i32>
      %f = tile.atomic_load %flag[0] {order = #tile.order<acquire>}
        : memref<1xi32> -> tensor<i32>
      %v = tensor.extract %f[] : tensor<i32>
      %c = arith.cmpi slt, %v, %one : i32
      scf.condition(%c)
    } do {
      scf.yield
    }
    // What was loaded before may have changed.
    // CANON: memref.load
    %after = memref.load %data[%zero] : memref<4xf32>
    %sum = arith.addf %before, %after : f32
    memref.store %sum, %out[%zero] : memref<4xf32>
    gpu.return
  }

  // Two relaxed loads are two.
  // CANON-LABEL: gpu.func @twice
  // CANON-COUNT-2: tile.atomic_load
  gpu.func @twice(%flag: memref<1xi32>, %out: memref<2xi32>) kernel {
    %a = tile.atomic_load %flag[0] : memref<1xi32> -> tensor<i32>
    %b = tile.atomic_load %flag[0] : memref<1xi32> -> tensor<i32>
    tile.store %a to %out[0] : tensor<i32> to memref<2xi32>
    tile.store %b to %out[1] : tensor<i32> to memref<2xi32>
    gpu.return
  }
}
