// RUN: tilews-opt %s --pass-pipeline='builtin.module(gpu.module(tile-infer-layouts,tile-plan-shared-memory,tile-insert-barriers,convert-tile-to-rocdl))' | FileCheck %s

// An assertion that fails is reported to the host, as on NVIDIA, and traps. The
// variable is of this module alone, so its address is relative to the code.
gpu.module @kernels [#rocdl.target<chip = "gfx942">] {
  // CHECK: llvm.mlir.global external protected @__tilews_failure(0 : i64) {{.*}}assertions = [{message = "not ok"}], externally_initialized
  // CHECK-LABEL: llvm.func @scalar
  gpu.func @scalar(%ok: i1) kernel attributes {tile.threads = 64 : i32} {
    // CHECK: rocdl.workgroup.id.x
    // CHECK: %[[variable:.*]] = llvm.mlir.addressof @__tilews_failure : !llvm.ptr<1>
    // CHECK: %[[address:.*]] = llvm.load %[[variable]]
    // CHECK: %[[report:.*]] = llvm.inttoptr %[[address]] : i64 to !llvm.ptr<1>
    // CHECK: llvm.cmpxchg %[[report]]
    // CHECK: llvm.store volatile
    // CHECK: llvm.fence seq_cst
    // CHECK-NOT: printf
    // CHECK: llvm.intr.trap
    tile.assert %ok, "not ok" : i1
    gpu.return
  }
}
