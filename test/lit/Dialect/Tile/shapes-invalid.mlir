// Reductions, scans and changes of shape: each rule of the verifiers with its message.
// RUN: tilews-opt %s --allow-unregistered-dialect --split-input-file --verify-diagnostics

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{axis 2 is out of range for rank 2}}
  %r = tile.reduce <sum> %x {axis = 2 : i64} : tensor<4x8xf32> -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<f32>) {
  // expected-error @below {{axis 0 is out of range for rank 0}}
  %r = tile.reduce <sum> %x {axis = 0 : i64} : tensor<f32> -> tensor<f32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{'tile.reduce' op inferred type(s) 'tensor<4xf32>' are incompatible with return type(s) of operation 'tensor<8xf32>'}}
  // expected-error @below {{'tile.reduce' op failed to infer returned types}}
  %r = tile.reduce <sum> %x {axis = 1 : i64} : tensor<4x8xf32> -> tensor<8xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{'tile.reduce' op attribute 'axis' failed to satisfy constraint: 64-bit signless integer attribute whose value is non-negative}}
  %r = tile.reduce <sum> %x {axis = -1 : i64} : tensor<4x8xf32> -> tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xi1>) {
  // expected-error @below {{'tile.reduce' op 'sum' takes integers or floating point numbers, found 'i1'}}
  %r = tile.reduce <sum> %x {axis = 0 : i64} : tensor<4xi1> -> tensor<i1>
  return
}

// -----

func.func @f(%x: tensor<4xindex>) {
  // expected-error @below {{'tile.reduce' op 'max' takes integers or floating point numbers, found 'index'}}
  %r = tile.reduce <max> %x {axis = 0 : i64} : tensor<4xindex> -> tensor<index>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{'tile.reduce' op 'and' takes integers, found 'f32'}}
  %r = tile.reduce <and> %x {axis = 0 : i64} : tensor<4xf32> -> tensor<f32>
  return
}

// -----

func.func @f(%x: tensor<4xi8>) {
  // expected-error @below {{'tile.reduce' op 'all' takes i1, found 'i8'}}
  %r = tile.reduce <all> %x {axis = 0 : i64} : tensor<4xi8> -> tensor<i8>
  return
}

// -----

func.func @f(%x: tensor<?xf32>) {
  // expected-error @below {{'tile.reduce' op operand #0 must be fragment (a tensor with a static shape of 1 to 524288 elements, of type i1, i4, i8, i16, i32, i64, index, f16, bf16, f32, f64, fp8, fp6, fp4 or f8E8M0FNU, and no encoding but #tile.fragment), but got 'tensor<?xf32>'}}
  %r = tile.reduce <sum> %x {axis = 0 : i64} : tensor<?xf32> -> tensor<f32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{'tile.scan' op axis 1 is out of range for rank 1}}
  %r = tile.scan <sum> %x {axis = 1 : i64} : tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{'tile.scan' op scans by 'sum', 'max', 'min', 'umax' or 'umin', found 'absmax'}}
  %r = tile.scan <absmax> %x {axis = 0 : i64} : tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xi1>) {
  // expected-error @below {{'tile.scan' op 'max' takes integers or floating point numbers, found 'i1'}}
  %r = tile.scan <max> %x {axis = 0 : i64} : tensor<4xi1>
  return
}

// -----

func.func @f(%x: tensor<4x1xf32>) {
  // expected-error @below {{'tile.broadcast' op source has element type 'f32', but the result has 'f16'}}
  %r = tile.broadcast %x : tensor<4x1xf32> -> tensor<4x8xf16>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{'tile.broadcast' op source has rank 1, but the result has 2; insert dimensions with tile.expand_dims}}
  %r = tile.broadcast %x : tensor<4xf32> -> tensor<4x8xf32>
  return
}

// -----

