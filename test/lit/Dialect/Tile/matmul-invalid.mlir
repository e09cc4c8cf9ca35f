// Matmuls: each rule of the verifiers with its message.
// RUN: tilews-opt %s --allow-unregistered-dialect --split-input-file --verify-diagnostics

func.func @f(%a: memref<16x32xf16>, %b: memref<32x8xf16, #gpu.address_space<workgroup>>, %c: tensor<16x8xf32>) {
  // expected-error @below {{'tile.gemm' op left operand has to be in shared memory or a fragment, found 'memref<16x32xf16>'; copy it there first}}
  %d = tile.gemm %a, %b, %c : memref<16x32xf16>, memref<32x8xf16, #gpu.address_space<workgroup>> -> tensor<16x8xf32>
  return
}

// -----

func.func @f(%a: memref<16x32xf16, #gpu.address_space<workgroup>>, %b: memref<32x8xf16>, %c: tensor<16x8xf32>) {
  // expected-error @below {{'tile.gemm' op right operand has to be in shared memory or a fragment, found 'memref<32x8xf16>'; copy it there first}}
  %d = tile.gemm %a, %b, %c : memref<16x32xf16, #gpu.address_space<workgroup>>, memref<32x8xf16> -> tensor<16x8xf32>
  return
}

// -----

func.func @f(%a: tensor<32xf16>, %b: memref<32x8xf16, #gpu.address_space<workgroup>>, %c: tensor<16x8xf32>) {
  // expected-error @below {{'tile.gemm' op left operand has to be a matrix with a static shape, found 'tensor<32xf16>'}}
  %d = tile.gemm %a, %b, %c : tensor<32xf16>, memref<32x8xf16, #gpu.address_space<workgroup>> -> tensor<16x8xf32>
  return
}

// -----

func.func @f(%a: memref<16x32xf16, #gpu.address_space<workgroup>>, %b: memref<32x8xf16, #gpu.address_space<workgroup>>, %c: tensor<16x8x1xf32>) {
  // expected-error @below {{'tile.gemm' op accumulator has to be a matrix with a static shape, found 'tensor<16x8x1xf32>'}}
  %d = tile.gemm %a, %b, %c : memref<16x32xf16, #gpu.address_space<workgroup>>, memref<32x8xf16, #gpu.address_space<workgroup>> -> tensor<16x8x1xf32>
  return
}

// -----

func.func @f(%a: memref<16x32xf16, #gpu.address_space<workgroup>>, %b: tensor<16x8xf16>, %c: tensor<16x8xf32>) {
  // expected-error @below {{'tile.gemm' op K is 32 in the left operand, but 16 in the right operand}}
  %d = tile.gemm %a, %b, %c : memref<16x32xf16, #gpu.address_space<workgroup>>, tensor<16x8xf16> -> tensor<16x8xf32>
  return
}

// -----

func.func @f(%a: memref<16x32xf16, #gpu.address_space<workgroup>>, %b: memref<32x8xf16, #gpu.address_space<workgroup>>, %c: tensor<16x8xf32>) {
  // expected-error @below {{'tile.gemm' op K is 32 in the left operand, but 8 in the right operand}}
  %d = tile.gemm %a, %b, %c {transpose_rhs} : memref<16x32xf16, #gpu.address_space<workgroup>>, memref<32x8xf16, #gpu.address_space<workgroup>> -> tensor<16x8xf32>
  return
}

// -----

func.func @f(%a: memref<16x32xf16, #gpu.address_space<workgroup>>, %b: memref<32x8xf16, #gpu.address_space<workgroup>>, %c: tensor<8x8xf32>) {
  // expected-error @below {{'tile.gemm' op M is 16 in the left operand, but 8 in the accumulator}}
  %d = tile.gemm %a, %b, %c : memref<16x32xf16, #gpu.address_space<workgroup>>, memref<32x8xf16, #gpu.address_space<workgroup>> -> tensor<8x8xf32>
  return
}

