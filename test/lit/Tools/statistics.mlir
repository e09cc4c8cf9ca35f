// `--tilews-statistics` counts in every build, whether LLVM has assertions or not.
// RUN: tilews-opt %S/../../../examples/gemm.mlir --tilews-to-nvvm=chip=sm_90a --tilews-statistics -o /dev/null 2>&1 | FileCheck %s --check-prefix=SM90
// RUN: tilews-opt %S/../../../examples/gemm.mlir --tilews-to-nvvm=chip=sm_80 --tilews-statistics -o /dev/null 2>&1 | FileCheck %s --check-prefix=SM80
// RUN: tilews-opt %S/../../../examples/gemm.mlir --tilews-to-nvvm=chip=sm_80 -o /dev/null 2>&1 | FileCheck %s --check-prefix=OFF --allow-empty

// SM90: Statistics Collected
// SM90-DAG: {{^ *}}1 tile-plan-pipeline - Loops planned as pipelines
// SM90-DAG: {{^ *}}1 tile-multi-version - Channels created
// SM90-DAG: {{^ *}}1 tile-specialize-warps - Kernels split into two roles
// SM90-DAG: {{^ *}}1 tile-defer-gemm-waits - Loops whose matmuls overlap
// SM90-DAG: {{^ *}}1 tile-lower-channels - Channels lowered to barriers
// SM90-NOT: tile-expand-pipeline

// SM80: Statistics Collected
// SM80-NOT: tile-specialize-warps
// SM80: {{^ *}}1 tile-expand-pipeline - Loops expanded into pipelines

// OFF-NOT: Statistics Collected
