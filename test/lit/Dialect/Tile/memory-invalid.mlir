// Buffers, copies, loads and stores: each rule of the verifiers with its message.
// RUN: tilews-opt %s --allow-unregistered-dialect --split-input-file --verify-diagnostics

func.func @f() {
  // expected-error @below {{'tile.alloc_shared' op result #0 must be buffer in shared memory (#gpu.address_space<workgroup>, a static shape that is not empty, no layout but #tile.shared, elements of tile types), but got 'memref<4xf32>'}}
  %a = tile.alloc_shared : memref<4xf32>
  return
}

// -----

func.func @f() {
  // expected-error @below {{'tile.alloc_shared' op result #0 must be buffer in shared memory (#gpu.address_space<workgroup>, a static shape that is not empty, no layout but #tile.shared, elements of tile types), but got 'memref<?xf32, #gpu.address_space<workgroup>>'}}
  %a = tile.alloc_shared : memref<?xf32, #gpu.address_space<workgroup>>
  return
}

// -----

func.func @f() {
  // expected-error @below {{'tile.alloc_shared' op result #0 must be buffer in shared memory (#gpu.address_space<workgroup>, a static shape that is not empty, no layout but #tile.shared, elements of tile types), but got 'memref<4x0xf32, #gpu.address_space<workgroup>>'}}
  %a = tile.alloc_shared : memref<4x0xf32, #gpu.address_space<workgroup>>
  return
}

// -----

func.func @f() {
  // expected-error @below {{'tile.alloc_shared' op result #0 must be buffer in shared memory (#gpu.address_space<workgroup>, a static shape that is not empty, no layout but #tile.shared, elements of tile types), but got 'memref<65536x65536xf32, #gpu.address_space<workgroup>>'}}
  %a = tile.alloc_shared : memref<65536x65536xf32, #gpu.address_space<workgroup>>
  return
}

// -----

func.func @f() {
  // expected-error @below {{'tile.alloc_shared' op result #0 must be buffer in shared memory (#gpu.address_space<workgroup>, a static shape that is not empty, no layout but #tile.shared, elements of tile types), but got 'memref<4xvector<4xf32>, #gpu.address_space<workgroup>>'}}
  %a = tile.alloc_shared : memref<4xvector<4xf32>, #gpu.address_space<workgroup>>
  return
}

// -----

func.func @f() {
  // expected-error @below {{'tile.alloc_shared' op result #0 must be buffer in shared memory (#gpu.address_space<workgroup>, a static shape that is not empty, no layout but #tile.shared, elements of tile types), but got 'memref<4xi24, #gpu.address_space<workgroup>>'}}
  %a = tile.alloc_shared : memref<4xi24, #gpu.address_space<workgroup>>
  return
}

// -----

func.func @f() {
  // expected-error @below {{'tile.alloc_shared' op result #0 must be buffer in shared memory (#gpu.address_space<workgroup>, a static shape that is not empty, no layout but #tile.shared, elements of tile types), but got 'memref<4x4xf32, strided<[8, 1]>, #gpu.address_space<workgroup>>'}}
  %a = tile.alloc_shared : memref<4x4xf32, strided<[8, 1]>, #gpu.address_space<workgroup>>
  return
}

// -----

func.func @f() {
  // expected-error @below {{'tile.alloc_shared' op alignment has to be a power of two of at most 65536, found 48}}
  %a = tile.alloc_shared {alignment = 48 : i64} : memref<4xf32, #gpu.address_space<workgroup>>
  return
}

// -----

func.func @f() {
  // expected-error @below {{'tile.alloc_shared' op alignment has to be a power of two of at most 65536, found 4611686018427387904}}
  %a = tile.alloc_shared {alignment = 4611686018427387904 : i64} : memref<4xf32, #gpu.address_space<workgroup>>
  return
}

// -----

func.func @f() {
  // expected-error @below {{'tile.alloc_shared' op attribute 'alignment' failed to satisfy constraint: 64-bit signless integer attribute whose value is positive}}
  %a = tile.alloc_shared {alignment = 0 : i64} : memref<4xf32, #gpu.address_space<workgroup>>
  return
}

// -----

func.func @f(%a: memref<4xf32>) {
  // expected-error @below {{'tile.view' op operand #0 must be buffer in shared memory (#gpu.address_space<workgroup>, a static shape that is not empty, no layout but #tile.shared, elements of tile types), but got 'memref<4xf32>'}}
  %v = tile.view %a : memref<4xf32> to memref<4xf32, #gpu.address_space<workgroup>>
  return
}

