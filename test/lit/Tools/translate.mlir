// RUN: tilews-translate --help | FileCheck %s --check-prefix=HELP
// RUN: tilews-translate %s --to=ptx --save-temps=%t -o - | FileCheck %s --check-prefix=PTX
// RUN: cat < %s | tilews-translate --to=llvm | FileCheck %s --check-prefix=LLVM
// RUN: FileCheck %s --check-prefix=MLIR < %t/translate.target.mlir
// RUN: FileCheck %s --check-prefix=LLVM < %t/translate.ll
// RUN: FileCheck %s --check-prefix=PTX < %t/translate.ptx

// HELP: --save-temps=<directory>
// HELP: =hsaco
// MLIR: llvm.func @nothing()
// LLVM: define ptx_kernel void @nothing()
// PTX: .visible .entry nothing()
gpu.module @kernels [#nvvm.target<chip = "sm_80">] {
  llvm.func @nothing() attributes {nvvm.kernel} {
    llvm.return
  }
}