// -----

func.func @f(%a: memref<16x32xf16, #gpu.address_space<workgroup>>, %b: memref<32x8xf16, #gpu.address_space<workgroup>>, %c: tensor<16x16xf32>) {
  // expected-error @below {{'tile.gemm' op N is 8 in the right operand, but 16 in the accumulator}}
  %d = tile.gemm %a, %b, %c : memref<16x32xf16, #gpu.address_space<workgroup>>, memref<32x8xf16, #gpu.address_space<workgroup>> -> tensor<16x16xf32>
  return
}

// -----

func.func @f(%a: memref<16x32xf16, #gpu.address_space<workgroup>>, %b: tensor<32x8xbf16>, %c: tensor<16x8xf32>) {
  // expected-error @below {{'tile.gemm' op operands have element types 'f16' and 'bf16', expected the same, or two fp8 types of one family}}
  %d = tile.gemm %a, %b, %c : memref<16x32xf16, #gpu.address_space<workgroup>>, tensor<32x8xbf16> -> tensor<16x8xf32>
  return
}

// -----

func.func @f(%a: tensor<16x32xf8E4M3FN>, %b: tensor<32x8xf8E4M3FNUZ>, %c: tensor<16x8xf32>) {
  // expected-error @below {{'tile.gemm' op operands have element types 'f8E4M3FN' and 'f8E4M3FNUZ', expected the same, or two fp8 types of one family}}
  %d = tile.gemm %a, %b, %c : tensor<16x32xf8E4M3FN>, tensor<32x8xf8E4M3FNUZ> -> tensor<16x8xf32>
  return
}

// -----

func.func @f(%a: memref<16x32xf16, #gpu.address_space<workgroup>>, %b: memref<32x8xf16, #gpu.address_space<workgroup>>, %c: tensor<16x8xf64>) {
  // expected-error @below {{'tile.gemm' op cannot accumulate 'f16' operands in 'f64', expected f32}}
  %d = tile.gemm %a, %b, %c : memref<16x32xf16, #gpu.address_space<workgroup>>, memref<32x8xf16, #gpu.address_space<workgroup>> -> tensor<16x8xf64>
  return
}

// -----

func.func @f(%a: tensor<16x32xi8>, %b: tensor<32x8xi8>, %c: tensor<16x8xf32>) {
  // expected-error @below {{'tile.gemm' op cannot accumulate 'i8' operands in 'f32', expected i32}}
  %d = tile.gemm %a, %b, %c : tensor<16x32xi8>, tensor<32x8xi8> -> tensor<16x8xf32>
  return
}

// -----

func.func @f(%a: tensor<16x32xf64>, %b: tensor<32x8xf64>, %c: tensor<16x8xf32>) {
  // expected-error @below {{'tile.gemm' op cannot accumulate 'f64' operands in 'f32', expected f64}}
  %d = tile.gemm %a, %b, %c : tensor<16x32xf64>, tensor<32x8xf64> -> tensor<16x8xf32>
  return
}

// -----

func.func @f(%a: tensor<16x32xi1>, %b: tensor<32x8xi1>, %c: tensor<16x8xi32>) {
  // expected-error @below {{'tile.gemm' op cannot multiply 'i1', expected i4, i8, i16, i32 or a floating point type}}
  %d = tile.gemm %a, %b, %c : tensor<16x32xi1>, tensor<32x8xi1> -> tensor<16x8xi32>
  return
}

// -----

func.func @f(%a: tensor<16x32xindex>, %b: tensor<32x8xindex>, %c: tensor<16x8xf32>) {
  // expected-error @below {{'tile.gemm' op cannot multiply 'index', expected i4, i8, i16, i32 or a floating point type}}
  %d = tile.gemm %a, %b, %c : tensor<16x32xindex>, tensor<32x8xindex> -> tensor<16x8xf32>
  return
}

// -----

