// RUN: tilews-opt %s --pass-pipeline='builtin.module(gpu.module(tile-infer-layouts,tile-plan-shared-memory,tile-insert-barriers,convert-tile-to-rocdl))' | FileCheck %s

// A print is a record in memory of the host. The first thread reserves it and,
// for fragments, tells its place to the others.
gpu.module @kernels [#rocdl.target<chip = "gfx942">] {
  // CHECK: llvm.mlir.global external protected @__tilews_records(0 : i64)
  // CHECK-SAME: prints = [
  // CHECK-SAME: {message = "done", values = []}
  // CHECK-SAME: {message = "n", values = [{type = i32}, {type = i1, unsigned}]}
  // CHECK-SAME: {message = "t", values = [{shape = array<i64: 64>, type = i8, unsigned}]}

  // CHECK-LABEL: llvm.func @scalars
  gpu.func @scalars(%n: index, %ok: i1) kernel attributes {tile.threads = 64 : i32} {
    // CHECK: %[[variable:.*]] = llvm.mlir.addressof @__tilews_records : !llvm.ptr<1>
    // CHECK: %[[address:.*]] = llvm.load %[[variable]]
    // CHECK: arith.cmpi ne, %[[address]]
    // CHECK: llvm.atomicrmw add
    // CHECK: arith.cmpi ule
    // CHECK: llvm.store volatile
    // CHECK: llvm.fence release
    // CHECK: llvm.store volatile
    // CHECK-NOT: rocdl.s.barrier
    tile.print "done"
    tile.print "n" %n, %ok : index, i1
    gpu.return
  }

  // CHECK-LABEL: llvm.func @fragment
  gpu.func @fragment(%x: memref<64xi8>) kernel attributes {tile.threads = 64 : i32} {
    %t = tile.load %x[0] : memref<64xi8> -> tensor<64xi8>
    // CHECK: llvm.atomicrmw add
    // CHECK: rocdl.s.barrier
    // CHECK: %[[place:.*]] = llvm.load %{{.*}} : !llvm.ptr<3> -> i64
    // CHECK: llvm.store volatile
    // CHECK: llvm.fence release
    // CHECK: rocdl.s.barrier
    // CHECK: llvm.store volatile
    tile.print "t" %t : tensor<64xi8> {tile.unsigned = array<i64: 0>}
    gpu.return
  }
}
