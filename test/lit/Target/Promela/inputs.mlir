// Extents are chosen in tiles, with a rest; names in tile.symbols are one input.
// RUN: tilews-translate --to=promela %S/../../Verifier/Inputs/persistent_gemm.mlir --bound=2 --value N=64 | FileCheck %s
// RUN: not tilews-translate --to=promela %S/../../Verifier/Inputs/persistent_gemm.mlir --value L=64 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not tilews-translate --to=promela %S/../../Verifier/Inputs/persistent_gemm.mlir --value N 2>&1 | FileCheck %s --check-prefix=NUMBER
// RUN: not tilews-translate --to=promela %S/../../Verifier/Inputs/persistent_gemm.mlir --value N=1:2 2>&1 | FileCheck %s --check-prefix=SEVERAL
// RUN: not tilews-translate --to=promela %S/../../Verifier/Inputs/persistent_gemm.mlir --bound=101 2>&1 | FileCheck %s --check-prefix=BOUND
// RUN: not tilews-translate --to=promela %S/../../Verifier/Inputs/persistent_gemm.mlir --kernel=gemm 2>&1 | FileCheck %s --check-prefix=KERNEL

// CHECK: select(M : 0 .. 2); /* extent 0 of argument 0 */
// CHECK-NEXT: M = M * 64;
// CHECK-NEXT: if :: skip :: M = M + 1 fi;
// CHECK: select(K : 0 .. 2);
// CHECK-NEXT: K = K * 64;
// CHECK: N = 64; /* extent 1 of argument 1 */
// CHECK: select(grid_x : 1 .. 2); /* blocks along x */
// CHECK-NEXT: select(block_x : 0 .. grid_x - 1); /* number of the block along x */

// NAME: error: has no input 'L' that its schedule depends on, only: M, K, N,
// NUMBER: error: --value expects name=number, found N
// SEVERAL: error: takes one value for 'N', found 2
// BOUND: error: --bound expects 0 to 100, found 101
// KERNEL: error: expected one kernel of the name given by --kernel, found persistent_gemm
