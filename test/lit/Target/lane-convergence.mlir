// A loop with a barrier reads what some lanes load in the iteration before, or before
// the loop. All lanes execute its barrier together. If LLVM sinks both loads into one block,
// and peels an iteration, lanes wait at different copies: the module is then optimized less.
// RUN: tilews-translate %s --to=llvm 2>&1 | FileCheck %s --implicit-check-not=remark
// RUN: tilews-translate %s --to=llvm --sink-common-insts 2>&1 | FileCheck %s --check-prefixes=REMARK,CHECK

// REMARK: lane-convergence.mlir:[[# @LINE + 8]]:1: remark: tile-llvm-0001: the kernels are compiled with fewer optimizations of LLVM: with all of them, lanes of a warp reach a barrier or another convergent call apart
// CHECK-LABEL: define {{.*}}@running_sum(
// CHECK: barrier.cta.sync.aligned.all(i32 0)
// CHECK-NOT: barrier
// CHECK: barrier.cta.sync.aligned.all(i32 1)
// CHECK-NOT: barrier
// CHECK: ret void

gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  llvm.mlir.global external @tile_shared() {addr_space = 3 : i32} : !llvm.array<0 x i8>

  llvm.func @running_sum(%a: !llvm.ptr<1>, %out: !llvm.ptr<1>, %goes_on: !llvm.ptr<1>, %m: i32) attributes {nvvm.kernel} {
    %zero = llvm.mlir.constant(0.0 : f32) : f32
    %c0 = llvm.mlir.constant(0 : i32) : i32
    %c1 = llvm.mlir.constant(1 : i32) : i32
    %shared = llvm.mlir.addressof @tile_shared : !llvm.ptr<3>
    %t = nvvm.read.ptx.sreg.tid.x : i32
    %slot = llvm.getelementptr %shared[%t] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, f32
    %inside0 = llvm.icmp "slt" %t, %m : i32
    llvm.cond_br %inside0, ^load0, ^loop(%t, %zero, %zero : i32, f32, f32)
  ^load0:
    %p0 = llvm.getelementptr %a[%t] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %x0 = llvm.load %p0 : !llvm.ptr<1> -> f32
    llvm.br ^loop(%t, %x0, %zero : i32, f32, f32)
  ^loop(%i: i32, %x: f32, %sum: f32):
    llvm.store %x, %slot : f32, !llvm.ptr<3>
    nvvm.barrier id = %c0
    %y = llvm.load %shared : !llvm.ptr<3> -> f32
    %next = llvm.fadd %sum, %y : f32
    %flag = llvm.load volatile %goes_on : !llvm.ptr<1> -> i32
    %more = llvm.icmp "ne" %flag, %c0 : i32
    llvm.cond_br %more, ^latch, ^exit
  ^latch:
    nvvm.barrier id = %c1
    %k = llvm.add %i, %m : i32
    %inside = llvm.icmp "slt" %k, %m : i32
    llvm.cond_br %inside, ^load, ^loop(%k, %zero, %next : i32, f32, f32)
  ^load:
    %p = llvm.getelementptr %a[%k] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
    %x1 = llvm.load %p : !llvm.ptr<1> -> f32
    llvm.br ^loop(%k, %x1, %next : i32, f32, f32)
  ^exit:
    llvm.store %next, %out : f32, !llvm.ptr<1>
    llvm.return
  }
}
