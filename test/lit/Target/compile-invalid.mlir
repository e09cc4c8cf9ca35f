// Each error is one line with a location, and no output file remains.
// RUN: rm -rf %t && split-file %s %t
// RUN: not tilews-translate %t/none.mlir --to=ptx -o %t/out 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not tilews-translate %t/two.mlir --to=ptx -o %t/out 2>&1 | FileCheck %s --check-prefix=TWO
// RUN: not tilews-translate %t/no-target.mlir --to=ptx -o %t/out 2>&1 | FileCheck %s --check-prefix=NO-TARGET
// RUN: not tilews-translate %t/ok.mlir --chip=sm_12 --to=ptx -o %t/out 2>&1 | FileCheck %s --check-prefix=CHIP
// RUN: not tilews-translate %t/ok.mlir --to=hsaco -o %t/out 2>&1 | FileCheck %s --check-prefix=FORMAT
// RUN: not tilews-translate %t/ok.mlir --to=ptx --index-bitwidth=16 -o %t/out 2>&1 | FileCheck %s --check-prefix=BITWIDTH
// RUN: not tilews-translate %t/fatal.mlir --to=ptx -o %t/out 2>&1 | FileCheck %s --check-prefix=FATAL
// RUN: not tilews-translate %t/unresolved.mlir --to=hsaco -o %t/out 2>&1 | FileCheck %s --check-prefix=UNRESOLVED
// RUN: not ls %t/out

//--- none.mlir
// NONE: none.mlir:0:0: error: expected one gpu.module with kernels, found 0

//--- two.mlir
// TWO: error: expected one gpu.module with kernels, found 2
// TWO: note: @a
gpu.module @a {}
gpu.module @b {}

//--- no-target.mlir
// NO-TARGET: no-target.mlir:2:1: error: has no target; write gpu.module @a [#nvvm.target<chip = "sm_90a">], or give the tool a chip: --tile-set-target=chip=sm_90a
gpu.module @a {}

//--- ok.mlir
// CHIP: error: unknown chip 'sm_12', expected an NVIDIA chip from sm_75 to sm_121
// FORMAT: error: sm_90a is an NVIDIA chip; it takes --to=ptx or cubin
// BITWIDTH: error: --index-bitwidth expects 32 or 64, found 16
gpu.module @a [#nvvm.target<chip = "sm_90a">] {}

//--- fatal.mlir
// LLVM would end the process here.
// FATAL-NOT: Cannot select
// FATAL: fatal.mlir:4:1: error: LLVM: no libcall available for flog
gpu.module @a [#nvvm.target<chip = "sm_90a">] {
  llvm.func @k(%p: !llvm.ptr<1>) attributes {nvvm.kernel} {
    %x = llvm.load %p : !llvm.ptr<1> -> f32
    %y = llvm.intr.log(%x) : (f32) -> f32
    llvm.store %y, %p : f32, !llvm.ptr<1>
    llvm.return
  }
}

//--- unresolved.mlir
// UNRESOLVED: unresolved.mlir:3:1: error: linking the code object failed
// UNRESOLVED: {{.*}}undefined symbol: missing
gpu.module @a [#rocdl.target<chip = "gfx942">] {
  llvm.func @missing()
  llvm.func @k() attributes {rocdl.kernel} {
    llvm.call @missing() : () -> ()
    llvm.return
  }
}
