// RUN: tilews-opt %s --allow-unregistered-dialect --tile-lower-persistent | FileCheck %s

gpu.module @kernels {
  // CHECK-LABEL: gpu.func @one
  // CHECK-SAME: (%[[N:.*]]: index)
  gpu.func @one(%n: index) kernel {
    // CHECK: %[[Z:.*]] = gpu.block_id z
    // CHECK: %[[GZ:.*]] = gpu.grid_dim z
    // CHECK: %[[Y:.*]] = gpu.block_id y
    // CHECK: %[[GY:.*]] = gpu.grid_dim y
    // CHECK: %[[ZY0:.*]] = arith.muli %[[Z]], %[[GY]]
    // CHECK: %[[ZY:.*]] = arith.addi %[[ZY0]], %[[Y]]
    // CHECK: %[[GZY:.*]] = arith.muli %[[GZ]], %[[GY]]
    // CHECK: %[[X:.*]] = gpu.block_id x
    // CHECK: %[[GX:.*]] = gpu.grid_dim x
    // CHECK: %[[B0:.*]] = arith.muli %[[ZY]], %[[GX]]
    // CHECK: %[[B:.*]] = arith.addi %[[B0]], %[[X]]
    // CHECK: %[[G:.*]] = arith.muli %[[GZY]], %[[GX]]
    // CHECK: scf.for %[[T:.*]] = %[[B]] to %[[N]] step %[[G]] {
    // CHECK-NEXT: "use"(%[[T]])
    // CHECK-NEXT: }
    tile.persistent (%x) in (%n) {
      "use"(%x) : (index) -> ()
    }
    gpu.return
  }

  // CHECK-LABEL: gpu.func @two
  // CHECK-SAME: (%[[N:.*]]: index, %[[M:.*]]: index)
  gpu.func @two(%n: index, %m: index) kernel {
    // CHECK: %[[TILES:.*]] = arith.muli %[[N]], %[[M]]
    // CHECK: scf.for %[[T:.*]] = %{{.*}} to %[[TILES]]
    // CHECK-NEXT: %[[X:.*]] = arith.remui %[[T]], %[[N]]
    // CHECK-NEXT: %[[Y:.*]] = arith.divui %[[T]], %[[N]]
    // CHECK-NEXT: "use"(%[[X]], %[[Y]])
    tile.persistent (%x, %y) in (%n, %m) {
      "use"(%x, %y) : (index, index) -> ()
    }
    gpu.return
  }

  // CHECK-LABEL: gpu.func @three
  // CHECK-SAME: (%[[N:.*]]: index, %[[M:.*]]: index, %[[L:.*]]: index)
  gpu.func @three(%n: index, %m: index, %l: index) kernel {
    // CHECK: scf.for %[[T:.*]] =
    // CHECK-NEXT: %[[PLANE:.*]] = arith.muli %[[N]], %[[M]]
    // CHECK-NEXT: %[[Z:.*]] = arith.divui %[[T]], %[[PLANE]]
    // CHECK-NEXT: %[[R:.*]] = arith.remui %[[T]], %[[PLANE]]
    // CHECK-NEXT: %[[X:.*]] = arith.remui %[[R]], %[[N]]
    // CHECK-NEXT: %[[Y:.*]] = arith.divui %[[R]], %[[N]]
    // CHECK-NEXT: "use"(%[[X]], %[[Y]], %[[Z]])
    tile.persistent (%x, %y, %z) in (%n, %m, %l) {
      "use"(%x, %y, %z) : (index, index, index) -> ()
    }
    gpu.return
  }

  // Loop-carried values and attributes are kept. Inner loops are not changed.
  // CHECK-LABEL: gpu.func @carried
  gpu.func @carried(%n: index, %a: f32, %C: memref<?xf32>) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    // CHECK: %[[R:.*]]:2 = scf.for {{.*}} iter_args(%[[S:.*]] = %{{.*}}, %[[I:.*]] = %c0) -> (f32, index) {
    // CHECK: scf.for {{.*}} {
    // CHECK: } {tile.num_stages = 3 : i32}
    // CHECK: scf.yield %{{.*}}, %{{.*}} : f32, index
    // CHECK: } {my.note = "kept"}
    %r:2 = tile.persistent (%x) in (%n) iter_args(%s = %a, %i = %c0) -> (f32, index) {
      scf.for %k = %c0 to %n step %c1 {
        memref.store %s, %C[%k] : memref<?xf32>
      } {tile.num_stages = 3 : i32}
      %s1 = arith.addf %s, %s : f32
      %i1 = arith.addi %i, %x : index
      tile.yield %s1, %i1 : f32, index
    } {my.note = "kept"}
    // CHECK: memref.store %[[R]]#0, %{{.*}}[%[[R]]#1]
    memref.store %r#0, %C[%r#1] : memref<?xf32>
    gpu.return
  }

  // CHECK-LABEL: gpu.func @nested
  // CHECK: scf.for
  // CHECK: scf.for
  // CHECK-NOT: tile.persistent
  // CHECK: gpu.return
  gpu.func @nested(%n: index) kernel {
    tile.persistent (%x) in (%n) {
      tile.persistent (%y) in (%n) {
        "use"(%x, %y) : (index, index) -> ()
      }
    }
    gpu.return
  }

  // The panels are those of --tile-rasterize-blocks.
  // CHECK-LABEL: gpu.func @rasterized
  // CHECK-SAME: (%[[N:.*]]: index, %[[M:.*]]: index)
  gpu.func @rasterized(%n: index, %m: index) kernel {
    // CHECK: scf.for %[[T:.*]] =
    // CHECK: %[[C4:.*]] = arith.constant 4 : index
    // CHECK: %[[TILES:.*]] = arith.muli %[[M]], %[[C4]]
    // CHECK: arith.divui %[[T]], %[[TILES]]
    tile.persistent (%x, %y) in (%n, %m) {
      "use"(%x, %y) : (index, index) -> ()
    } {rasterize = #tile.rasterize<col, panel = 4>}
    gpu.return
  }
}
