// RUN: tilews-opt %s --canonicalize | FileCheck %s

!s = memref<64x64xf16, #gpu.address_space<workgroup>>
!line = memref<4096xf16, #gpu.address_space<workgroup>>

// CHECK-LABEL: func @offsets
// CHECK-SAME: %[[A:.*]]: memref<?x?xf16>, %[[S:[^:]*]]:
func.func @offsets(%A: memref<?x?xf16>, %s: !s, %m: index) -> tensor<64x64xf16> {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  // CHECK-NEXT: tile.copy %[[A]][64, %{{.*}}] to %[[S]][0, 0]
  tile.copy %A[%c64, %m] to %s[%c0, %c0] [64, 64] : memref<?x?xf16> to !s
  // CHECK-NEXT: %[[T:.*]] = tile.load %[[A]][0, 64]
  %t = tile.load %A[%c0, %c64] : memref<?x?xf16> -> tensor<64x64xf16>
  // CHECK-NEXT: tile.store %[[T]] to %[[A]][%{{.*}}, 0]
  tile.store %t to %A[%m, %c0] : tensor<64x64xf16> to memref<?x?xf16>
  return %t : tensor<64x64xf16>
}

// An offset that has no static form stays.
// CHECK-LABEL: func @far
func.func @far(%A: memref<?xf16>) -> tensor<64xf16> {
  // CHECK: %[[C:.*]] = arith.constant -9223372036854775808
  %c = arith.constant -9223372036854775808 : index
  // CHECK: tile.load %{{.*}}[%[[C]]]
  %t = tile.load %A[%c] : memref<?xf16> -> tensor<64xf16>
  return %t : tensor<64xf16>
}

// CHECK-LABEL: func @views
// CHECK-SAME: %[[S:[^:]*]]:
func.func @views(%s: !s) -> (!s, !s, !line) {
  %same = tile.view %s : !s to !s
  %line = tile.view %s : !s to !line
  // Two views that cancel.
  %back = tile.view %line : !line to !s
  // CHECK: %[[L:.*]] = tile.view %[[S]]
  %again = tile.view %back : !s to !line
  // CHECK: return %[[S]], %[[S]], %[[L]]
  return %same, %back, %again : !s, !s, !line
}

// A sum with zero becomes a cleared accumulator.
// CHECK-LABEL: func @gemm
func.func @gemm(%a: tensor<16x16xf16>, %b: tensor<16x16xi8>, %c: tensor<16x16xf32>) -> (tensor<16x16xf32>, tensor<16x16xi32>, tensor<16x16xf32>) {
  %zero = arith.constant dense<0.0> : tensor<16x16xf32>
  %izero = arith.constant dense<0> : tensor<16x16xi32>
  // CHECK: tile.gemm {{.*}} {clear_accumulator}
  %0 = tile.gemm %a, %a, %zero : tensor<16x16xf16>, tensor<16x16xf16> -> tensor<16x16xf32>
  // CHECK: tile.gemm {{.*}} {clear_accumulator}
  %1 = tile.gemm %b, %b, %izero : tensor<16x16xi8>, tensor<16x16xi8> -> tensor<16x16xi32>
  // CHECK: tile.gemm
  // CHECK-NOT: clear_accumulator
  %2 = tile.gemm %a, %a, %c : tensor<16x16xf16>, tensor<16x16xf16> -> tensor<16x16xf32>
  return %0, %1, %2 : tensor<16x16xf32>, tensor<16x16xi32>, tensor<16x16xf32>
}

// CHECK-LABEL: func @gemm_sp
func.func @gemm_sp(%a: tensor<16x16xf16>, %e: tensor<16x2xi16>, %b: tensor<32x16xf16>) -> tensor<16x16xf32> {
  %zero = arith.constant dense<0.0> : tensor<16x16xf32>
  // CHECK: tile.gemm_sp {{.*}} {clear_accumulator}
  %0 = tile.gemm_sp %a, %e, %b, %zero : tensor<16x16xf16>, tensor<16x2xi16>, tensor<32x16xf16> -> tensor<16x16xf32>
  return %0 : tensor<16x16xf32>
}

// CHECK-LABEL: func @identities
// CHECK-SAME: %[[X:.*]]: tensor<4x8xf32>
func.func @identities(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) {
  %b = tile.broadcast %x : tensor<4x8xf32> -> tensor<4x8xf32>
  %t = tile.transpose %x {permutation = array<i64: 0, 1>} : tensor<4x8xf32> -> tensor<4x8xf32>
  %r = tile.reshape %x : tensor<4x8xf32> -> tensor<4x8xf32>
  // CHECK-NEXT: return %[[X]], %[[X]], %[[X]]
  return %b, %t, %r : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
}

