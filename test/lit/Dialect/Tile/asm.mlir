// Inline assembly prints as it is written. Pure assembly without uses goes away, and equal
// ones are computed once; other assembly stays.
//
// RUN: tilews-opt %s | tilews-opt | FileCheck %s
// RUN: tilews-opt %s --cse --canonicalize | FileCheck %s --check-prefix=CLEAN

gpu.module @m {
  func.func private @exp2(%x: f32) -> f32 {
    %y = math.exp2 %x : f32
    return %y : f32
  }

  // CHECK-LABEL: gpu.func @assembly
  // CLEAN-LABEL: gpu.func @assembly
  gpu.func @assembly(%a: memref<64x32xf32>, %n: i32) kernel {
    %x = tile.load %a : memref<64x32xf32> -> tensor<64x32xf32>
    // CHECK: tile.asm(%{{.*}}) {nvidia = #tile.assembly<"ex2.approx.ftz.f32 $0, $1;", "=f,f">} pure defined_by @exp2 : (tensor<64x32xf32>) -> tensor<64x32xf32>
    // CLEAN-COUNT-1: tile.asm(%{{.*}}) {nvidia
    %0 = tile.asm(%x) {nvidia = #tile.assembly<"ex2.approx.ftz.f32 $0, $1;", "=f,f">}
      pure defined_by @exp2 : (tensor<64x32xf32>) -> tensor<64x32xf32>
    %1 = tile.asm(%x) {nvidia = #tile.assembly<"ex2.approx.ftz.f32 $0, $1;", "=f,f">}
      pure defined_by @exp2 : (tensor<64x32xf32>) -> tensor<64x32xf32>
    %2 = arith.addf %0, %1 : tensor<64x32xf32>
    tile.store %2 to %a : tensor<64x32xf32> to memref<64x32xf32>
    // CHECK: tile.asm(%{{.*}}, %{{.*}}) {amd = #tile.assembly<"v_add_u32 $0, $1, $2", "=v,v,v,~{vcc}">, gfx942 = #tile.assembly<"", "=&v,v,0">} pure : (i32, i32) -> i32
    // CLEAN-NOT: gfx942
    %3 = tile.asm(%n, %n) {amd = #tile.assembly<"v_add_u32 $0, $1, $2", "=v,v,v,~{vcc}">,
                           gfx942 = #tile.assembly<"", "=&v,v,0">} pure : (i32, i32) -> i32
    // CHECK: tile.asm() {nvidia = #tile.assembly<"nanosleep.u32 100;", "">} : () -> ()
    // CLEAN-COUNT-2: nanosleep
    tile.asm() {nvidia = #tile.assembly<"nanosleep.u32 100;", "">} : () -> ()
    tile.asm() {nvidia = #tile.assembly<"nanosleep.u32 100;", "">} : () -> ()
    gpu.return
  }
}
