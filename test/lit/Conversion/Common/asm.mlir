// Templates are executed for each register. Elements enter and leave registers of the class
// that the constraint names. A chip without a template computes the definition, in each
// element of fragments.
//
// RUN: tilews-opt %s --tilews-to-nvvm=chip=sm_90a | FileCheck %s --check-prefix=NVIDIA
// RUN: tilews-opt %s --tilews-to-rocdl=chip=gfx942 | FileCheck %s --check-prefix=AMD
// RUN: tilews-opt %s --tile-set-target=chip=gfx942 --tile-annotate-instructions | FileCheck %s --check-prefix=DEFINED

gpu.module @m {
  // NVIDIA-NOT: @scaled
  func.func private @scaled(%x: f32, %s: f32) -> f32 {
    %two = arith.constant 2.0 : f32
    %y = arith.mulf %x, %two : f32
    %z = arith.addf %y, %s : f32
    return %z : f32
  }

  // NVIDIA-LABEL: llvm.func @kernel
  // AMD-LABEL: llvm.func @kernel
  // DEFINED-LABEL: gpu.func @kernel
  gpu.func @kernel(%a: memref<128x2xf32>, %h: memref<128xf16>, %s: f32) kernel {
    %x = tile.load %a : memref<128x2xf32> -> tensor<128x2xf32>
    // NVIDIA-COUNT-2: llvm.inline_asm asm_dialect = att "fma.rn.f32 $0, $1, 2.0, $2;", "=f,f,f" %{{.*}}, %{{.*}} : (f32, f32) -> f32
    // AMD-NOT: fma.rn
    // AMD: llvm.fmul
    // AMD: llvm.fadd
    // DEFINED-DAG: %[[TWO:.*]] = arith.constant dense<2.000000e+00> : tensor<128x2xf32>
    // DEFINED-DAG: %[[S:.*]] = tensor.splat %{{.*}} : tensor<128x2xf32>
    // DEFINED-DAG: %[[Y:.*]] = arith.mulf %{{.*}}, %[[TWO]] : tensor<128x2xf32>
    // DEFINED-DAG: arith.addf %[[Y]], %[[S]] : tensor<128x2xf32>
    %y = tile.asm(%x, %s) {nvidia = #tile.assembly<"fma.rn.f32 $0, $1, 2.0, $2;", "=f,f,f">}
      pure defined_by @scaled : (tensor<128x2xf32>, f32) -> tensor<128x2xf32>
    tile.store %y to %a : tensor<128x2xf32> to memref<128x2xf32>

    %v = tile.load %h : memref<128xf16> -> tensor<128xf16>
    // NVIDIA: llvm.inline_asm has_side_effects asm_dialect = att "neg.f16 $0, $2; mov.b32 $1, 0;", "=h,=f,h" %{{.*}} : (i16) -> !llvm.struct<(i16, f32)>
    // AMD: %[[WORD:.*]] = llvm.zext %{{.*}} : i16 to i32
    // AMD: llvm.inline_asm has_side_effects asm_dialect = att "v_mov $0, $2", "=&v,=v,v" %[[WORD]] : (i32) -> !llvm.struct<(i32, i32)>
    // AMD: llvm.trunc %{{.*}} : i32 to i16
    %w, %n = tile.asm(%v) {nvidia = #tile.assembly<"neg.f16 $0, $2; mov.b32 $1, 0;", "=h,=f,h">,
                           amd = #tile.assembly<"v_mov $0, $2", "=&v,=v,v">}
      : (tensor<128xf16>) -> (tensor<128xf16>, tensor<128xi32>)
    tile.store %w to %h : tensor<128xf16> to memref<128xf16>
    gpu.return
  }
}
