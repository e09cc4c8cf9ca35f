// RUN: tilews-opt %s --split-input-file --tile-ping-pong --verify-diagnostics

gpu.module @m {
  gpu.func @on_an_operation() kernel {
    // expected-error @below {{'tile.ping_pong' belongs on a tile.persistent or an scf.for}}
    %c0 = arith.constant {tile.ping_pong} 0 : index
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @with_a_value(%n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    // expected-error @below {{'tile.ping_pong' has no value, found 2 : i32}}
    scf.for %i = %c0 to %n step %c1 {
    } {tile.ping_pong = 2 : i32}
    gpu.return
  }
}
