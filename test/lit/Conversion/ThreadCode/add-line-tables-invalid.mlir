// RUN: tilews-opt %s -verify-diagnostics \
// RUN:   --pass-pipeline="builtin.module(gpu.module(tile-add-line-tables))"

// What the lines are for depends on the chip.
// expected-error @below {{has no target}}
gpu.module @kernels {
  llvm.func @f() {
    llvm.return
  }
}
