// RUN: tilews-opt %s --split-input-file --verify-diagnostics

func.func @targets(%x: f32) {
  // expected-error @below {{expected templates for 'nvidia', 'amd' or a chip, found one for 'intel'}}
  %0 = tile.asm(%x) {intel = #tile.assembly<"", "=f,f">} pure : (f32) -> f32
  return
}

// -----

func.func @attribute(%x: f32) {
  // expected-error @below {{expected #tile.assembly for 'nvidia', found "ex2"}}
  %0 = tile.asm(%x) {nvidia = "ex2"} pure : (f32) -> f32
  return
}

// -----

func.func @nothing(%x: f32) {
  // expected-error @below {{expected a template, or a definition}}
  %0 = tile.asm(%x) {} pure : (f32) -> f32
  return
}

// -----

func.func @useless(%x: f32) {
  // expected-error @below {{is pure and has no results, so it does nothing}}
  tile.asm(%x) {nvidia = #tile.assembly<"", "f">} pure : (f32) -> ()
  return
}

// -----

func.func @type(%x: i8) {
  // expected-error @below {{operand #0 must be variadic of scalar or fragment of i16, i32, i64, f16, bf16, f32 or f64, but got 'i8'}}
  %0 = tile.asm(%x) {nvidia = #tile.assembly<"", "=r,r">} pure : (i8) -> i32
  return
}

// -----

func.func @shapes(%x: tensor<8xf32>, %y: tensor<16xf32>) {
  // expected-error @below {{all non-scalar operands/results must have the same shape and base type}}
  %0 = tile.asm(%x, %y) {nvidia = #tile.assembly<"", "=f,f,f">} pure : (tensor<8xf32>, tensor<16xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @count(%x: f32) {
  // expected-error @below {{template for 'amd': expected constraints of 1 results ('=...') and 1 inputs, found 1 and 2 in '=v,v,v'}}
  %0 = tile.asm(%x) {amd = #tile.assembly<"v_exp_f32 $0, $1", "=v,v,v">} pure : (f32) -> f32
  return
}

// -----

func.func @order(%x: f32) {
  // expected-error @below {{template for 'amd': constraints list results first, then inputs, then clobbers, found 'v,=v'}}
  %0 = tile.asm(%x) {amd = #tile.assembly<"v_exp_f32 $0, $1", "v,=v">} pure : (f32) -> f32
  return
}

// -----

func.func @register(%x: f32) {
  // expected-error @below {{template for 'nvidia': no register '=v' for 'f32'; expected 'h' for 16 bits, 'r' or 'f' for 32, 'l' or 'd' for 64}}
  %0 = tile.asm(%x) {nvidia = #tile.assembly<"ex2 $0, $1;", "=v,f">} pure : (f32) -> f32
  return
}

// -----

func.func @width(%x: f64) {
  // expected-error @below {{template for 'nvidia': no register 'f' for 'f64'}}
  %0 = tile.asm(%x) {nvidia = #tile.assembly<"neg.f64 $0, $1;", "=d,f">} pure : (f64) -> f64
  return
}

// -----

func.func @tie(%x: f64) {
  // expected-error @below {{template for 'nvidia': an input of 'f64' shares the register of a result of 'f32'}}
  %0 = tile.asm(%x) {nvidia = #tile.assembly<"", "=f,0">} pure : (f64) -> f32
  return
}

// -----

func.func @tied_input(%x: f32) {
  // expected-error @below {{template for 'nvidia': constraint '1' names result 1, but there are 1}}
  %0 = tile.asm(%x) {nvidia = #tile.assembly<"", "=f,1">} pure : (f32) -> f32
  return
}

// -----

func.func @clobber(%x: f32) {
  // expected-error @below {{template for 'amd': a clobber is '~{register}', found '~vcc'}}
  %0 = tile.asm(%x) {amd = #tile.assembly<"", "=v,v,~vcc">} pure : (f32) -> f32
  return
}

// -----

func.func @placeholder(%x: f32) {
  // expected-error @below {{template for 'amd': found '$2', but there are 2 results and inputs}}
  %0 = tile.asm(%x) {amd = #tile.assembly<"v_add_f32 $0, $1, $2", "=v,v">} pure : (f32) -> f32
  return
}

// -----

func.func @dollar(%x: f32) {
  // expected-error @below {{template for 'amd': '$' begins the number of an operand ('$0'); write '$$' for a dollar sign}}
  %0 = tile.asm(%x) {amd = #tile.assembly<"v_add_f32 $$ ${0:x}", "=v,v">} pure : (f32) -> f32
  return
}

// -----

gpu.module @m {
  func.func @user(%x: f32) {
    // expected-error @below {{is defined by @missing, expected a func.func of one block in the same module}}
    %0 = tile.asm(%x) {} pure defined_by @missing : (f32) -> f32
    return
  }
}

// -----

gpu.module @m {
  func.func private @negate(%x: f64) -> f64 {
    %y = arith.negf %x : f64
    return %y : f64
  }
  func.func @user(%x: tensor<8xf32>) {
    // expected-error @below {{expected a definition of type '(f32) -> f32', found '(f64) -> f64'}}
    %0 = tile.asm(%x) {} pure defined_by @negate : (tensor<8xf32>) -> tensor<8xf32>
    return
  }
}

// -----

gpu.module @m {
  func.func private @branch(%x: f32) -> f32 {
    %true = arith.constant true
    // expected-note @below {{found 'scf.if'}}
    %y = scf.if %true -> f32 {
      scf.yield %x : f32
    } else {
      scf.yield %x : f32
    }
    return %y : f32
  }
  func.func @user(%x: f32) {
    // expected-error @below {{is defined by @branch, which may only compute with scalars, element by element}}
    %0 = tile.asm(%x) {} pure defined_by @branch : (f32) -> f32
    return
  }
}