func.func @f(%x: tensor<4x2xf32>) {
  // expected-error @below {{'tile.broadcast' op cannot repeat dimension 1 of extent 2 to extent 8, only an extent of one repeats}}
  %r = tile.broadcast %x : tensor<4x2xf32> -> tensor<4x8xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{'tile.slice' op axis 2 is out of range for rank 2}}
  %r = tile.slice %x {axis = 2 : i64, index = 0 : i64} : tensor<4x8xf32> -> tensor<4x4xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{'tile.slice' op cannot cut dimension 1 of extent 8 into equal parts of extent 3}}
  %r = tile.slice %x {axis = 1 : i64, index = 0 : i64} : tensor<4x8xf32> -> tensor<4x3xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{'tile.slice' op expected an index below the 2 parts, found 2}}
  %r = tile.slice %x {axis = 1 : i64, index = 2 : i64} : tensor<4x8xf32> -> tensor<4x4xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{'tile.slice' op}}
  %r = tile.slice %x {axis = 1 : i64, index = 1 : i64} : tensor<4x8xf32> -> tensor<2x4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{'tile.expand_dims' op axis 2 is out of range for rank 2}}
  %r = tile.expand_dims %x {axis = 2 : i64} : tensor<4xf32> -> tensor<4x1xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{'tile.expand_dims' op inferred type(s) 'tensor<1x4xf32>' are incompatible with return type(s) of operation 'tensor<4x1xf32>'}}
  // expected-error @below {{'tile.expand_dims' op failed to infer returned types}}
  %r = tile.expand_dims %x {axis = 0 : i64} : tensor<4xf32> -> tensor<4x1xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{expected a permutation of the 2 dimensions}}
  // expected-error @below {{'tile.transpose' op failed to infer returned types}}
  %r = tile.transpose %x {permutation = array<i64: 1, 1>} : tensor<4x8xf32> -> tensor<8x4xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{expected a permutation of the 2 dimensions}}
  // expected-error @below {{'tile.transpose' op failed to infer returned types}}
  %r = tile.transpose %x {permutation = array<i64>} : tensor<4x8xf32> -> tensor<8x4xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{'tile.transpose' op inferred type(s) 'tensor<8x4xf32>' are incompatible with return type(s) of operation 'tensor<4x8xf32>'}}
  // expected-error @below {{'tile.transpose' op failed to infer returned types}}
  %r = tile.transpose %x {permutation = array<i64: 1, 0>} : tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{'tile.flip' op expected axes from 0 to 1, each once and in ascending order, found [2]}}
  %r = tile.flip %x {axes = array<i64: 2>} : tensor<4x8xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{'tile.flip' op expected axes from 0 to 1, each once and in ascending order, found [-1]}}
  %r = tile.flip %x {axes = array<i64: -1>} : tensor<4x8xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{'tile.flip' op expected axes from 0 to 1, each once and in ascending order, found [1, 0]}}
  %r = tile.flip %x {axes = array<i64: 1, 0>} : tensor<4x8xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{'tile.flip' op expected axes from 0 to 1, each once and in ascending order, found [0, 0]}}
  %r = tile.flip %x {axes = array<i64: 0, 0>} : tensor<4x8xf32>
  return
}

// -----

func.func @f(%x: tensor<f32>) {
  // expected-error @below {{'tile.flip' op expected no axes for a fragment without dimensions, found [0]}}
  %r = tile.flip %x {axes = array<i64: 0>} : tensor<f32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{'tile.flip' op requires attribute 'axes'}}
  %r = "tile.flip"(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{'tile.flip' op requires the same type for all operands and results}}
  %r = "tile.flip"(%x) {axes = array<i64: 0>} : (tensor<4x8xf32>) -> tensor<8x4xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{'tile.reshape' op source has element type 'f32', but the result has 'f16'}}
  %r = tile.reshape %x : tensor<4x8xf32> -> tensor<32xf16>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{'tile.reshape' op source has 32 elements, but the result has 31}}
  %r = tile.reshape %x : tensor<4x8xf32> -> tensor<31xf32>
  return
}

// -----

func.func @f(%x: tensor<1024x1024xf32>) {
  // expected-error @below {{'tile.reshape' op operand #0 must be fragment (a tensor with a static shape of 1 to 524288 elements, of type i1, i4, i8, i16, i32, i64, index, f16, bf16, f32, f64, fp8, fp6, fp4 or f8E8M0FNU, and no encoding but #tile.fragment), but got 'tensor<1024x1024xf32>'}}
  %r = tile.reshape %x : tensor<1024x1024xf32> -> tensor<1024x1024xf32>
  return
}