func.func @f(%a: memref<16x32xf16, #gpu.address_space<workgroup>>, %b: memref<32x8xf16, #gpu.address_space<workgroup>>, %c: tensor<?x8xf32>) {
  // expected-error @below {{'tile.gemm' op operand #2 must be fragment (a tensor with a static shape of 1 to 524288 elements, of type i1, i4, i8, i16, i32, i64, index, f16, bf16, f32, f64, fp8, fp6, fp4 or f8E8M0FNU, and no encoding but #tile.fragment), but got 'tensor<?x8xf32>'}}
  %d = tile.gemm %a, %b, %c : memref<16x32xf16, #gpu.address_space<workgroup>>, memref<32x8xf16, #gpu.address_space<workgroup>> -> tensor<?x8xf32>
  return
}

// -----

func.func @f(%a: memref<16x32xf16, #gpu.address_space<workgroup>>, %b: memref<32x8xf16, #gpu.address_space<workgroup>>, %c: tensor<16x8xf32>) {
  // expected-error @below {{'tile.gemm' op inferred type(s) 'tensor<16x8xf32>' are incompatible with return type(s) of operation 'tensor<16x16xf32>'}}
  // expected-error @below {{'tile.gemm' op failed to infer returned types}}
  %d = "tile.gemm"(%a, %b, %c) : (memref<16x32xf16, #gpu.address_space<workgroup>>, memref<32x8xf16, #gpu.address_space<workgroup>>, tensor<16x8xf32>) -> tensor<16x16xf32>
  return
}

// -----

func.func @f(%a: tensor<16x32xf16>, %e: tensor<16x4xf16>, %b: tensor<64x8xf16>, %c: tensor<16x8xf32>) {
  // expected-error @below {{'tile.gemm_sp' op metadata has to be i8, i16 or i32, found 'f16'}}
  %d = tile.gemm_sp %a, %e, %b, %c : tensor<16x32xf16>, tensor<16x4xf16>, tensor<64x8xf16> -> tensor<16x8xf32>
  return
}

// -----

func.func @f(%a: tensor<16x32xf16>, %e: tensor<16x4xi16>, %b: tensor<32x8xf16>, %c: tensor<16x8xf32>) {
  // expected-error @below {{'tile.gemm_sp' op K is 64 in the left operand (dense), but 32 in the right operand}}
  %d = tile.gemm_sp %a, %e, %b, %c : tensor<16x32xf16>, tensor<16x4xi16>, tensor<32x8xf16> -> tensor<16x8xf32>
  return
}

// -----

func.func @f(%a: tensor<16x32xf16>, %e: tensor<16x8xi16>, %b: tensor<64x8xf16>, %c: tensor<16x8xf32>) {
  // expected-error @below {{'tile.gemm_sp' op K is 64 in the left operand (dense), but 128 in the metadata}}
  %d = tile.gemm_sp %a, %e, %b, %c : tensor<16x32xf16>, tensor<16x8xi16>, tensor<64x8xf16> -> tensor<16x8xf32>
  return
}

// -----

func.func @f(%a: tensor<16x32xf16>, %e: tensor<8x4xi16>, %b: tensor<64x8xf16>, %c: tensor<16x8xf32>) {
  // expected-error @below {{'tile.gemm_sp' op M is 16 in the left operand, but 8 in the metadata}}
  %d = tile.gemm_sp %a, %e, %b, %c : tensor<16x32xf16>, tensor<8x4xi16>, tensor<64x8xf16> -> tensor<16x8xf32>
  return
}

// -----

func.func @f(%a: tensor<16x32xf16>, %e: tensor<16x4xi16>, %b: tensor<64x8xf16>, %c: tensor<8x8xf32>) {
  // expected-error @below {{'tile.gemm_sp' op M is 16 in the left operand, but 8 in the accumulator}}
  %d = tile.gemm_sp %a, %e, %b, %c : tensor<16x32xf16>, tensor<16x4xi16>, tensor<64x8xf16> -> tensor<8x8xf32>
  return
}

// -----

func.func @f(%a: tensor<16x32xf16>, %e: tensor<16x4xi16>, %b: tensor<64x8xf16>, %c: tensor<16x16xf32>) {
  // expected-error @below {{'tile.gemm_sp' op N is 8 in the right operand, but 16 in the accumulator}}
  %d = tile.gemm_sp %a, %e, %b, %c : tensor<16x32xf16>, tensor<16x4xi16>, tensor<64x8xf16> -> tensor<16x16xf32>
  return
}

// -----

func.func @f(%a: tensor<16x32xf16>, %e: tensor<4xi16>, %b: tensor<64x8xf16>, %c: tensor<16x8xf32>) {
  // expected-error @below {{'tile.gemm_sp' op metadata has to be a matrix with a static shape, found 'tensor<4xi16>'}}
  %d = tile.gemm_sp %a, %e, %b, %c : tensor<16x32xf16>, tensor<4xi16>, tensor<64x8xf16> -> tensor<16x8xf32>
  return
}

// -----

func.func @f(%a: tensor<16x32xf16>, %e: memref<16x4xi16>, %b: tensor<64x8xf16>, %c: tensor<16x8xf32>) {
  // expected-error @below {{'tile.gemm_sp' op metadata has to be in shared memory or a fragment, found 'memref<16x4xi16>'; copy it there first}}
  %d = tile.gemm_sp %a, %e, %b, %c : tensor<16x32xf16>, memref<16x4xi16>, tensor<64x8xf16> -> tensor<16x8xf32>
  return
}

// -----

func.func @f(%a: tensor<16x32xf16>, %e: tensor<16x4xi16>, %b: tensor<64x8xf16>, %c: tensor<16x8xi32>) {
  // expected-error @below {{'tile.gemm_sp' op cannot accumulate 'f16' operands in 'i32', expected f32}}
  %d = tile.gemm_sp %a, %e, %b, %c : tensor<16x32xf16>, tensor<16x4xi16>, tensor<64x8xf16> -> tensor<16x8xi32>
  return
}

// -----

func.func @f(%a: tensor<16x32xf16>, %b: tensor<32x8xf16>, %c: tensor<16x8xf32>) -> tensor<16x8xf32> {
  // expected-error @below {{'tile.gemm' op is asynchronous: expected its result to be an accumulator of another asynchronous matmul or to be finished by tile.gemm_wait}}
  %d = tile.gemm %a, %b, %c {async} : tensor<16x32xf16>, tensor<32x8xf16> -> tensor<16x8xf32>
  // expected-note @below {{used by 'arith.addf' before it is finished}}
  %e = arith.addf %d, %c : tensor<16x8xf32>
  return %e : tensor<16x8xf32>
}

// -----

func.func @f(%a: tensor<16x32xf16>, %b: tensor<32x8xf16>, %c: tensor<16x8xf32>, %n: index) -> tensor<16x8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%d = %c) -> (tensor<16x8xf32>) {
    // expected-error @below {{'tile.gemm' op is asynchronous}}
    %e = tile.gemm %a, %b, %d {async} : tensor<16x32xf16>, tensor<32x8xf16> -> tensor<16x8xf32>
    scf.yield %e : tensor<16x8xf32>
  }
  // expected-note @below {{used by 'tile.gemm' before it is finished}}
  %s = tile.gemm %a, %b, %r : tensor<16x32xf16>, tensor<32x8xf16> -> tensor<16x8xf32>
  return %s : tensor<16x8xf32>
}

