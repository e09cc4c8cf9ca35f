// RUN: tilews-opt %s --allow-unregistered-dialect --tile-expand-math --split-input-file --verify-diagnostics | FileCheck %s --check-prefixes=CHECK,NV
// RUN: tilews-opt %s --allow-unregistered-dialect --tile-set-target=chip=gfx942 --tile-expand-math --split-input-file --verify-diagnostics | FileCheck %s --check-prefixes=CHECK,AMD

gpu.module @kernels [#nvvm.target<chip = "sm_80">] {
  gpu.func @functions(%x: vector<4xf32>, %s: f32, %h: vector<4xf16>, %d: f64) kernel {
    // CHECK-DAG: %[[LOG2E:.*]] = arith.constant dense<1.44269466> : vector<4xf32>
    // CHECK-DAG: %[[HIGH:.*]] = arith.constant dense<-0.693147182> : vector<4xf32>
    // CHECK-DAG: %[[LOW:.*]] = arith.constant dense<1.90465421E-9> : vector<4xf32>
    // CHECK-DAG: %[[ONE:.*]] = arith.constant dense<1.000000e+00> : vector<4xf32>
    // CHECK: %[[S:.*]] = arith.mulf %arg0, %[[LOG2E]] : vector<4xf32>
    // CHECK: %[[X:.*]] = vector.extract %[[S]][0]
    // NV: llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f32"(%[[X]])
    // NV-COUNT-3: llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f32"
    // AMD: llvm.call_intrinsic "llvm.amdgcn.exp2.f32"(%[[X]])
    // CHECK: %[[P:.*]] = vector.from_elements
    // CHECK: %[[R0:.*]] = math.fma %[[S]], %[[HIGH]], %arg0 : vector<4xf32>
    // CHECK: %[[R1:.*]] = math.fma %[[S]], %[[LOW]], %[[R0]] : vector<4xf32>
    // CHECK: %[[R:.*]] = arith.minnumf %[[R1]], %[[ONE]] : vector<4xf32>
    // CHECK: math.fma %[[P]], %[[R]], %[[P]] : vector<4xf32>
    %0 = math.exp %x : vector<4xf32>
    // No instruction of NVIDIA is accurate near 1.
    // NV: arith.subi {{.*}} : vector<4xi32>
    // NV: math.fma
    // AMD: math.log2 %arg0 : vector<4xf32>
    %1 = math.log %x : vector<4xf32>
    // NV: llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f32"
    // AMD: llvm.call_intrinsic "llvm.amdgcn.exp2.f32"
    // CHECK: arith.divf
    // CHECK-NOT: math.tanh
    %2 = math.tanh %s : f32
    // Narrow types are computed in f32.
    // CHECK: arith.extf %arg2 : vector<4xf16> to vector<4xf32>
    // CHECK: math.sqrt %{{.*}} : vector<4xf32>
    // CHECK: arith.truncf
    %3 = math.sqrt %h : vector<4xf16>
    // CHECK-NOT: math.sin
    // CHECK-NOT: math.erf
    %4 = math.sin %x : vector<4xf32>
    %5 = math.erf %x : vector<4xf32>
    // The square root of f64 is kept.
    // CHECK: math.sqrt %arg3 : f64
    %6 = math.sqrt %d : f64
    "test.use"(%0, %1, %2, %3, %4, %5, %6) : (vector<4xf32>, vector<4xf32>, f32, vector<4xf16>, vector<4xf32>, vector<4xf32>, f64) -> ()
    gpu.return
  }
}

// -----

gpu.module @kernels [#nvvm.target<chip = "sm_80">] {
  gpu.func @f64(%x: f64) kernel {
    // expected-error @below {{has no instruction for f64 on any target; compute it in f32}}
    %0 = math.exp %x : f64
    "test.use"(%0) : (f64) -> ()
    gpu.return
  }
}

// -----

// Vectors of no dimension, of several, and of unknown length.
gpu.module @kernels [#nvvm.target<chip = "sm_80">] {
  // CHECK-LABEL: gpu.func @shapes
  gpu.func @shapes(%x: vector<f32>, %y: vector<2x3xf32>, %z: vector<[4]xf32>) kernel {
    // CHECK: %[[X:.*]] = vector.extract %arg0[] : f32 from vector<f32>
    // CHECK: %[[E:.*]] = llvm.call_intrinsic {{.*}}(%[[X]])
    // CHECK: %[[V:.*]] = vector.from_elements %[[E]] : vector<1xf32>
    // CHECK: vector.shape_cast %[[V]] : vector<1xf32> to vector<f32>
    %0 = math.exp2 %x : vector<f32>
    // CHECK: vector.extract %arg1[1, 2]
    // CHECK-COUNT-6: llvm.call_intrinsic
    // CHECK: vector.shape_cast %{{.*}} : vector<6xf32> to vector<2x3xf32>
    %1 = math.exp2 %y : vector<2x3xf32>
    // CHECK: math.exp2 %arg2 : vector<[4]xf32>
    %2 = math.exp2 %z : vector<[4]xf32>
    "test.use"(%0, %1, %2) : (vector<f32>, vector<2x3xf32>, vector<[4]xf32>) -> ()
    gpu.return
  }
}

// -----

// Where 16 bits are left of an exponential, its short form is accurate enough.
gpu.module @kernels [#nvvm.target<chip = "sm_80">] {
  // CHECK-LABEL: gpu.func @narrowed
  gpu.func @narrowed(%x: f32, %y: f32, %h: bf16) kernel {
    // CHECK-DAG: %[[HIGH:.*]] = arith.constant 1.44269502 : f32
    // CHECK-DAG: %[[LOW:.*]] = arith.constant 1.92596303E-8 : f32
    // CHECK: %[[P:.*]] = arith.mulf %arg0, %[[LOW]] : f32
    // CHECK: math.fma %arg0, %[[HIGH]], %[[P]] : f32
    // CHECK-NOT: minnumf
    %0 = math.exp %x : f32
    %1 = arith.truncf %0 : f32 to f16
    // CHECK: %[[W:.*]] = arith.extf %arg2
    // CHECK: arith.mulf %[[W]], %[[LOW]]
    // CHECK-NOT: minnumf
    %2 = math.exp %h : bf16
    // CHECK: arith.minnumf
    %3 = math.exp %y : f32
    %4 = arith.truncf %3 : f32 to f16
    "test.use"(%1, %2, %3, %4) : (f16, bf16, f32, f16) -> ()
    gpu.return
  }
}
