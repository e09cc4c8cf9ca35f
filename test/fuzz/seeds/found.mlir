// Inputs that once crashed a pass.

gpu.module @unregistered [#nvvm.target<chip = "sm_90a">] {
  gpu.func @unregistered(%C: memref<64x64xf32>) kernel attributes {tile.threads = 128 : i32} {
    "test.end"() : () -> ()
    %t = tile.load %C : memref<64x64xf32> -> tensor<64x64xf32>
    %e = math.exp %t : tensor<64x64xf32>
    tile.store %e to %C : tensor<64x64xf32> to memref<64x64xf32>
    gpu.return
  }
}
