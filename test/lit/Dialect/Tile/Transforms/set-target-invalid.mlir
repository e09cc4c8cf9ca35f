// RUN: tilews-opt %s --split-input-file --verify-diagnostics \
// RUN:   --pass-pipeline='builtin.module(gpu.module(tile-set-target{chip=gfx942}))'

// Upstream's canonicalization takes this loop for one without an iteration.

gpu.module @kernels {
  gpu.func @from_the_smallest_index() kernel {
    %lower = arith.constant -9223372036854775808 : index
    %upper = arith.constant 3 : index
    %step = arith.constant 4611686018427387904 : index
    // expected-error @below {{loop from -9223372036854775808 to 3: expected bounds whose difference is less than 2^63; count the iterations from 0, and compute the number from that}}
    scf.for %i = %lower to %upper step %step {
    }
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @narrow() kernel {
    %lower = arith.constant -2147483648 : i32
    %upper = arith.constant 2147483647 : i32
    %step = arith.constant 1073741824 : i32
    // expected-error @below {{loop from -2147483648 to 2147483647: expected bounds whose difference is less than 2^31}}
    scf.for %i = %lower to %upper step %step : i32 {
    }
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @near() kernel {
    %least = arith.constant -9223372036854775808 : index
    %lower = arith.constant -4611686018427387904 : index
    %upper = arith.constant 4611686018427387903 : index
    %step = arith.constant 1 : index
    scf.for %i = %lower to %upper step %step {
    }
    scf.for %i = %upper to %least step %step {
    }
    gpu.return
  }
}
