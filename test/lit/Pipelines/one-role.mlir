// One role on a chip that has TMA: no role of its own starts copies.
// RUN: tilews-opt %S/../../../examples/gemm.mlir --pass-pipeline='builtin.module(tilews-to-nvvm{chip=sm_90a one-role=true})' 2>/dev/null | FileCheck %s
// RUN: tilews-opt %S/../../../examples/gemm.mlir --pass-pipeline='builtin.module(tilews-to-nvvm{chip=sm_90a})' 2>/dev/null | FileCheck %s --check-prefix=ROLES

// CHECK-LABEL: llvm.func @gemm
// CHECK-NOT: mbarrier
// CHECK: nvvm.cp.async.shared.global
// CHECK: nvvm.cp.async.commit.group
// CHECK: nvvm.cp.async.wait.group 1
// CHECK: wgmma.mma_async
// CHECK-NOT: mbarrier

// ROLES-LABEL: llvm.func @gemm
// ROLES: nvvm.mbarrier.init
// ROLES-NOT: nvvm.cp.async.wait.group
