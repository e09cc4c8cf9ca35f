// LLVM dialect to PTX and a cubin.
// RUN: tilews-translate %s --to=llvm | FileCheck %s --check-prefix=LLVM
// RUN: tilews-translate %s --to=ptx | FileCheck %s --check-prefix=PTX
// RUN: tilews-translate %s --to=asm | FileCheck %s --check-prefix=PTX

gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  llvm.mlir.global external @arena() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<0 x i8>

  // LLVM: define ptx_kernel void @axpy
  // PTX: .version 8.6
  // PTX: .target sm_90a
  // PTX: .entry axpy
  // PTX: .reqntid 128
  llvm.func @axpy(%x: !llvm.ptr<1>) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 128>} {
    %t = nvvm.read.ptx.sreg.tid.x : i32
    %p = llvm.getelementptr %x[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %v = llvm.load %p : !llvm.ptr<1> -> f32
    // Multiplications and additions are contracted.
    // PTX: fma.rn.f32
    %w = llvm.fmul %v, %v : f32
    %s = llvm.fadd %w, %v : f32
    llvm.store %s, %p : f32, !llvm.ptr<1>
    llvm.return
  }

  // A long vector that a loop carries is split into single floats. Halves stay in
  // pairs.
  // LLVM-LABEL: @fragment
  // LLVM-NOT: phi <
  // LLVM-COUNT-8: phi float
  // LLVM-NOT: phi <
  // LLVM-LABEL: @fence
  // PTX-LABEL: .entry fragment
  // PTX-COUNT-8: fma.rn.f32
  // PTX-COUNT-4: mul.{{(rn.)?}}f16x2
  llvm.func @fragment(%x: !llvm.ptr<1>, %y: !llvm.ptr<1>, %n: i32) attributes {nvvm.kernel} {
    %zero = llvm.mlir.constant(dense<0.0> : vector<8xf32>) : vector<8xf32>
    %c0 = llvm.mlir.constant(0 : i32) : i32
    %c1 = llvm.mlir.constant(1 : i32) : i32
    llvm.br ^loop(%c0, %zero : i32, vector<8xf32>)
  ^loop(%i: i32, %acc: vector<8xf32>):
    %more = llvm.icmp "slt" %i, %n : i32
    llvm.cond_br %more, ^body, ^exit
  ^body:
    %p = llvm.getelementptr %x[%i] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, vector<8xf32>
    %v = llvm.load volatile %p {alignment = 16 : i64} : !llvm.ptr<1> -> vector<8xf32>
    %m = llvm.fmul %v, %v : vector<8xf32>
    %s = llvm.fadd %acc, %m : vector<8xf32>
    %next = llvm.add %i, %c1 : i32
    llvm.br ^loop(%next, %s : i32, vector<8xf32>)
  ^exit:
    %h = llvm.fptrunc %acc : vector<8xf32> to vector<8xf16>
    %h2 = llvm.fmul %h, %h : vector<8xf16>
    llvm.store %h2, %y {alignment = 16 : i64} : vector<8xf16>, !llvm.ptr<1>
    llvm.return
  }

  // This operation exists as inline assembly only.
  // PTX-LABEL: .entry fence
  // PTX: mbarrier.init.shared{{(::cta)?}}.b64
  llvm.func @fence() attributes {nvvm.kernel} {
    %a = llvm.mlir.addressof @arena : !llvm.ptr<3>
    %n = llvm.mlir.constant(1 : i32) : i32
    %p = llvm.mlir.constant(true) : i1
    nvvm.mbarrier.init %a, %n, predicate = %p : !llvm.ptr<3>, i32, i1
    llvm.return
  }
}
