// Control flow and debugging: each rule of the verifiers with its message.
// RUN: tilews-opt %s --allow-unregistered-dialect --split-input-file --verify-diagnostics

func.func @f() {
  // expected-error @below {{'tile.persistent' op expected 1 to 3 extents, found 0}}
  tile.persistent () in () {
  }
  return
}

// -----

func.func @f(%n: index) {
  // expected-error @below {{'tile.persistent' op expected 1 to 3 extents, found 4}}
  tile.persistent (%a, %b, %c, %d) in (%n, %n, %n, %n) {
  }
  return
}

// -----

func.func @f(%n: index) {
  // expected-error @below {{'tile.persistent' op body has 1 arguments, expected 2}}
  tile.persistent (%a) in (%n, %n) {
  }
  return
}

// -----

func.func @f(%n: index) {
  // expected-error @below {{'tile.persistent' op rasterizes two or three dimensions, found one extent}}
  tile.persistent (%a) in (%n) {
  } {rasterize = #tile.rasterize<row, panel = 4>}
  return
}

// -----

func.func @f(%n: index) {
  // expected-error @below {{'tile.persistent' op tile indices have to be of type index}}
  "tile.persistent"(%n) <{operandSegmentSizes = array<i32: 1, 0>}> ({
  ^bb0(%x: i32):
    tile.yield
  }) : (index) -> ()
  return
}

// -----

func.func @f(%n: index, %a: f32) {
  // expected-error @below {{'tile.persistent' op types of the initial values, the carried arguments and the results have to agree}}
  %r = "tile.persistent"(%n, %a) <{operandSegmentSizes = array<i32: 1, 1>}> ({
  ^bb0(%x: index, %s: f32):
    tile.yield %s : f32
  }) : (index, f32) -> f16
  return
}

// -----

func.func @f(%n: index, %a: f32) {
  // expected-error @below {{found 1 carried values and 2 types}}
  %r:2 = tile.persistent (%x) in (%n) iter_args(%s = %a) -> (f32, f32) {
    tile.yield %s : f32
  }
  return
}

// -----

func.func @f(%n: index, %a: f32) {
  // expected-error @below {{'tile.persistent' op along control flow edge from Operation tile.yield to Region #0: region branch point has 0 operands, but region successor needs 1 inputs}}
  %r = tile.persistent (%x) in (%n) iter_args(%s = %a) -> (f32) {
    // expected-note @below {{region branch point}}
    tile.yield
  }
  return
}

// -----

func.func @f(%n: index) {
  // expected-note @below {{in custom textual format, the absence of terminator implies 'tile.yield'}}
  // expected-error @below {{'tile.persistent' op expects regions to end with 'tile.yield', found 'test.end'}}
  "tile.persistent"(%n) <{operandSegmentSizes = array<i32: 1, 0>}> ({
  ^bb0(%x: index):
    "test.end"() : () -> ()
  }) : (index) -> ()
  return
}

// -----

func.func @f(%n: index) {
  // expected-error @below {{'tile.persistent' op expects a non-empty block}}
  "tile.persistent"(%n) <{operandSegmentSizes = array<i32: 1, 0>}> ({
  ^bb0(%x: index):
  }) : (index) -> ()
  return
}

// -----

func.func @f(%n: index) {
  // expected-error @below {{'tile.persistent' op region #0 ('body') failed to verify constraint: region with 1 blocks}}
  "tile.persistent"(%n) <{operandSegmentSizes = array<i32: 1, 0>}> ({
  }) : (index) -> ()
  return
}

// -----

func.func @f() {
  // expected-error @below {{'tile.yield' op expects parent op 'tile.persistent'}}
  tile.yield
}

// -----

func.func @f(%a: memref<4xf32>) {
  // expected-error @below {{'tile.print' op prints scalars and fragments, found 'memref<4xf32>'}}
  tile.print "buffer" %a : memref<4xf32>
  return
}

// -----

func.func @f(%a: i32) {
  // expected-error @below {{'tile.unsigned' expects array<i64: ...> of positions below 1, found array<i64: 1>}}
  tile.print "number" %a : i32 {tile.unsigned = array<i64: 1>}
  return
}

// -----

func.func @f(%a: index, %b: i32) {
  // expected-error @below {{'tile.block' expects no value, and three indices at the end of the operands, found unit and 'index', 'index', 'i32'}}
  tile.print "number" %a, %a, %b : index, index, i32 {tile.block}
  return
}

// -----

func.func @f(%a: index) {
  // expected-error @below {{'tile.unsigned' expects array<i64: ...> of positions below 0, found array<i64: 0>}}
  tile.print "" %a, %a, %a : index, index, index {tile.block, tile.unsigned = array<i64: 0>}
  return
}

// -----

func.func @f(%a: index, %ok: i1) {
  // expected-error @below {{'tile.assert' op expects three coordinates of its block, or none, found 1}}
  tile.assert %ok, "text" block(%a) : i1
  return
}

// -----

func.func @f(%a: i32) {
  // expected-error @below {{unknown attribute 'tile.unsigned'}}
  %b = arith.addi %a, %a {tile.unsigned = array<i64: 0>} : i32
  return
}

// -----

func.func @f(%a: tensor<4xi8>) {
  // expected-error @below {{'tile.assert' op operand #0 must be 1-bit signless integer or fragment of i1, but got 'tensor<4xi8>'}}
  tile.assert %a, "text" : tensor<4xi8>
  return
}