// -----

func.func @f(%a: memref<4xf32, #gpu.address_space<workgroup>>) {
  // expected-error @below {{'tile.view' op source has 128 bits, but the result has 64}}
  %v = tile.view %a : memref<4xf32, #gpu.address_space<workgroup>> to memref<4xf16, #gpu.address_space<workgroup>>
  return
}

// -----

func.func @f(%a: memref<8x8xf32, #tile.shared<(8, 8):(16, 1)>, #gpu.address_space<workgroup>>) {
  // expected-error @below {{'tile.view' op source occupies 480 bytes, but the result occupies 256}}
  %v = tile.view %a : memref<8x8xf32, #tile.shared<(8, 8):(16, 1)>, #gpu.address_space<workgroup>> to memref<64xf32, #tile.shared<(64):(1)>, #gpu.address_space<workgroup>>
  return
}

// -----

func.func @f(%A: memref<?x?xf16>, %B: memref<?x?xf16>) {
  // expected-error @below {{'tile.copy' op does not say what to copy: give sizes, or a buffer with a static shape and no offsets}}
  tile.copy %A to %B : memref<?x?xf16> to memref<?x?xf16>
  return
}

// -----

func.func @f(%A: memref<?x?xf16>, %B: memref<4x4xf32>) {
  // expected-error @below {{'tile.copy' op source has element type 'f16', but the destination has 'f32'}}
  tile.copy %A to %B : memref<?x?xf16> to memref<4x4xf32>
  return
}

// -----

func.func @f(%A: memref<?x?xf16>, %B: memref<4x4xf16>) {
  // expected-error @below {{'tile.copy' op source has 1 offsets, but its buffer has rank 2}}
  tile.copy %A[0] to %B : memref<?x?xf16> to memref<4x4xf16>
  return
}

// -----

func.func @f(%A: memref<?x?xf16>, %B: memref<4x4xf16>) {
  // expected-error @below {{'tile.copy' op destination has 3 offsets, but its buffer has rank 2}}
  tile.copy %A to %B[0, 0, 0] : memref<?x?xf16> to memref<4x4xf16>
  return
}

// -----

func.func @f(%A: memref<?x?xf16>, %B: memref<4x4xf16>) {
  // expected-error @below {{'tile.copy' op source has 1 sizes, but its buffer has rank 2}}
  tile.copy %A[0, 0] [4] to %B : memref<?x?xf16> to memref<4x4xf16>
  return
}

// -----

func.func @f(%A: memref<?x?xf16>, %B: memref<4x4xf16>) {
  // expected-error @below {{'tile.copy' op source has size 0, expected 1 to 2147483647}}
  tile.copy %A[0, 0] [4, 0] to %B : memref<?x?xf16> to memref<4x4xf16>
  return
}

// -----

func.func @f(%A: memref<?x?xf16>, %B: memref<4x4xf16>) {
  // expected-error @below {{'tile.copy' op destination has size -4, expected 1 to 2147483647}}
  tile.copy %A[0, 0] to %B[0, 0] [4, -4] : memref<?x?xf16> to memref<4x4xf16>
  return
}

// -----

func.func @f(%A: memref<?x?xf16>, %B: memref<4x4xf16>) {
  // expected-error @below {{'tile.copy' op source has offset 281474976710657, which is out of range}}
  tile.copy %A[0, 281474976710657] to %B : memref<?x?xf16> to memref<4x4xf16>
  return
}

// -----

func.func @f(%A: memref<?x?xf16>, %B: memref<4x4xf16>) {
  // expected-error @below {{'tile.copy' op source region has sizes (8, 4), but the destination region has (4, 4)}}
  tile.copy %A[0, 0] [8, 4] to %B[0, 0] [4, 4] : memref<?x?xf16> to memref<4x4xf16>
  return
}

// -----

func.func @f(%A: memref<1024x1024xf16>, %B: memref<1024x1024xf16>) {
  // expected-error @below {{'tile.copy' op copies a region of sizes (1024, 1024), expected at most 524288 elements; copy it tile by tile}}
  tile.copy %A to %B : memref<1024x1024xf16> to memref<1024x1024xf16>
  return
}

// -----