// -----

func.func @f(%a: tensor<16x32xf16>) {
  // expected-error @below {{attribute 'pending' failed to satisfy constraint}}
  %b = tile.gemm_wait %a {pending = -1 : i64} : tensor<16x32xf16>
  return
}

// -----

func.func @f(%a: tensor<16x32xf16>, %e: tensor<16x4xi16>, %b: tensor<64x8xf16>, %c: tensor<16x8xf32>) -> tensor<16x8xf32> {
  // expected-error @below {{'tile.gemm_sp' op is asynchronous: expected its result to be an accumulator of another asynchronous matmul or to be finished by tile.gemm_wait}}
  %d = tile.gemm_sp %a, %e, %b, %c {async} : tensor<16x32xf16>, tensor<16x4xi16>, tensor<64x8xf16> -> tensor<16x8xf32>
  // expected-note @below {{used by 'arith.addf' before it is finished}}
  %f = arith.addf %d, %c : tensor<16x8xf32>
  return %f : tensor<16x8xf32>
}

// -----

func.func @f(%a: tensor<16x32xi8>, %b: tensor<8x32xi8>, %c: tensor<16x8xf32>) {
  // expected-error @below {{'tile.gemm' op lhs_type is 'i4', expected f4E2M1FN, f6E2M3FN or f6E3M2FN}}
  %d = tile.gemm %a, %b, %c {transpose_rhs, lhs_type = i4} : tensor<16x32xi8>, tensor<8x32xi8> -> tensor<16x8xf32>
  return
}