// -----

func.func @f(%x: tensor<4xcomplex<f32>>) {
  // expected-error @below {{'tile.reshape' op operand #0 must be fragment (a tensor with a static shape of 1 to 524288 elements, of type i1, i4, i8, i16, i32, i64, index, f16, bf16, f32, f64, fp8, fp6, fp4 or f8E8M0FNU, and no encoding but #tile.fragment), but got 'tensor<4xcomplex<f32>>'}}
  %r = tile.reshape %x : tensor<4xcomplex<f32>> -> tensor<4xcomplex<f32>>
  return
}

// -----

func.func @f(%x: tensor<4xf32, "csr">) {
  // expected-error @below {{'tile.reshape' op operand #0 must be fragment (a tensor with a static shape of 1 to 524288 elements, of type i1, i4, i8, i16, i32, i64, index, f16, bf16, f32, f64, fp8, fp6, fp4 or f8E8M0FNU, and no encoding but #tile.fragment), but got 'tensor<4xf32, "csr">'}}
  %r = tile.reshape %x : tensor<4xf32, "csr"> -> tensor<4xf32, "csr">
  return
}

// -----

func.func @f(%x: tensor<4xf32>) {
  // expected-error @below {{'tile.convert_layout' op converts between two #tile.fragment layouts, found 'tensor<4xf32>' and 'tensor<4xf32>'}}
  %r = tile.convert_layout %x : tensor<4xf32> to tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4xf32, #tile.fragment<thread = (32):(1*d0), value = ():()>>) {
  // expected-error @below {{'tile.convert_layout' op expected a result of type 'tensor<4xf32>', found 'tensor<8xf32, #tile.fragment<thread = (32):(1*d0), value = ():()>>'}}
  %r = tile.convert_layout %x : tensor<4xf32, #tile.fragment<thread = (32):(1*d0), value = ():()>> to tensor<8xf32, #tile.fragment<thread = (32):(1*d0), value = ():()>>
  return
}

// -----

func.func @f() {
  // expected-error @below {{'tile.iota' op axis 1 is out of range for rank 1}}
  %i = tile.iota {axis = 1 : i64} : tensor<4xi32>
  return
}

// -----

func.func @f() {
  // expected-error @below {{'tile.iota' op result #0 must be fragment of integers or indices, but got 'tensor<4xf32>'}}
  %i = tile.iota {axis = 0 : i64} : tensor<4xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xf32>) {
  // expected-error @below {{'tile.reduce' op 'umax' takes integers, found 'f32'}}
  %r = tile.reduce <umax> %x {axis = 0 : i64} : tensor<4x8xf32> -> tensor<8xf32>
  return
}

// -----

func.func @f(%x: tensor<4x8xi1>) {
  // expected-error @below {{'tile.bitcast' op reads elements of 4, 8, 16, 32 or 64 bits, found 'i1'}}
  %r = tile.bitcast %x : tensor<4x8xi1> to tensor<4x1xi8>
  return
}

// -----

func.func @f(%x: tensor<i32>) {
  // expected-error @below {{'tile.bitcast' op expected a source and a result of one rank, at least 1, found 'tensor<i32>' and 'tensor<4xi8>'}}
  %r = tile.bitcast %x : tensor<i32> to tensor<4xi8>
  return
}

// -----

func.func @f(%x: tensor<4x3xi8>) {
  // expected-error @below {{'tile.bitcast' op a line of the source has 24 bits, which are no whole number of 'i32'}}
  %r = tile.bitcast %x : tensor<4x3xi8> to tensor<4x1xi32>
  return
}

// -----

func.func @f(%x: tensor<4x8xi8>) {
  // expected-error @below {{'tile.bitcast' op expected a result of type 'tensor<4x16xi4>', found 'tensor<4x8xi4>'}}
  %r = tile.bitcast %x : tensor<4x8xi8> to tensor<4x8xi4>
  return
}
