// RUN: tilews-opt %s --split-input-file --verify-diagnostics

!S = memref<4x64x64xf16, #gpu.address_space<workgroup>>
!M = memref<64x64xf16, #gpu.address_space<workgroup>>

func.func @size_of_value(%s: !S, %i: index) {
  // expected-error @below {{has an offset along dimension 1 that is a value, so expected size 1, found 64}}
  %0 = tile.subview %s[0, %i, 0] [1, 64, 64] : !S to !M
  return
}

// -----

!S = memref<4x64x64xf16, #gpu.address_space<workgroup>>

func.func @multiple(%s: !S) {
  // expected-error @below {{has offset 16 and size 32 along dimension 2, expected a multiple of the size, and a part inside of 64 elements}}
  %0 = tile.subview %s[0, 0, 16] [1, 64, 32] : !S to memref<64x32xf16, #gpu.address_space<workgroup>>
  return
}

// -----

!S = memref<4x64x64xf16, #gpu.address_space<workgroup>>

func.func @outside(%s: !S) {
  // expected-error @below {{has offset 4 and size 1 along dimension 0, expected a multiple of the size, and a part inside of 4 elements}}
  %0 = tile.subview %s[4, 0, 0] [1, 64, 64] : !S to memref<64x64xf16, #gpu.address_space<workgroup>>
  return
}

// -----

!S = memref<4x64x64xf16, #gpu.address_space<workgroup>>

func.func @divides(%s: !S) {
  // expected-error @below {{expected a size along dimension 1 that divides 64, found 24}}
  %0 = tile.subview %s[0, 24, 0] [1, 24, 64] : !S to memref<24x64xf16, #gpu.address_space<workgroup>>
  return
}

// -----

!S = memref<4x64x64xf16, #gpu.address_space<workgroup>>

func.func @sizes(%s: !S) {
  // expected-error @below {{has 2 sizes, but its buffer has rank 3}}
  %0 = "tile.subview"(%s) {static_offsets = array<i64: 0, 0, 0>, sizes = array<i64: 64, 64>} : (!S) -> memref<64x64xf16, #gpu.address_space<workgroup>>
  return
}

// -----

!S = memref<4x64x64xf16, #gpu.address_space<workgroup>>

func.func @result(%s: !S) {
  // expected-error @below {{failed to infer returned types}}
  // expected-error @below {{incompatible with return type(s)}}
  %0 = tile.subview %s[0, 0, 0] [1, 64, 64] : !S to memref<64x32xf16, #gpu.address_space<workgroup>>
  return
}

// -----

!S = memref<4x64x64xf16, #gpu.address_space<workgroup>>

func.func @negative_size(%s: !S) {
  // expected-error @below {{source has size -1, expected 1 to 2147483647}}
  %0 = "tile.subview"(%s) {static_offsets = array<i64: 0, 0, 0>, sizes = array<i64: 1, -1, 64>} : (!S) -> memref<64x64xf16, #gpu.address_space<workgroup>>
  return
}

// -----

!Panels = memref<64x64xf16, #tile.shared<(64, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>

func.func @swizzle(%s: !Panels) {
  // expected-error @below {{failed to infer returned types}}
  // expected-error @below {{parts along dimension 0 lie 512 bytes apart, which is no multiple of the swizzle's atom of 1024 bytes}}
  %0 = tile.subview %s[4, 0] [4, 64] : !Panels to memref<4x64xf16, #tile.shared<(4, 64):(64, 1), Sw<3,4,3>>, #gpu.address_space<workgroup>>
  return
}
