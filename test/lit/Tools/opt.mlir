// Upstream passes and dialects are registered, too.
// RUN: tilews-opt --canonicalize %s | FileCheck %s
// RUN: tilews-opt --version | FileCheck %s --check-prefix=VERSION
// RUN: not tilews-opt --no-such-pass %s 2>&1 | FileCheck %s --check-prefix=ERROR

// CHECK-LABEL: func.func @fold
// CHECK-NEXT: %[[C:.*]] = arith.constant 3 : i32
// CHECK-NEXT: return %[[C]]
func.func @fold() -> i32 {
  %one = arith.constant 1 : i32
  %two = arith.constant 2 : i32
  %sum = arith.addi %one, %two : i32
  return %sum : i32
}

// VERSION: tilews {{[0-9]+\.[0-9]+}}

// ERROR: Unknown command line argument '--no-such-pass'