// -----

func.func @f(%a: tensor<16x32xf16>, %b: tensor<8x32xi8>, %c: tensor<16x8xf32>) {
  // expected-error @below {{'tile.gemm' op lhs operand has elements of 'f16', expected i8 in which 'f4E2M1FN' are packed}}
  %d = tile.gemm %a, %b, %c {transpose_rhs, lhs_type = f4E2M1FN} : tensor<16x32xf16>, tensor<8x32xi8> -> tensor<16x8xf32>
  return
}

// -----

func.func @f(%a: tensor<16x32xi8>, %b: tensor<64x8xi8>, %c: tensor<16x8xf32>) {
  // expected-error @below {{'tile.gemm' op rhs operand is packed along K, expected transpose_rhs}}
  %d = tile.gemm %a, %b, %c {lhs_type = f4E2M1FN, rhs_type = f4E2M1FN} : tensor<16x32xi8>, tensor<64x8xi8> -> tensor<16x8xf32>
  return
}

// -----

func.func @f(%a: tensor<32x16xi8>, %b: tensor<64x8xf8E5M2>, %c: tensor<16x8xf32>) {
  // expected-error @below {{'tile.gemm' op lhs operand is packed along K, expected no transpose_lhs}}
  %d = tile.gemm %a, %b, %c {transpose_lhs, lhs_type = f4E2M1FN} : tensor<32x16xi8>, tensor<64x8xf8E5M2> -> tensor<16x8xf32>
  return
}

// -----

func.func @f(%a: tensor<16x32xi8>, %b: tensor<42x8xf8E5M2>, %c: tensor<16x8xf32>) {
  // expected-error @below {{'tile.gemm' op lhs operand has rows of 32 bytes, expected whole elements of 'f6E2M3FN'}}
  %d = tile.gemm %a, %b, %c {lhs_type = f6E2M3FN} : tensor<16x32xi8>, tensor<42x8xf8E5M2> -> tensor<16x8xf32>
  return
}

// -----

func.func @f(%a: tensor<16x32xf4E2M1FN>, %b: tensor<32x8xf4E2M1FN>, %c: tensor<16x8xf32>) {
  // expected-error @below {{'tile.gemm' op lhs operand has elements of 'f4E2M1FN', expected i8 in which they are packed, and lhs_type}}
  %d = tile.gemm %a, %b, %c : tensor<16x32xf4E2M1FN>, tensor<32x8xf4E2M1FN> -> tensor<16x8xf32>
  return
}

// -----

