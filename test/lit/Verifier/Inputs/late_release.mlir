// A slot is released one iteration late, by a cursor that the loop carries.

!buffer = memref<2x64xf32, #gpu.address_space<workgroup>>
!slot = memref<64xf32, #gpu.address_space<workgroup>>
gpu.module @m [#nvvm.target<chip = "sm_90a">] {
  gpu.func @late_release(%a: memref<?x64xf32> {tile.name = "a"}, %out: memref<64xf32>, %n: index {tile.name = "n"})
      kernel attributes {tile.threads = 64 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %true = arith.constant true
    %false = arith.constant false
    %buffer = tile.alloc_shared : !buffer
    %ch = tile.channel(%buffer) {producer = #tile.producer<simt>} : !buffer -> !tile.channel<2>
    tile.specialize {
      tile.role @math warps(1) {
        %q0 = tile.cursor : !tile.cursor<2>
        %zero = arith.constant dense<0.0> : tensor<64xf32>
        %sum, %last, %prev, %any = scf.for %i = %c0 to %n step %c1 iter_args(%s = %zero, %q = %q0, %p = %q0, %has = %false) -> (tensor<64xf32>, !tile.cursor<2>, !tile.cursor<2>, i1) {
          tile.wait %ch[%q] : !tile.channel<2>
          %slot = tile.slot %buffer[%q] : !buffer -> !slot
          %row = tile.load %slot : !slot -> tensor<64xf32>
          %r = arith.addf %s, %row : tensor<64xf32>
          scf.if %has {
            tile.release %ch[%p] : !tile.channel<2>
          }
          %next = tile.advance %q : !tile.cursor<2>
          scf.yield %r, %next, %q, %true : tensor<64xf32>, !tile.cursor<2>, !tile.cursor<2>, i1
        }
        scf.if %any {
          tile.release %ch[%prev] : !tile.channel<2>
        }
        tile.store %sum to %out : tensor<64xf32> to memref<64xf32>
      }
      tile.role @load warps(1) {
        %p0 = tile.cursor : !tile.cursor<2>
        %last = scf.for %i = %c0 to %n step %c1 iter_args(%p = %p0) -> !tile.cursor<2> {
          tile.acquire %ch[%p] : !tile.channel<2>
          %slot = tile.slot %buffer[%p] : !buffer -> !slot
          tile.copy %a[%i, 0] [1, 64] to %slot : memref<?x64xf32> to !slot
          tile.commit %ch[%p] : !tile.channel<2>
          %next = tile.advance %p : !tile.cursor<2>
          scf.yield %next : !tile.cursor<2>
        }
      }
    }
    gpu.return
  }
}