// Equal extents do not make a transposition the identity.
// CHECK-LABEL: func @square
func.func @square(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  // CHECK: tile.transpose
  %t = tile.transpose %x {permutation = array<i64: 1, 0>} : tensor<8x8xf32> -> tensor<8x8xf32>
  return %t : tensor<8x8xf32>
}

// CHECK-LABEL: func @splats
func.func @splats() -> (tensor<4x8xf32>, tensor<8x4xf32>, tensor<32xf32>) {
  %one = arith.constant dense<1.0> : tensor<4x1xf32>
  %x = arith.constant dense<2.0> : tensor<4x8xf32>
  %b = tile.broadcast %one : tensor<4x1xf32> -> tensor<4x8xf32>
  %t = tile.transpose %x {permutation = array<i64: 1, 0>} : tensor<4x8xf32> -> tensor<8x4xf32>
  %r = tile.reshape %x : tensor<4x8xf32> -> tensor<32xf32>
  // CHECK-DAG: %[[B:.*]] = arith.constant dense<1.000000e+00> : tensor<4x8xf32>
  // CHECK-DAG: %[[T:.*]] = arith.constant dense<2.000000e+00> : tensor<8x4xf32>
  // CHECK-DAG: %[[R:.*]] = arith.constant dense<2.000000e+00> : tensor<32xf32>
  // CHECK: return %[[B]], %[[T]], %[[R]]
  return %b, %t, %r : tensor<4x8xf32>, tensor<8x4xf32>, tensor<32xf32>
}

// An axis that is reversed twice, or along which all elements are equal, stays as it is.
// CHECK-LABEL: func @flips
// CHECK-SAME: %[[X:.*]]: tensor<4x8x1xf32>, %[[S:.*]]: f32
func.func @flips(%x: tensor<4x8x1xf32>, %s: f32) -> (tensor<4x8x1xf32>, tensor<4x8x1xf32>, tensor<4x8x1xf32>, tensor<4x8xf32>, tensor<4x8xf32>) {
  // CHECK-DAG: %[[C:.*]] = arith.constant dense<2.000000e+00> : tensor<4x8xf32>
  // CHECK-DAG: %[[SPLAT:.*]] = tensor.splat %[[S]]
  // CHECK-DAG: %[[OUTER:.*]] = tile.flip %[[X]] {axes = array<i64: 0>} : tensor<4x8x1xf32>
  %a = tile.flip %x {axes = array<i64: 0, 1>} : tensor<4x8x1xf32>
  %b = tile.flip %a {axes = array<i64: 1, 2>} : tensor<4x8x1xf32>
  %c = tile.flip %b {axes = array<i64: 0>} : tensor<4x8x1xf32>
  %d = tile.flip %x {axes = array<i64: 2>} : tensor<4x8x1xf32>
  %two = arith.constant dense<2.0> : tensor<4x8xf32>
  %e = tile.flip %two {axes = array<i64: 1>} : tensor<4x8xf32>
  %splat = tensor.splat %s : tensor<4x8xf32>
  %f = tile.flip %splat {axes = array<i64: 0, 1>} : tensor<4x8xf32>
  // CHECK: return %[[OUTER]], %[[X]], %[[X]], %[[C]], %[[SPLAT]]
  return %b, %c, %d, %e, %f : tensor<4x8x1xf32>, tensor<4x8x1xf32>, tensor<4x8x1xf32>, tensor<4x8xf32>, tensor<4x8xf32>
}

