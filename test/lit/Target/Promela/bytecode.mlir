// Bytecode has no names: values are numbered, and operations are printed.
// RUN: tilews-opt %S/../../Verifier/Inputs/two_slots.mlir --emit-bytecode -o %t
// RUN: tilews-translate --to=promela %t | FileCheck %s

// CHECK: proctype math(int [[N:v_?[0-9]*]]) {
// CHECK: :: [[K:v_?[0-9]*]] < [[N]] ->
// CHECK-NEXT: /* {{[0-9]+}}: tile.mbarrier_wait %
