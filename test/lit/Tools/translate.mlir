// RUN: tilews-translate --mlir-to-llvmir %s | FileCheck %s

// CHECK: define i32 @identity(i32 %0)
llvm.func @identity(%x: i32) -> i32 {
  llvm.return %x : i32
}