// A fragment is flipped before it is repeated, and not along the axis that repeats it.
// Reversed coordinates are computed.
// CHECK-LABEL: func @flipped_sources
// CHECK-SAME: %[[X:.*]]: tensor<4x1xf32>
func.func @flipped_sources(%x: tensor<4x1xf32>) -> (tensor<4x8xf32>, tensor<4x8xi8>, tensor<4x8xindex>, tensor<300x8xi8>) {
  // CHECK-DAG: %[[LAST8:.*]] = arith.constant dense<7> : tensor<4x8xindex>
  // CHECK-DAG: %[[LAST300:.*]] = arith.constant dense<43> : tensor<300x8xi8>
  // CHECK-DAG: %[[F:.*]] = tile.flip %[[X]] {axes = array<i64: 0>} : tensor<4x1xf32>
  // CHECK-DAG: %[[B:.*]] = tile.broadcast %[[F]]
  %b = tile.broadcast %x : tensor<4x1xf32> -> tensor<4x8xf32>
  %0 = tile.flip %b {axes = array<i64: 0, 1>} : tensor<4x8xf32>
  // CHECK-DAG: %[[I:.*]] = tile.iota {axis = 1 : i64} : tensor<4x8xi8>
  %i = tile.iota {axis = 1 : i64} : tensor<4x8xi8>
  %1 = tile.flip %i {axes = array<i64: 0>} : tensor<4x8xi8>
  // CHECK-DAG: %[[J:.*]] = tile.iota {axis = 1 : i64} : tensor<4x8xindex>
  // CHECK-DAG: %[[RJ:.*]] = arith.subi %[[LAST8]], %[[J]]
  %j = tile.iota {axis = 1 : i64} : tensor<4x8xindex>
  %2 = tile.flip %j {axes = array<i64: 0, 1>} : tensor<4x8xindex>
  // CHECK-DAG: %[[K:.*]] = tile.iota {axis = 0 : i64} : tensor<300x8xi8>
  // CHECK-DAG: %[[RK:.*]] = arith.subi %[[LAST300]], %[[K]]
  %k = tile.iota {axis = 0 : i64} : tensor<300x8xi8>
  %3 = tile.flip %k {axes = array<i64: 0>} : tensor<300x8xi8>
  // CHECK: return %[[B]], %[[I]], %[[RJ]], %[[RK]]
  return %0, %1, %2, %3 : tensor<4x8xf32>, tensor<4x8xi8>, tensor<4x8xindex>, tensor<300x8xi8>
}

#p = #tile.fragment<thread = (32):(1*d0), value = (2):(32*d0)>
#q = #tile.fragment<thread = (32):(2*d0), value = (2):(1*d0)>
#r = #tile.fragment<thread = (16, 2):(2*d0, 1*d0), value = (2):(32*d0)>
#t = #tile.fragment<thread = (64):(1*d0), value = (4):(1*d1)>
// CHECK-LABEL: func @conversions
// CHECK-SAME: %[[X:[^:]*]]:
func.func @conversions(%x: tensor<64xf32, #p>) -> (tensor<64xf32, #p>, tensor<64xf32, #r>) {
  %y = tile.convert_layout %x : tensor<64xf32, #p> to tensor<64xf32, #q>
  %back = tile.convert_layout %y : tensor<64xf32, #q> to tensor<64xf32, #p>
  // CHECK-NEXT: %[[Z:.*]] = tile.convert_layout %[[X]]
  %z = tile.convert_layout %y : tensor<64xf32, #q> to tensor<64xf32, #r>
  // CHECK-NEXT: return %[[X]], %[[Z]]
  return %back, %z : tensor<64xf32, #p>, tensor<64xf32, #r>
}

// Conversions are not merged after scratch memory has been planned: the merged one
// might need memory that its last step did not.
// CHECK-LABEL: func @planned_conversions
// CHECK-SAME: %[[X:[^:]*]]:
func.func @planned_conversions(%x: tensor<64xf32, #p>) -> tensor<64xf32, #r> attributes {tile.shared_bytes = 256 : i64} {
  // CHECK-NEXT: %[[Y:.*]] = tile.convert_layout %[[X]] {tile.offset = 0 : i64}
  %y = tile.convert_layout %x {tile.offset = 0 : i64} : tensor<64xf32, #p> to tensor<64xf32, #q>
  // CHECK-NEXT: %[[Z:.*]] = tile.convert_layout %[[Y]]
  %z = tile.convert_layout %y : tensor<64xf32, #q> to tensor<64xf32, #r>
  // CHECK-NEXT: return %[[Z]]
  return %z : tensor<64xf32, #r>
}

// So it is with flips, but for those that cancel out.
// CHECK-LABEL: func @planned_flips
// CHECK-SAME: %[[X:[^:]*]]:
func.func @planned_flips(%x: tensor<64x4xf32, #t>) -> (tensor<64x4xf32, #t>, tensor<64x4xf32, #t>) attributes {tile.shared_bytes = 1024 : i64} {
  // CHECK-NEXT: %[[Y:.*]] = tile.flip %[[X]] {axes = array<i64: 0>, tile.offset = 0 : i64}
  %y = tile.flip %x {axes = array<i64: 0>, tile.offset = 0 : i64} : tensor<64x4xf32, #t>
  // CHECK-NEXT: %[[Z:.*]] = tile.flip %[[Y]] {axes = array<i64: 1>}
  %z = tile.flip %y {axes = array<i64: 1>} : tensor<64x4xf32, #t>
  %back = tile.flip %z {axes = array<i64: 1>} : tensor<64x4xf32, #t>
  // CHECK-NEXT: return %[[Z]], %[[Y]]
  return %z, %back : tensor<64x4xf32, #t>, tensor<64x4xf32, #t>
}

