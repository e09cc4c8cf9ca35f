// RUN: tilews-opt %s --allow-unregistered-dialect --tile-rasterize-blocks --canonicalize --cse | FileCheck %s

gpu.module @kernels {
  // CHECK-LABEL: gpu.func @row
  // CHECK-SAME: kernel {
  gpu.func @row() kernel attributes {tile.rasterize = #tile.rasterize<row, panel = 10>} {
    // CHECK-DAG: %[[C0:.*]] = arith.constant 0 : index
    // CHECK-DAG: %[[C1:.*]] = arith.constant 1 : index
    // CHECK-DAG: %[[C2:.*]] = arith.constant 2 : index
    // CHECK-DAG: %[[C10:.*]] = arith.constant 10 : index
    // CHECK-DAG: %[[X:.*]] = gpu.block_id x
    // CHECK-DAG: %[[Y:.*]] = gpu.block_id y
    // CHECK-DAG: %[[GX:.*]] = gpu.grid_dim x
    // CHECK-DAG: %[[GY:.*]] = gpu.grid_dim y
    // CHECK: %[[ROWS:.*]] = arith.muli %[[Y]], %[[GX]]
    // CHECK: %[[ID:.*]] = arith.addi %[[ROWS]], %[[X]]
    // CHECK: %[[TILES:.*]] = arith.muli %[[GX]], %[[C10]]
    // CHECK: %[[PANEL:.*]] = arith.divui %[[ID]], %[[TILES]]
    // CHECK: %[[WITHIN:.*]] = arith.remui %[[ID]], %[[TILES]]
    // CHECK: %[[FIRST:.*]] = arith.muli %[[PANEL]], %[[C10]]
    // CHECK: %[[LEFT:.*]] = arith.subi %[[GY]], %[[FIRST]]
    // CHECK: %[[HEIGHT:.*]] = arith.minui %[[LEFT]], %[[C10]]
    // CHECK: %[[FORWARD:.*]] = arith.divui %[[WITHIN]], %[[HEIGHT]]
    // CHECK: %[[LAST:.*]] = arith.subi %[[GX]], %[[C1]]
    // CHECK: %[[BACKWARD:.*]] = arith.subi %[[LAST]], %[[FORWARD]]
    // CHECK: %[[ODD:.*]] = arith.remui %[[PANEL]], %[[C2]]
    // CHECK: %[[EVEN:.*]] = arith.cmpi eq, %[[ODD]], %[[C0]]
    // CHECK: %[[NEWX:.*]] = arith.select %[[EVEN]], %[[FORWARD]], %[[BACKWARD]]
    // CHECK: %[[LINE:.*]] = arith.remui %[[WITHIN]], %[[HEIGHT]]
    // CHECK: %[[NEWY:.*]] = arith.addi %[[FIRST]], %[[LINE]]
    %x = gpu.block_id x
    %y = gpu.block_id y
    %z = gpu.block_id z
    // CHECK: %[[Z:.*]] = gpu.block_id z
    // CHECK: "use"(%[[NEWX]], %[[NEWY]], %[[Z]])
    "use"(%x, %y, %z) : (index, index, index) -> ()
    %x2 = gpu.block_id x
    // CHECK: "use"(%[[NEWX]])
    "use"(%x2) : (index) -> ()
    gpu.return
  }

  // Rows and columns are exchanged. The second id is not used.
  // CHECK-LABEL: gpu.func @col
  gpu.func @col() kernel attributes {tile.rasterize = #tile.rasterize<col, panel = 4>} {
    // CHECK: %[[TILES:.*]] = arith.muli %grid_dim_y, %{{.*}}
    // CHECK: arith.divui %{{.*}}, %[[TILES]]
    %x = gpu.block_id x
    "use"(%x) : (index) -> ()
    gpu.return
  }

  // The blocks of a cluster stay adjacent.
  // CHECK-LABEL: gpu.func @cluster
  gpu.func @cluster() kernel attributes {tile.cluster = array<i32: 2, 1, 1>, tile.rasterize = #tile.rasterize<row, panel = 4>} {
    // CHECK-DAG: %[[C2:.*]] = arith.constant 2 : index
    // CHECK-DAG: %[[X:.*]] = gpu.block_id x
    // CHECK-DAG: arith.divui %[[X]], %[[C2]]
    // CHECK-DAG: %[[WITHIN:.*]] = arith.remui %[[X]], %[[C2]]
    // CHECK: %[[FIRST:.*]] = arith.muli %{{.*}}, %[[C2]]
    // CHECK: %[[NEWX:.*]] = arith.addi %[[FIRST]], %[[WITHIN]]
    // CHECK: "use"(%[[NEWX]])
    %x = gpu.block_id x
    "use"(%x) : (index) -> ()
    gpu.return
  }

  // CHECK-LABEL: gpu.func @plain
  // CHECK-NEXT: %[[X:.*]] = gpu.block_id x
  // CHECK-NEXT: "use"(%[[X]])
  gpu.func @plain() kernel {
    %x = gpu.block_id x
    "use"(%x) : (index) -> ()
    gpu.return
  }

  // CHECK-LABEL: gpu.func @unused
  // CHECK-SAME: kernel {
  // CHECK-NEXT: gpu.return
  gpu.func @unused() kernel attributes {tile.rasterize = #tile.rasterize<row, panel = 4>} {
    gpu.return
  }
}

// Prints and assertions name the place that the kernel sees.

// CHECK-LABEL: gpu.func @named
// CHECK: %[[X:.*]] = arith.select
// CHECK: %[[Y:.*]] = arith.addi
// CHECK: %[[Z:.*]] = gpu.block_id z
// CHECK: tile.print "n" %{{.*}}, %[[X]], %[[Y]], %[[Z]] : i32, index, index, index {tile.block}
// CHECK: tile.assert %{{.*}}, "ok" block(%[[X]], %[[Y]], %[[Z]]) : i1
gpu.module @prints {
  gpu.func @named(%n: i32, %ok: i1) kernel attributes {
      tile.rasterize = #tile.rasterize<row, panel = 2>} {
    tile.print "n" %n : i32
    tile.assert %ok, "ok" : i1
    gpu.return
  }
}