func.func @f(%A: memref<4x4xf16, affine_map<(d0, d1) -> (d1, d0)>>, %B: memref<4x4xf16, #gpu.address_space<workgroup>>) {
  // expected-error @below {{'tile.copy' op operand #0 must be buffer (a memref in global memory with a strided layout, or in #gpu.address_space<workgroup> with a static shape and no layout but #tile.shared; with no empty dimension, elements i1, i4, i8, i16, i32, i64, index, f16, bf16, f32, f64, fp8, fp6, fp4 or f8E8M0FNU), but got 'memref<4x4xf16, affine_map<(d0, d1) -> (d1, d0)>>'}}
  tile.copy %A to %B : memref<4x4xf16, affine_map<(d0, d1) -> (d1, d0)>> to memref<4x4xf16, #gpu.address_space<workgroup>>
  return
}

// -----

func.func @f(%A: memref<4x4xf16, 5>, %B: memref<4x4xf16, #gpu.address_space<workgroup>>) {
  // expected-error @below {{'tile.copy' op operand #0 must be buffer (a memref in global memory with a strided layout, or in #gpu.address_space<workgroup> with a static shape and no layout but #tile.shared; with no empty dimension, elements i1, i4, i8, i16, i32, i64, index, f16, bf16, f32, f64, fp8, fp6, fp4 or f8E8M0FNU), but got 'memref<4x4xf16, 5>'}}
  tile.copy %A to %B : memref<4x4xf16, 5> to memref<4x4xf16, #gpu.address_space<workgroup>>
  return
}

// -----

func.func @f(%A: memref<4x4xf16, strided<[8, 1]>, #gpu.address_space<workgroup>>, %B: memref<4x4xf16>) {
  // expected-error @below {{'tile.copy' op operand #0 must be buffer (a memref in global memory with a strided layout, or in #gpu.address_space<workgroup> with a static shape and no layout but #tile.shared; with no empty dimension, elements i1, i4, i8, i16, i32, i64, index, f16, bf16, f32, f64, fp8, fp6, fp4 or f8E8M0FNU), but got 'memref<4x4xf16, strided<[8, 1]>, #gpu.address_space<workgroup>>'}}
  tile.copy %A to %B : memref<4x4xf16, strided<[8, 1]>, #gpu.address_space<workgroup>> to memref<4x4xf16>
  return
}

// -----

func.func @f(%A: memref<4x4xf16, #tile.shared<(4, 4):(4, 1)>>, %B: memref<4x4xf16>) {
  // expected-error @below {{'tile.copy' op operand #0 must be buffer (a memref in global memory with a strided layout, or in #gpu.address_space<workgroup> with a static shape and no layout but #tile.shared; with no empty dimension, elements i1, i4, i8, i16, i32, i64, index, f16, bf16, f32, f64, fp8, fp6, fp4 or f8E8M0FNU), but got 'memref<4x4xf16, #tile.shared<(4, 4):(4, 1)>>'}}
  tile.copy %A to %B : memref<4x4xf16, #tile.shared<(4, 4):(4, 1)>> to memref<4x4xf16>
  return
}

// -----

func.func @f(%A: memref<*xf16>, %B: memref<4x4xf16>) {
  // expected-error @below {{invalid kind of type specified: expected builtin.memref, but found 'memref<*xf16>'}}
  tile.copy %A to %B : memref<*xf16> to memref<4x4xf16>
  return
}

// -----

func.func @f(%A: memref<?x?xf16>, %B: memref<4x4xf16>, %i: index) {
  // expected-error @below {{'tile.copy' op operand count (3) does not match with the total size (4) specified in attribute 'operandSegmentSizes'}}
  "tile.copy"(%A, %i, %B) <{static_source_offsets = array<i64: 0, -9223372036854775808>, source_sizes = array<i64>, static_dest_offsets = array<i64>, dest_sizes = array<i64>, operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>}> : (memref<?x?xf16>, index, memref<4x4xf16>) -> ()
  return
}

// -----

func.func @f(%A: memref<?x?xf16>, %B: memref<4x4xf16>, %i: index) {
  // expected-error @below {{'tile.copy' op source has 1 dynamic offsets, but its static offsets leave room for 0}}
  "tile.copy"(%A, %i, %B) <{static_source_offsets = array<i64: 0, 0>, source_sizes = array<i64>, static_dest_offsets = array<i64>, dest_sizes = array<i64>, operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 0, 0>}> : (memref<?x?xf16>, index, memref<4x4xf16>) -> ()
  return
}

// -----

func.func @f(%A: memref<?x?xf16>) {
  // expected-error @below {{'tile.load' op buffer has element type 'f16', but the fragment has 'f32'}}
  %t = tile.load %A[0, 0] : memref<?x?xf16> -> tensor<4x4xf32>
  return
}

// -----

