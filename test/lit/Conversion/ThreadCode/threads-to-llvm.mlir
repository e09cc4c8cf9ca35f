// RUN: tilews-opt %s --convert-tile-threads-to-llvm | FileCheck %s
// RUN: tilews-opt %s --convert-tile-threads-to-llvm=index-bitwidth=64 | FileCheck %s --check-prefix=WIDE

gpu.module @kernels [#nvvm.target<chip = "sm_80">] {
  // No operation of the other dialects remains, and no library function is called.
  // CHECK-LABEL: llvm.func @all
  // CHECK-NOT: {{ (arith|math|vector|index|memref|cf)\.}}
  // CHECK-NOT: llvm.call
  // CHECK: llvm.intr.exp2
  // CHECK: llvm.intr.sqrt
  // CHECK: llvm.sdiv %{{.*}} : i32
  // WIDE-LABEL: llvm.func @all
  // WIDE: llvm.sdiv %{{.*}} : i64
  llvm.func @all(%p: !llvm.ptr, %n: i32) {
    %c = arith.constant dense<2.0> : vector<4xf32>
    %x = llvm.load %p : !llvm.ptr -> vector<4xf32>
    %y = arith.mulf %x, %c : vector<4xf32>
    %e = math.exp2 %y : vector<4xf32>
    %s = math.sqrt %e : vector<4xf32>
    llvm.store %s, %p : vector<4xf32>, !llvm.ptr
    %i = arith.index_cast %n : i32 to index
    %two = arith.constant 2 : index
    %d = arith.ceildivsi %i, %two : index
    %r = arith.index_cast %d : index to i32
    cf.br ^bb1(%r : i32)
  ^bb1(%a: i32):
    llvm.store %a, %p : i32, !llvm.ptr
    llvm.return
  }

  // A vector of more than 16 elements and even length is made of two halves. A shorter
  // or odd one is made at once.
  // CHECK-LABEL: llvm.func @elements
  // CHECK-COUNT-12: llvm.insertelement %{{.*}} : vector<12xf32>
  // CHECK-COUNT-12: llvm.insertelement %{{.*}} : vector<12xf32>
  // CHECK: llvm.shufflevector %{{.*}}, %{{.*}} [0, 1, {{.*}}, 22, 23] : vector<12xf32>
  // CHECK-COUNT-17: llvm.insertelement %{{.*}} : vector<17xf32>
  // CHECK-NOT: llvm.insertelement
  llvm.func @elements(%p: !llvm.ptr, %x: f32) {
    %long = vector.from_elements %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x : vector<24xf32>
    llvm.store %long, %p : vector<24xf32>, !llvm.ptr
    %odd = vector.from_elements %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x, %x : vector<17xf32>
    llvm.store %odd, %p : vector<17xf32>, !llvm.ptr
    llvm.return
  }
}