// Operations without uses are dropped, unless they write.
// CHECK-LABEL: func @unused
func.func @unused(%A: memref<4xf32>, %x: tensor<4xf32>) {
  // CHECK-NEXT: tile.store
  // CHECK-NEXT: return
  %a = tile.alloc_shared : memref<4xf32, #gpu.address_space<workgroup>>
  %t = tile.load %A : memref<4xf32> -> tensor<4xf32>
  %s = tile.scan <sum> %t {axis = 0 : i64} : tensor<4xf32>
  %i = tile.iota {axis = 0 : i64} : tensor<4xi32>
  tile.store %x to %A : tensor<4xf32> to memref<4xf32>
  return
}

// A slot of a view of all versions becomes a view of the slot, if both have as many
// versions.
// CHECK-LABEL: func @slots
// CHECK-SAME: %[[R:[^:]*]]: memref<2x8192xi8, #gpu.address_space<workgroup>>, %[[P:[^:]*]]: !tile.cursor<2>
func.func @slots(%r: memref<2x8192xi8, #gpu.address_space<workgroup>>,
                 %p: !tile.cursor<2>, %q: !tile.cursor<4>)
    -> (!s, memref<32x64xf16, #gpu.address_space<workgroup>>) {
  // CHECK-DAG: %[[S:.*]] = tile.slot %[[R]][%[[P]]] : memref<2x8192xi8, {{.*}}> -> memref<8192xi8
  // CHECK-DAG: %[[V:.*]] = tile.view %[[S]] : memref<8192xi8, {{.*}}> to memref<64x64xf16
  %two = tile.view %r : memref<2x8192xi8, #gpu.address_space<workgroup>> to memref<2x64x64xf16, #gpu.address_space<workgroup>>
  %a = tile.slot %two[%p] : memref<2x64x64xf16, #gpu.address_space<workgroup>> -> !s
  // CHECK-DAG: %[[F:.*]] = tile.view %[[R]] : memref<2x8192xi8, {{.*}}> to memref<4x32x64xf16
  // CHECK-DAG: %[[B:.*]] = tile.slot %[[F]][
  %four = tile.view %r : memref<2x8192xi8, #gpu.address_space<workgroup>> to memref<4x32x64xf16, #gpu.address_space<workgroup>>
  %b = tile.slot %four[%q] : memref<4x32x64xf16, #gpu.address_space<workgroup>> -> memref<32x64xf16, #gpu.address_space<workgroup>>
  // CHECK: return %[[V]], %[[B]]
  return %a, %b : !s, memref<32x64xf16, #gpu.address_space<workgroup>>
}

// A left operand in registers is transposed by an operation of its own.
// CHECK-LABEL: func @transposed_fragment
func.func @transposed_fragment(%a: tensor<32x64xf16>, %s: !s, %acc: tensor<64x64xf32>)
    -> (tensor<64x64xf32>, tensor<64x64xf32>) {
  // CHECK: %[[T:.*]] = tile.transpose %{{.*}} {permutation = array<i64: 1, 0>} : tensor<32x64xf16> -> tensor<64x32xf16>
  // CHECK: tile.gemm %[[T]], %{{.*}}, %{{.*}} : tensor<64x32xf16>, memref<32x64xf16
  %p = tile.subview %s[32, 0] [32, 64] : !s to memref<32x64xf16, #gpu.address_space<workgroup>>
  %0 = tile.gemm %a, %p, %acc {transpose_lhs} : tensor<32x64xf16>, memref<32x64xf16, #gpu.address_space<workgroup>> -> tensor<64x64xf32>
  // CHECK: tile.gemm %{{.*}}, %{{.*}}, %{{.*}} {transpose_lhs} : memref<64x64xf16
  %1 = tile.gemm %s, %s, %acc {transpose_lhs} : !s, !s -> tensor<64x64xf32>
  return %0, %1 : tensor<64x64xf32>, tensor<64x64xf32>
}

// A role without effects keeps its warps, on which the threads of others depend.
// CHECK-LABEL: func @empty_role
func.func @empty_role(%a: memref<64xf32>) {
  // CHECK: tile.specialize
  tile.specialize {
    // CHECK-NEXT: tile.role @load warps(2) {
    // CHECK-NEXT: }
    tile.role @load warps(2) {
      %n = arith.constant 0 : index
      %m = arith.addi %n, %n : index
    }
    // CHECK: tile.role @math warps(4)
    tile.role @math warps(4) {
      %x = tile.load %a[0] : memref<64xf32> -> tensor<64xf32>
      tile.store %x to %a[0] : tensor<64xf32> to memref<64xf32>
    }
  }
  return
}
