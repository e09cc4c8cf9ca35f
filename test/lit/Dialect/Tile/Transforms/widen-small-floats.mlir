// RUN: tilews-opt %s --tile-widen-small-floats --allow-unregistered-dialect | FileCheck %s
// RUN: tilews-opt %s --tile-widen-small-floats --canonicalize --allow-unregistered-dialect | FileCheck %s --check-prefix=FOLDED

// CHECK-LABEL: func.func @reduce
func.func @reduce(%x: tensor<64xf8E4M3FN>) -> (tensor<f8E4M3FN>, tensor<f8E4M3FN>) {
  // CHECK: %[[WIDE:.*]] = arith.extf %{{.*}} fastmath<contract> : tensor<64xf8E4M3FN> to tensor<64xf32>
  // CHECK: %[[MAX:.*]] = tile.reduce <max> %[[WIDE]] {axis = 0 : i64} : tensor<64xf32> -> tensor<f32>
  // CHECK: arith.truncf %[[MAX]] fastmath<contract> : tensor<f32> to tensor<f8E4M3FN>
  %0 = tile.reduce <max> %x {axis = 0 : i64} : tensor<64xf8E4M3FN> -> tensor<f8E4M3FN>
  // CHECK: %[[SUM:.*]] = tile.reduce <sum> {{.*}} : tensor<64xf32> -> tensor<f32>
  // CHECK: arith.truncf %[[SUM]] : tensor<f32> to tensor<f8E4M3FN>
  %1 = tile.reduce <sum> %x {axis = 0 : i64} : tensor<64xf8E4M3FN> -> tensor<f8E4M3FN>
  return %0, %1 : tensor<f8E4M3FN>, tensor<f8E4M3FN>
}

// CHECK-LABEL: func.func @scan
func.func @scan(%x: tensor<64xf8E8M0FNU>) -> tensor<64xf8E8M0FNU> {
  // CHECK: %[[SCAN:.*]] = tile.scan <min> %{{.*}} : tensor<64xf32>
  // CHECK: arith.truncf %[[SCAN]] fastmath<contract> : tensor<64xf32> to tensor<64xf8E8M0FNU>
  %0 = tile.scan <min> %x {axis = 0 : i64} : tensor<64xf8E8M0FNU>
  return %0 : tensor<64xf8E8M0FNU>
}

// CHECK-LABEL: func.func @functions
func.func @functions(%x: f4E2M1FN, %y: f6E2M3FN) -> (f4E2M1FN, f6E2M3FN) {
  // CHECK: math.absf %{{.*}} : f32
  %0 = math.absf %x : f4E2M1FN
  // CHECK: math.fma %{{.*}} : f32
  %1 = math.fma %y, %y, %y : f6E2M3FN
  return %0, %1 : f4E2M1FN, f6E2M3FN
}

// A comparison has another type already.
// CHECK-LABEL: func.func @compare
func.func @compare(%x: tensor<4xf8E5M2>, %y: tensor<4xf8E5M2>) -> tensor<4xf8E5M2> {
  // CHECK: %[[LESS:.*]] = arith.cmpf olt, %{{.*}}, %{{.*}} : tensor<4xf32>
  // CHECK-NEXT: arith.select %[[LESS]], %{{.*}}, %{{.*}} : tensor<4xi1>, tensor<4xf8E5M2>
  %0 = arith.cmpf olt, %x, %y : tensor<4xf8E5M2>
  %1 = arith.select %0, %x, %y : tensor<4xi1>, tensor<4xf8E5M2>
  return %1 : tensor<4xf8E5M2>
}

// The square is rounded before it is added to; the maximum has nothing to round.
// FOLDED-LABEL: func.func @chain
func.func @chain(%x: tensor<4xf8E4M3FN>, %y: tensor<4xf8E4M3FN>) -> tensor<4xf8E4M3FN> {
  // FOLDED: %[[MAX:.*]] = arith.maximumf
  // FOLDED-NEXT: %[[SQUARE:.*]] = arith.mulf %[[MAX]], %[[MAX]]
  // FOLDED-NEXT: %[[ROUNDED:.*]] = arith.truncf %[[SQUARE]]
  // FOLDED-NEXT: %[[AGAIN:.*]] = arith.extf %[[ROUNDED]]
  // FOLDED: arith.addf %[[AGAIN]]
  %0 = arith.maximumf %x, %y : tensor<4xf8E4M3FN>
  %1 = arith.mulf %0, %0 : tensor<4xf8E4M3FN>
  %2 = arith.addf %1, %x : tensor<4xf8E4M3FN>
  return %2 : tensor<4xf8E4M3FN>
}

// Conversions and wider types stay.
// CHECK-LABEL: func.func @others
func.func @others(%x: tensor<4xf8E4M3FN>, %y: tensor<4xf16>) -> (tensor<4xf16>, tensor<f16>) {
  // CHECK-NEXT: arith.extf %{{.*}} : tensor<4xf8E4M3FN> to tensor<4xf16>
  // CHECK-NEXT: tile.reduce <max> %{{.*}} : tensor<4xf16> -> tensor<f16>
  // CHECK-NEXT: return
  %0 = arith.extf %x : tensor<4xf8E4M3FN> to tensor<4xf16>
  %1 = tile.reduce <max> %y {axis = 0 : i64} : tensor<4xf16> -> tensor<f16>
  return %0, %1 : tensor<4xf16>, tensor<f16>
}

// Nothing is known about unregistered operations.
// CHECK-LABEL: func.func @unregistered
// CHECK-NEXT: "test.op"(%{{.*}}) : (f8E4M3FN) -> f8E4M3FN
func.func @unregistered(%x: f8E4M3FN) -> f8E4M3FN {
  %y = "test.op"(%x) : (f8E4M3FN) -> f8E4M3FN
  return %y : f8E4M3FN
}
