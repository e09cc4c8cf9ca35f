// There are no spills, and no wgmma that the assembler has to serialize.
// REQUIRES: ptxas
// RUN: tilews-translate %S/../../../examples/gemm.mlir --chip=sm_90a --to=ptx -o %t.ptx
// RUN: ptxas -arch=sm_90a -v %t.ptx -o %t.cubin 2>&1 | FileCheck %s --implicit-check-not=serialized
// RUN: tilews-translate %S/../../../examples/gemm.mlir --chip=sm_80 --to=ptx -o %t.ptx
// RUN: ptxas -arch=sm_80 -v %t.ptx -o %t.cubin 2>&1 | FileCheck %s

// CHECK: 0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
