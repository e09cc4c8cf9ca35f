// Debug output says what a pass decided, and nothing of other passes.
// REQUIRES: assertions
// RUN: tilews-opt %S/../../../examples/gemm.mlir --tilews-to-nvvm=chip=sm_80 --debug-only=tile-plan-pipeline,tile-expand-pipeline -o /dev/null 2>&1 | FileCheck %s

// CHECK: [tile-plan-pipeline{{.*}} is planned: 2 buffers
// CHECK: [tile-plan-pipeline{{.*}} stage 0, order {{[0-9]+}}: tile.copy
// CHECK: [tile-plan-pipeline{{.*}} stage 2, order {{[0-9]+}}: tile.gemm
// CHECK: [tile-expand-pipeline{{.*}} segment of {{[0-9]+}} operations in stage 0
// CHECK: [tile-expand-pipeline{{.*}} groups may be in flight
// CHECK-NOT: [tile-multi-version