func.func @f(%a: tensor<16x64xf8E4M3FN>, %b: tensor<64x8xf8E5M2>, %c: tensor<16x8xf32>, %s: tensor<16x2xf8E8M0FNU>) {
  // expected-error @below {{'tile.gemm' op has 1 scales, expected one for each operand}}
  %d = tile.gemm %a, %b, %c scaled (%s : tensor<16x2xf8E8M0FNU>) : tensor<16x64xf8E4M3FN>, tensor<64x8xf8E5M2> -> tensor<16x8xf32>
  return
}

// -----

func.func @f(%a: tensor<16x64xf16>, %b: tensor<64x8xf16>, %c: tensor<16x8xf32>, %s: tensor<16x2xf8E8M0FNU>, %t: tensor<2x8xf8E8M0FNU>) {
  // expected-error @below {{'tile.gemm' op scales elements of 'f16', expected fp8 of OCP, fp6 or fp4}}
  %d = tile.gemm %a, %b, %c scaled (%s, %t : tensor<16x2xf8E8M0FNU>, tensor<2x8xf8E8M0FNU>) : tensor<16x64xf16>, tensor<64x8xf16> -> tensor<16x8xf32>
  return
}

// -----

func.func @f(%a: tensor<16x64xf8E4M3FN>, %b: tensor<64x8xf8E5M2>, %c: tensor<16x8xf32>, %s: tensor<16x2xf32>, %t: tensor<2x8xf8E8M0FNU>) {
  // expected-error @below {{'tile.gemm' op scale of the left operand has elements of 'f32', expected f8E8M0FNU}}
  %d = tile.gemm %a, %b, %c scaled (%s, %t : tensor<16x2xf32>, tensor<2x8xf8E8M0FNU>) : tensor<16x64xf8E4M3FN>, tensor<64x8xf8E5M2> -> tensor<16x8xf32>
  return
}

// -----

func.func @f(%a: tensor<16x64xf8E4M3FN>, %b: tensor<64x8xf8E5M2>, %c: tensor<16x8xf32>, %s: tensor<16x2xf8E8M0FNU>, %t: tensor<8x2xf8E8M0FNU>) {
  // expected-error @below {{'tile.gemm' op scale of the right operand has shape 'tensor<8x2xf8E8M0FNU>', expected 2x8: a factor for each 32 elements along K}}
  %d = tile.gemm %a, %b, %c scaled (%s, %t : tensor<16x2xf8E8M0FNU>, tensor<8x2xf8E8M0FNU>) : tensor<16x64xf8E4M3FN>, tensor<64x8xf8E5M2> -> tensor<16x8xf32>
  return
}

// -----

func.func @f(%a: tensor<16x16xf8E4M3FN>, %b: tensor<16x8xf8E5M2>, %c: tensor<16x8xf32>, %s: tensor<16x1xf8E8M0FNU>, %t: tensor<1x8xf8E8M0FNU>) {
  // expected-error @below {{'tile.gemm' op scale of the left operand has shape 'tensor<16x1xf8E8M0FNU>', expected K to be a multiple of 32, found 16}}
  %d = tile.gemm %a, %b, %c scaled (%s, %t : tensor<16x1xf8E8M0FNU>, tensor<1x8xf8E8M0FNU>) : tensor<16x16xf8E4M3FN>, tensor<16x8xf8E5M2> -> tensor<16x8xf32>
  return
}

// -----

func.func @f(%a: tensor<16x32xf8E4M3FN>, %b: tensor<32x8xf8E5M2>, %c: tensor<16x8xf32>, %s: tensor<16x1xf8E8M0FNU>, %t: tensor<1x8xf8E8M0FNU>) {
  // expected-error @below {{'tile.gemm' op is scaled and asynchronous, which no chip has}}
  %d = tile.gemm %a, %b, %c scaled (%s, %t : tensor<16x1xf8E8M0FNU>, tensor<1x8xf8E8M0FNU>) {async} : tensor<16x32xf8E4M3FN>, tensor<32x8xf8E5M2> -> tensor<16x8xf32>
  return
}