func.func @f(%A: memref<?x?xf16>) {
  // expected-error @below {{'tile.load' op result #0 must be fragment (a tensor with a static shape of 1 to 524288 elements, of type i1, i4, i8, i16, i32, i64, index, f16, bf16, f32, f64, fp8, fp6, fp4 or f8E8M0FNU, and no encoding but #tile.fragment), but got 'tensor<4x?xf16>'}}
  %t = tile.load %A[0, 0] : memref<?x?xf16> -> tensor<4x?xf16>
  return
}

// -----

func.func @f(%A: memref<?x?xf16>) {
  // expected-error @below {{'tile.load' op result #0 must be fragment (a tensor with a static shape of 1 to 524288 elements, of type i1, i4, i8, i16, i32, i64, index, f16, bf16, f32, f64, fp8, fp6, fp4 or f8E8M0FNU, and no encoding but #tile.fragment), but got 'tensor<4x0xf16>'}}
  %t = tile.load %A[0, 0] : memref<?x?xf16> -> tensor<4x0xf16>
  return
}

// -----

func.func @f(%A: memref<?x?xf16>) {
  // expected-error @below {{'tile.load' op source has 1 offsets, but its buffer has rank 2}}
  %t = tile.load %A[0] : memref<?x?xf16> -> tensor<4x4xf16>
  return
}

// -----

func.func @f(%A: memref<?x?xf16>) {
  // expected-error @below {{'tile.load' op region has sizes (4, 8), but the fragment has shape (4, 4)}}
  %t = tile.load %A[0, 0] [4, 8] : memref<?x?xf16> -> tensor<4x4xf16>
  return
}

// -----

func.func @f(%A: memref<?xf16>) {
  // expected-error @below {{'tile.load' op fragment of rank 2 does not fit a buffer of rank 1}}
  %t = tile.load %A[0] : memref<?xf16> -> tensor<4x4xf16>
  return
}

// -----

func.func @f(%A: memref<?x?xf16>, %p: f32) {
  // expected-error @below {{'tile.load' op failed to verify that padding has the element type}}
  %t = "tile.load"(%A, %p) <{static_offsets = array<i64>, sizes = array<i64>, operandSegmentSizes = array<i32: 1, 0, 1>}> : (memref<?x?xf16>, f32) -> tensor<4x4xf16>
  return
}

// -----

func.func @f(%A: memref<?x?xf16>, %t: tensor<4x4xf32>) {
  // expected-error @below {{'tile.store' op buffer has element type 'f16', but the fragment has 'f32'}}
  tile.store %t to %A[0, 0] : tensor<4x4xf32> to memref<?x?xf16>
  return
}

// -----

func.func @f(%A: memref<?x?xf16>, %t: tensor<4x4xf16>) {
  // expected-error @below {{'tile.store' op destination has 1 offsets, but its buffer has rank 2}}
  tile.store %t to %A[0] : tensor<4x4xf16> to memref<?x?xf16>
  return
}

// -----

func.func @f(%A: memref<?x?xf16>, %t: tensor<4x4xf16>) {
  // expected-error @below {{'tile.store' op region has sizes (2, 8), but the fragment has shape (4, 4)}}
  tile.store %t to %A[0, 0] [2, 8] : tensor<4x4xf16> to memref<?x?xf16>
  return
}

// -----

func.func @f(%A: memref<?xf32>, %t: tensor<4xf32>) {
  // expected-error @below {{'tile.atomic_rmw' op 'xor' takes integers, found 'f32'}}
  tile.atomic_rmw <xor> %t to %A[0] : tensor<4xf32> to memref<?xf32>
  return
}

// -----

func.func @f(%A: memref<?xi4>, %t: tensor<4xi4>) {
  // expected-error @below {{'tile.atomic_rmw' op cannot combine single elements of 'i4', expected at least 8 bits}}
  tile.atomic_rmw <add> %t to %A[0] : tensor<4xi4> to memref<?xi4>
  return
}

// -----

func.func @f(%A: memref<?xf32>, %t: tensor<4xf32>) {
  // expected-error @below {{'tile.atomic_rmw' op destination has 2 offsets, but its buffer has rank 1}}
  tile.atomic_rmw <add> %t to %A[0, 0] : tensor<4xf32> to memref<?xf32>
  return
}

// -----

func.func @f(%A: memref<?xf32>, %t: tensor<4xf32>) {
  // expected-error @below {{'tile.atomic_rmw' op region has sizes (5), but the fragment has shape (4)}}
  tile.atomic_rmw <add> %t to %A[0] [5] : tensor<4xf32> to memref<?xf32>
  return
}
