// Pairs of 16-bit integers are added one by one: an assembler loses the constant of
// add.s16x2 when it computes the sum a second time. Pairs of halves stay.
// RUN: tilews-translate %s --to=ptx | FileCheck %s

gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  // CHECK-LABEL: .entry pairs(
  // CHECK-NOT: s16x2
  // CHECK-DAG: add.s16 {{.*}}, 1;
  // CHECK-DAG: add.s16 {{.*}}, 2;
  // CHECK-NOT: s16x2
  // CHECK: ret;
  llvm.func @pairs(%a: vector<2xi16>, %out: !llvm.ptr<1>) attributes {nvvm.kernel} {
    %c = llvm.mlir.constant(dense<[1, 2]> : vector<2xi16>) : vector<2xi16>
    %0 = llvm.add %a, %c : vector<2xi16>
    llvm.store volatile %0, %out : vector<2xi16>, !llvm.ptr<1>
    llvm.return
  }

  // CHECK-LABEL: .entry extrema(
  // CHECK-NOT: {{[us]}}16x2
  // CHECK-COUNT-2: min.s16
  // CHECK-COUNT-2: max.u16
  // CHECK-NOT: {{[us]}}16x2
  // CHECK: ret;
  llvm.func @extrema(%a: vector<2xi16>, %b: vector<2xi16>, %out: !llvm.ptr<1>) attributes {nvvm.kernel} {
    %0 = llvm.intr.smin(%a, %b) : (vector<2xi16>, vector<2xi16>) -> vector<2xi16>
    llvm.store volatile %0, %out : vector<2xi16>, !llvm.ptr<1>
    %1 = llvm.intr.umax(%a, %b) : (vector<2xi16>, vector<2xi16>) -> vector<2xi16>
    llvm.store volatile %1, %out : vector<2xi16>, !llvm.ptr<1>
    llvm.return
  }

  // Long vectors are split into pairs first.
  // CHECK-LABEL: .entry long(
  // CHECK-NOT: s16x2
  // CHECK-COUNT-8: add.s16
  // CHECK-NOT: s16x2
  // CHECK: ret;
  llvm.func @long(%in: !llvm.ptr<1>, %out: !llvm.ptr<1>) attributes {nvvm.kernel} {
    %c = llvm.mlir.constant(dense<7> : vector<8xi16>) : vector<8xi16>
    %a = llvm.load volatile %in : !llvm.ptr<1> -> vector<8xi16>
    %0 = llvm.add %a, %c : vector<8xi16>
    llvm.store volatile %0, %out : vector<8xi16>, !llvm.ptr<1>
    llvm.return
  }

  // CHECK-LABEL: .entry halves(
  // CHECK: add.{{(rn.)?}}f16x2
  // CHECK: ret;
  llvm.func @halves(%a: vector<2xf16>, %b: vector<2xf16>, %out: !llvm.ptr<1>) attributes {nvvm.kernel} {
    %0 = llvm.fadd %a, %b : vector<2xf16>
    llvm.store volatile %0, %out : vector<2xf16>, !llvm.ptr<1>
    llvm.return
  }
}
