// RUN: tilews-translate --help | FileCheck %s --check-prefix=HELP
// RUN: tilews-translate %s --to=ptx --save-temps=%t -o - | FileCheck %s --check-prefix=PTX
// RUN: cat < %s | tilews-translate --to=llvm | FileCheck %s --check-prefix=LLVM
// RUN: FileCheck %s --check-prefix=MLIR < %t/translate.target.mlir
// RUN: FileCheck %s --check-prefix=LLVM < %t/translate.ll
// RUN: FileCheck %s --check-prefix=PTX < %t/translate.ptx
// RUN: tilews-translate %s --to=ptx --line-info=false | FileCheck %s --check-prefix=NO-LINES

// HELP: --line-info
// HELP: --save-temps=<directory>
// HELP: =hsaco
// MLIR: llvm.func @nothing()
// LLVM: define ptx_kernel void @nothing()
// PTX: .visible .entry nothing()
// PTX: .loc 1 {{[0-9]+}} 5
// PTX-NEXT: ret;
// PTX: .file 1 "{{.*}}translate.mlir"
// NO-LINES: .visible .entry nothing()
// NO-LINES-NOT: .loc
// NO-LINES-NOT: .file
gpu.module @kernels [#nvvm.target<chip = "sm_80">] {
  llvm.func @nothing() attributes {nvvm.kernel} {
    llvm.return
  }
}
