// RUN: tilews-opt %s --split-input-file --pass-pipeline='builtin.module(gpu.module(tile-verify-schedule{report}))' --verify-diagnostics=only-expected
// RUN: not tilews-opt %s --split-input-file --pass-pipeline='builtin.module(gpu.module(tile-lower-channels,tile-verify-schedule{report}))' -o /dev/null 2>&1 | FileCheck %s

// The same faults are found when channels have become barriers.
// CHECK: remark: tile-verify-0002: schedule of @turns_right is proved: 4 channels
// CHECK: error: schedule of @no_order is wrong
// CHECK: error: schedule of @early_order is wrong
// CHECK: error: schedule of @skips_one is wrong
// CHECK: error: schedule of @reads_all is wrong
// CHECK: error: schedule of @releases_all is wrong
// CHECK: error: schedule of @never_answers is wrong
// CHECK: error: schedule of @read_by_both is wrong

// Right, for those that follow.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
!turns = !tile.channel<1>
!turn = !tile.cursor<1>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  // expected-remark @below {{tile-verify-0002: schedule of @turns_right is proved: 2 channels}}
  gpu.func @turns_right(%A: memref<?xf32>, %C: memref<16xf32>, %tiles: index, %n: index) kernel attributes {tile.threads = 288 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %true = arith.constant true
    %false = arith.constant false
    %as = tile.alloc_shared : !buffer
    %ch = tile.channel(%as) {alternating, producer = #tile.producer<tma>} : !buffer -> !channel
    %or = tile.channel() {producer = #tile.producer<simt>} -> !turns
    tile.specialize {
      tile.role @math0 warps(4) {
        %q0 = tile.cursor : !cursor
        %o0 = tile.cursor : !turn
        %r:3 = scf.for %t = %c0 to %tiles step %c1 iter_args(%q = %q0, %o = %o0, %mine = %true) -> (!cursor, !turn, i1) {
          %s:2 = scf.if %mine -> (!cursor, !turn) {
            tile.acquire %or[%o] : !turns
            %l = scf.for %k = %c0 to %n step %c1 iter_args(%p = %q) -> !cursor {
              tile.wait %ch[%p] : !channel
              %a = tile.slot %as[%p] : !buffer -> !slot
              %x = tile.load %a : !slot -> !tile
              tile.release %ch[%p] : !channel
              %pn = tile.advance %p : !cursor
              tile.atomic_rmw <add> %x to %C : !tile to memref<16xf32>
              scf.yield %pn : !cursor
            }
            tile.commit %or[%o] : !turns
            %on = tile.advance %o : !turn
            scf.yield %l, %on : !cursor, !turn
          } else {
            %l = scf.for %k = %c0 to %n step %c1 iter_args(%p = %q) -> !cursor {
              %pn = tile.advance %p : !cursor
              scf.yield %pn : !cursor
            }
            scf.yield %l, %o : !cursor, !turn
          }
          %other = arith.xori %mine, %true : i1
          scf.yield %s#0, %s#1, %other : !cursor, !turn, i1
        }
      }
      tile.role @math1 warps(4) {
        %q0 = tile.cursor : !cursor
        %o0 = tile.cursor : !turn
        %r:3 = scf.for %t = %c0 to %tiles step %c1 iter_args(%q = %q0, %o = %o0, %mine = %false) -> (!cursor, !turn, i1) {
          %s:2 = scf.if %mine -> (!cursor, !turn) {
            tile.wait %or[%o] : !turns
            %l = scf.for %k = %c0 to %n step %c1 iter_args(%p = %q) -> !cursor {
              tile.wait %ch[%p] : !channel
              %a = tile.slot %as[%p] : !buffer -> !slot
              %x = tile.load %a : !slot -> !tile
              tile.release %ch[%p] : !channel
              %pn = tile.advance %p : !cursor
              tile.atomic_rmw <add> %x to %C : !tile to memref<16xf32>
              scf.yield %pn : !cursor
            }
            tile.release %or[%o] : !turns
            %on = tile.advance %o : !turn
            scf.yield %l, %on : !cursor, !turn
          } else {
            %l = scf.for %k = %c0 to %n step %c1 iter_args(%p = %q) -> !cursor {
              %pn = tile.advance %p : !cursor
              scf.yield %pn : !cursor
            }
            scf.yield %l, %o : !cursor, !turn
          }
          %other = arith.xori %mine, %true : i1
          scf.yield %s#0, %s#1, %other : !cursor, !turn, i1
        }
        scf.if %r#2 {
          tile.wait %or[%r#1] : !turns
          tile.release %or[%r#1] : !turns
        }
      }
      tile.role @load warps(1) {
        %p0 = tile.cursor : !cursor
        %s = scf.for %t = %c0 to %tiles step %c1 iter_args(%p = %p0) -> !cursor {
          %l = scf.for %k = %c0 to %n step %c1 iter_args(%q = %p) -> !cursor {
            tile.acquire %ch[%q] : !channel
            %a = tile.slot %as[%q] : !buffer -> !slot
            tile.copy %A[%k] to %a {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot
            tile.commit %ch[%q] : !channel
            %qn = tile.advance %q : !cursor
            scf.yield %qn : !cursor
          }
          scf.yield %l : !cursor
        }
      }
    }
    gpu.return
  }
}

// -----

// Wrong: nothing orders the roles.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
!turns = !tile.channel<1>
!turn = !tile.cursor<1>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @no_order(%A: memref<?xf32>, %C: memref<16xf32>, %tiles: index, %n: index) kernel attributes {tile.threads = 288 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %true = arith.constant true
    %false = arith.constant false
    %as = tile.alloc_shared : !buffer
    %ch = tile.channel(%as) {alternating, producer = #tile.producer<tma>} : !buffer -> !channel
    %or = tile.channel() {producer = #tile.producer<simt>} -> !turns
    tile.specialize {
      tile.role @math0 warps(4) {
        %q0 = tile.cursor : !cursor
        %o0 = tile.cursor : !turn
        %r:3 = scf.for %t = %c0 to %tiles step %c1 iter_args(%q = %q0, %o = %o0, %mine = %true) -> (!cursor, !turn, i1) {
          %s:2 = scf.if %mine -> (!cursor, !turn) {
            %l = scf.for %k = %c0 to %n step %c1 iter_args(%p = %q) -> !cursor {
              tile.wait %ch[%p] : !channel
              %a = tile.slot %as[%p] : !buffer -> !slot
              %x = tile.load %a : !slot -> !tile
              tile.release %ch[%p] : !channel
              %pn = tile.advance %p : !cursor
              tile.atomic_rmw <add> %x to %C : !tile to memref<16xf32>
              scf.yield %pn : !cursor
            }
            %on = tile.advance %o : !turn
            scf.yield %l, %on : !cursor, !turn
          } else {
            %l = scf.for %k = %c0 to %n step %c1 iter_args(%p = %q) -> !cursor {
              %pn = tile.advance %p : !cursor
              scf.yield %pn : !cursor
            }
            scf.yield %l, %o : !cursor, !turn
          }
          %other = arith.xori %mine, %true : i1
          scf.yield %s#0, %s#1, %other : !cursor, !turn, i1
        }
      }
      tile.role @math1 warps(4) {
        %q0 = tile.cursor : !cursor
        %o0 = tile.cursor : !turn
        %r:3 = scf.for %t = %c0 to %tiles step %c1 iter_args(%q = %q0, %o = %o0, %mine = %false) -> (!cursor, !turn, i1) {
          %s:2 = scf.if %mine -> (!cursor, !turn) {
            %l = scf.for %k = %c0 to %n step %c1 iter_args(%p = %q) -> !cursor {
              // expected-error @below {{role @math1 waits for slot 0 in phase 1, but the next transaction of all who take turns is at slot 0 in phase 0}}
              tile.wait %ch[%p] : !channel
              %a = tile.slot %as[%p] : !buffer -> !slot
              %x = tile.load %a : !slot -> !tile
              tile.release %ch[%p] : !channel
              %pn = tile.advance %p : !cursor
              tile.atomic_rmw <add> %x to %C : !tile to memref<16xf32>
              scf.yield %pn : !cursor
            }
            %on = tile.advance %o : !turn
            scf.yield %l, %on : !cursor, !turn
          } else {
            %l = scf.for %k = %c0 to %n step %c1 iter_args(%p = %q) -> !cursor {
              %pn = tile.advance %p : !cursor
              scf.yield %pn : !cursor
            }
            scf.yield %l, %o : !cursor, !turn
          }
          %other = arith.xori %mine, %true : i1
          scf.yield %s#0, %s#1, %other : !cursor, !turn, i1
        }
      }
      tile.role @load warps(1) {
        %p0 = tile.cursor : !cursor
        %s = scf.for %t = %c0 to %tiles step %c1 iter_args(%p = %p0) -> !cursor {
          %l = scf.for %k = %c0 to %n step %c1 iter_args(%q = %p) -> !cursor {
            tile.acquire %ch[%q] : !channel
            %a = tile.slot %as[%q] : !buffer -> !slot
            tile.copy %A[%k] to %a {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot
            tile.commit %ch[%q] : !channel
            %qn = tile.advance %q : !cursor
            scf.yield %qn : !cursor
          }
          scf.yield %l : !cursor
        }
      }
    }
    gpu.return
  }
}

// -----

// Wrong: the turn is passed on before it was taken.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
!turns = !tile.channel<1>
!turn = !tile.cursor<1>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @early_order(%A: memref<?xf32>, %C: memref<16xf32>, %tiles: index, %n: index) kernel attributes {tile.threads = 288 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %true = arith.constant true
    %false = arith.constant false
    %as = tile.alloc_shared : !buffer
    %ch = tile.channel(%as) {alternating, producer = #tile.producer<tma>} : !buffer -> !channel
    %or = tile.channel() {producer = #tile.producer<simt>} -> !turns
    tile.specialize {
      tile.role @math0 warps(4) {
        %q0 = tile.cursor : !cursor
        %o0 = tile.cursor : !turn
        %r:3 = scf.for %t = %c0 to %tiles step %c1 iter_args(%q = %q0, %o = %o0, %mine = %true) -> (!cursor, !turn, i1) {
          %s:2 = scf.if %mine -> (!cursor, !turn) {
            tile.acquire %or[%o] : !turns
            tile.commit %or[%o] : !turns
            %l = scf.for %k = %c0 to %n step %c1 iter_args(%p = %q) -> !cursor {
              tile.wait %ch[%p] : !channel
              %a = tile.slot %as[%p] : !buffer -> !slot
              %x = tile.load %a : !slot -> !tile
              tile.release %ch[%p] : !channel
              %pn = tile.advance %p : !cursor
              tile.atomic_rmw <add> %x to %C : !tile to memref<16xf32>
              scf.yield %pn : !cursor
            }
            %on = tile.advance %o : !turn
            scf.yield %l, %on : !cursor, !turn
          } else {
            %l = scf.for %k = %c0 to %n step %c1 iter_args(%p = %q) -> !cursor {
              %pn = tile.advance %p : !cursor
              scf.yield %pn : !cursor
            }
            scf.yield %l, %o : !cursor, !turn
          }
          %other = arith.xori %mine, %true : i1
          scf.yield %s#0, %s#1, %other : !cursor, !turn, i1
        }
      }
      tile.role @math1 warps(4) {
        %q0 = tile.cursor : !cursor
        %o0 = tile.cursor : !turn
        %r:3 = scf.for %t = %c0 to %tiles step %c1 iter_args(%q = %q0, %o = %o0, %mine = %false) -> (!cursor, !turn, i1) {
          %s:2 = scf.if %mine -> (!cursor, !turn) {
            tile.wait %or[%o] : !turns
            %l = scf.for %k = %c0 to %n step %c1 iter_args(%p = %q) -> !cursor {
              // expected-error @below {{role @math1 waits for slot 0 in phase 1, but the next transaction of all who take turns is at slot 0 in phase 0}}
              tile.wait %ch[%p] : !channel
              %a = tile.slot %as[%p] : !buffer -> !slot
              %x = tile.load %a : !slot -> !tile
              tile.release %ch[%p] : !channel
              %pn = tile.advance %p : !cursor
              tile.atomic_rmw <add> %x to %C : !tile to memref<16xf32>
              scf.yield %pn : !cursor
            }
            tile.release %or[%o] : !turns
            %on = tile.advance %o : !turn
            scf.yield %l, %on : !cursor, !turn
          } else {
            %l = scf.for %k = %c0 to %n step %c1 iter_args(%p = %q) -> !cursor {
              %pn = tile.advance %p : !cursor
              scf.yield %pn : !cursor
            }
            scf.yield %l, %o : !cursor, !turn
          }
          %other = arith.xori %mine, %true : i1
          scf.yield %s#0, %s#1, %other : !cursor, !turn, i1
        }
        scf.if %r#2 {
          tile.wait %or[%r#1] : !turns
          tile.release %or[%r#1] : !turns
        }
      }
      tile.role @load warps(1) {
        %p0 = tile.cursor : !cursor
        %s = scf.for %t = %c0 to %tiles step %c1 iter_args(%p = %p0) -> !cursor {
          %l = scf.for %k = %c0 to %n step %c1 iter_args(%q = %p) -> !cursor {
            tile.acquire %ch[%q] : !channel
            %a = tile.slot %as[%q] : !buffer -> !slot
            tile.copy %A[%k] to %a {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot
            tile.commit %ch[%q] : !channel
            %qn = tile.advance %q : !cursor
            scf.yield %qn : !cursor
          }
          scf.yield %l : !cursor
        }
      }
    }
    gpu.return
  }
}

// -----

// Wrong: one slot is passed over, whatever the other role takes.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
!turns = !tile.channel<1>
!turn = !tile.cursor<1>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @skips_one(%A: memref<?xf32>, %C: memref<16xf32>, %tiles: index, %n: index) kernel attributes {tile.threads = 288 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %true = arith.constant true
    %false = arith.constant false
    %as = tile.alloc_shared : !buffer
    %ch = tile.channel(%as) {alternating, producer = #tile.producer<tma>} : !buffer -> !channel
    %or = tile.channel() {producer = #tile.producer<simt>} -> !turns
    tile.specialize {
      tile.role @math0 warps(4) {
        %q0 = tile.cursor : !cursor
        %o0 = tile.cursor : !turn
        %r:3 = scf.for %t = %c0 to %tiles step %c1 iter_args(%q = %q0, %o = %o0, %mine = %true) -> (!cursor, !turn, i1) {
          %s:2 = scf.if %mine -> (!cursor, !turn) {
            tile.acquire %or[%o] : !turns
            %l = scf.for %k = %c0 to %n step %c1 iter_args(%p = %q) -> !cursor {
              tile.wait %ch[%p] : !channel
              %a = tile.slot %as[%p] : !buffer -> !slot
              %x = tile.load %a : !slot -> !tile
              tile.release %ch[%p] : !channel
              %pn = tile.advance %p : !cursor
              tile.atomic_rmw <add> %x to %C : !tile to memref<16xf32>
              scf.yield %pn : !cursor
            }
            tile.commit %or[%o] : !turns
            %on = tile.advance %o : !turn
            scf.yield %l, %on : !cursor, !turn
          } else {
            %l = scf.for %k = %c0 to %n step %c1 iter_args(%p = %q) -> !cursor {
              %pn = tile.advance %p : !cursor
              scf.yield %pn : !cursor
            }
            scf.yield %l, %o : !cursor, !turn
          }
          %other = arith.xori %mine, %true : i1
          scf.yield %s#0, %s#1, %other : !cursor, !turn, i1
        }
      }
      tile.role @math1 warps(4) {
        %q0 = tile.cursor : !cursor
        %o0 = tile.cursor : !turn
        %r:3 = scf.for %t = %c0 to %tiles step %c1 iter_args(%q = %q0, %o = %o0, %mine = %false) -> (!cursor, !turn, i1) {
          %s:2 = scf.if %mine -> (!cursor, !turn) {
            tile.wait %or[%o] : !turns
            %l = scf.for %k = %c0 to %n step %c1 iter_args(%p = %q) -> !cursor {
              // expected-error @below {{role @math1 waits for slot 1 in phase 0, but the next transaction of all who take turns is at slot 0 in phase 1}}
              tile.wait %ch[%p] : !channel
              %a = tile.slot %as[%p] : !buffer -> !slot
              %x = tile.load %a : !slot -> !tile
              tile.release %ch[%p] : !channel
              %pn = tile.advance %p : !cursor
              tile.atomic_rmw <add> %x to %C : !tile to memref<16xf32>
              scf.yield %pn : !cursor
            }
            tile.release %or[%o] : !turns
            %on = tile.advance %o : !turn
            scf.yield %l, %on : !cursor, !turn
          } else {
            %l = scf.for %k = %c0 to %c1 step %c1 iter_args(%p = %q) -> !cursor {
              %pn = tile.advance %p : !cursor
              scf.yield %pn : !cursor
            }
            scf.yield %l, %o : !cursor, !turn
          }
          %other = arith.xori %mine, %true : i1
          scf.yield %s#0, %s#1, %other : !cursor, !turn, i1
        }
        scf.if %r#2 {
          tile.wait %or[%r#1] : !turns
          tile.release %or[%r#1] : !turns
        }
      }
      tile.role @load warps(1) {
        %p0 = tile.cursor : !cursor
        %s = scf.for %t = %c0 to %tiles step %c1 iter_args(%p = %p0) -> !cursor {
          %l = scf.for %k = %c0 to %n step %c1 iter_args(%q = %p) -> !cursor {
            tile.acquire %ch[%q] : !channel
            %a = tile.slot %as[%q] : !buffer -> !slot
            tile.copy %A[%k] to %a {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot
            tile.commit %ch[%q] : !channel
            %qn = tile.advance %q : !cursor
            scf.yield %qn : !cursor
          }
          scf.yield %l : !cursor
        }
      }
    }
    gpu.return
  }
}

// -----

// Wrong: one role takes the slots of the other, too.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
!turns = !tile.channel<1>
!turn = !tile.cursor<1>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @reads_all(%A: memref<?xf32>, %C: memref<16xf32>, %tiles: index, %n: index) kernel attributes {tile.threads = 288 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %true = arith.constant true
    %false = arith.constant false
    %as = tile.alloc_shared : !buffer
    %ch = tile.channel(%as) {alternating, producer = #tile.producer<tma>} : !buffer -> !channel
    %or = tile.channel() {producer = #tile.producer<simt>} -> !turns
    tile.specialize {
      tile.role @math0 warps(4) {
        %q0 = tile.cursor : !cursor
        %o0 = tile.cursor : !turn
        %r:3 = scf.for %t = %c0 to %tiles step %c1 iter_args(%q = %q0, %o = %o0, %mine = %true) -> (!cursor, !turn, i1) {
          %s:2 = scf.if %mine -> (!cursor, !turn) {
            tile.acquire %or[%o] : !turns
            %l = scf.for %k = %c0 to %n step %c1 iter_args(%p = %q) -> !cursor {
              tile.wait %ch[%p] : !channel
              %a = tile.slot %as[%p] : !buffer -> !slot
              %x = tile.load %a : !slot -> !tile
              tile.release %ch[%p] : !channel
              %pn = tile.advance %p : !cursor
              tile.atomic_rmw <add> %x to %C : !tile to memref<16xf32>
              scf.yield %pn : !cursor
            }
            tile.commit %or[%o] : !turns
            %on = tile.advance %o : !turn
            scf.yield %l, %on : !cursor, !turn
          } else {
            %l = scf.for %k = %c0 to %n step %c1 iter_args(%p = %q) -> !cursor {
              tile.wait %ch[%p] : !channel
              tile.release %ch[%p] : !channel
              %pn = tile.advance %p : !cursor
              scf.yield %pn : !cursor
            }
            scf.yield %l, %o : !cursor, !turn
          }
          %other = arith.xori %mine, %true : i1
          scf.yield %s#0, %s#1, %other : !cursor, !turn, i1
        }
      }
      tile.role @math1 warps(4) {
        %q0 = tile.cursor : !cursor
        %o0 = tile.cursor : !turn
        %r:3 = scf.for %t = %c0 to %tiles step %c1 iter_args(%q = %q0, %o = %o0, %mine = %false) -> (!cursor, !turn, i1) {
          %s:2 = scf.if %mine -> (!cursor, !turn) {
            tile.wait %or[%o] : !turns
            %l = scf.for %k = %c0 to %n step %c1 iter_args(%p = %q) -> !cursor {
              // expected-error @below {{role @math1 waits for slot 0 in phase 1, but the next transaction of all who take turns is at slot 0 in phase 0}}
              tile.wait %ch[%p] : !channel
              %a = tile.slot %as[%p] : !buffer -> !slot
              %x = tile.load %a : !slot -> !tile
              tile.release %ch[%p] : !channel
              %pn = tile.advance %p : !cursor
              tile.atomic_rmw <add> %x to %C : !tile to memref<16xf32>
              scf.yield %pn : !cursor
            }
            tile.release %or[%o] : !turns
            %on = tile.advance %o : !turn
            scf.yield %l, %on : !cursor, !turn
          } else {
            %l = scf.for %k = %c0 to %n step %c1 iter_args(%p = %q) -> !cursor {
              %pn = tile.advance %p : !cursor
              scf.yield %pn : !cursor
            }
            scf.yield %l, %o : !cursor, !turn
          }
          %other = arith.xori %mine, %true : i1
          scf.yield %s#0, %s#1, %other : !cursor, !turn, i1
        }
        scf.if %r#2 {
          tile.wait %or[%r#1] : !turns
          tile.release %or[%r#1] : !turns
        }
      }
      tile.role @load warps(1) {
        %p0 = tile.cursor : !cursor
        %s = scf.for %t = %c0 to %tiles step %c1 iter_args(%p = %p0) -> !cursor {
          %l = scf.for %k = %c0 to %n step %c1 iter_args(%q = %p) -> !cursor {
            tile.acquire %ch[%q] : !channel
            %a = tile.slot %as[%q] : !buffer -> !slot
            tile.copy %A[%k] to %a {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot
            tile.commit %ch[%q] : !channel
            %qn = tile.advance %q : !cursor
            scf.yield %qn : !cursor
          }
          scf.yield %l : !cursor
        }
      }
    }
    gpu.return
  }
}

// -----

// Wrong: both roles release a slot.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
!turns = !tile.channel<1>
!turn = !tile.cursor<1>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @releases_all(%A: memref<?xf32>, %C: memref<16xf32>, %tiles: index, %n: index) kernel attributes {tile.threads = 288 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %true = arith.constant true
    %false = arith.constant false
    %as = tile.alloc_shared : !buffer
    %ch = tile.channel(%as) {alternating, producer = #tile.producer<tma>} : !buffer -> !channel
    %or = tile.channel() {producer = #tile.producer<simt>} -> !turns
    tile.specialize {
      tile.role @math0 warps(4) {
        %q0 = tile.cursor : !cursor
        %o0 = tile.cursor : !turn
        %r:3 = scf.for %t = %c0 to %tiles step %c1 iter_args(%q = %q0, %o = %o0, %mine = %true) -> (!cursor, !turn, i1) {
          %s:2 = scf.if %mine -> (!cursor, !turn) {
            tile.acquire %or[%o] : !turns
            %l = scf.for %k = %c0 to %n step %c1 iter_args(%p = %q) -> !cursor {
              tile.wait %ch[%p] : !channel
              %a = tile.slot %as[%p] : !buffer -> !slot
              %x = tile.load %a : !slot -> !tile
              tile.release %ch[%p] : !channel
              %pn = tile.advance %p : !cursor
              tile.atomic_rmw <add> %x to %C : !tile to memref<16xf32>
              scf.yield %pn : !cursor
            }
            tile.commit %or[%o] : !turns
            %on = tile.advance %o : !turn
            scf.yield %l, %on : !cursor, !turn
          } else {
            %l = scf.for %k = %c0 to %n step %c1 iter_args(%p = %q) -> !cursor {
              // expected-error @below {{role @math0 releases slot 0 in phase 1, which it has not waited for or has released already}}
              tile.release %ch[%p] : !channel
              %pn = tile.advance %p : !cursor
              scf.yield %pn : !cursor
            }
            scf.yield %l, %o : !cursor, !turn
          }
          %other = arith.xori %mine, %true : i1
          scf.yield %s#0, %s#1, %other : !cursor, !turn, i1
        }
      }
      tile.role @math1 warps(4) {
        %q0 = tile.cursor : !cursor
        %o0 = tile.cursor : !turn
        %r:3 = scf.for %t = %c0 to %tiles step %c1 iter_args(%q = %q0, %o = %o0, %mine = %false) -> (!cursor, !turn, i1) {
          %s:2 = scf.if %mine -> (!cursor, !turn) {
            tile.wait %or[%o] : !turns
            %l = scf.for %k = %c0 to %n step %c1 iter_args(%p = %q) -> !cursor {
              tile.wait %ch[%p] : !channel
              %a = tile.slot %as[%p] : !buffer -> !slot
              %x = tile.load %a : !slot -> !tile
              tile.release %ch[%p] : !channel
              %pn = tile.advance %p : !cursor
              tile.atomic_rmw <add> %x to %C : !tile to memref<16xf32>
              scf.yield %pn : !cursor
            }
            tile.release %or[%o] : !turns
            %on = tile.advance %o : !turn
            scf.yield %l, %on : !cursor, !turn
          } else {
            %l = scf.for %k = %c0 to %n step %c1 iter_args(%p = %q) -> !cursor {
              %pn = tile.advance %p : !cursor
              scf.yield %pn : !cursor
            }
            scf.yield %l, %o : !cursor, !turn
          }
          %other = arith.xori %mine, %true : i1
          scf.yield %s#0, %s#1, %other : !cursor, !turn, i1
        }
        scf.if %r#2 {
          tile.wait %or[%r#1] : !turns
          tile.release %or[%r#1] : !turns
        }
      }
      tile.role @load warps(1) {
        %p0 = tile.cursor : !cursor
        %s = scf.for %t = %c0 to %tiles step %c1 iter_args(%p = %p0) -> !cursor {
          %l = scf.for %k = %c0 to %n step %c1 iter_args(%q = %p) -> !cursor {
            tile.acquire %ch[%q] : !channel
            %a = tile.slot %as[%q] : !buffer -> !slot
            tile.copy %A[%k] to %a {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot
            tile.commit %ch[%q] : !channel
            %qn = tile.advance %q : !cursor
            scf.yield %qn : !cursor
          }
          scf.yield %l : !cursor
        }
      }
    }
    gpu.return
  }
}

// -----

// Wrong: nobody answers for the last turn.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
!turns = !tile.channel<1>
!turn = !tile.cursor<1>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @never_answers(%A: memref<?xf32>, %C: memref<16xf32>, %tiles: index, %n: index) kernel attributes {tile.threads = 288 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %true = arith.constant true
    %false = arith.constant false
    %as = tile.alloc_shared : !buffer
    %ch = tile.channel(%as) {alternating, producer = #tile.producer<tma>} : !buffer -> !channel
    // expected-error @below {{is filled and never waited for}}
    %or = tile.channel() {producer = #tile.producer<simt>} -> !turns
    tile.specialize {
      tile.role @math0 warps(4) {
        %q0 = tile.cursor : !cursor
        %o0 = tile.cursor : !turn
        %r:3 = scf.for %t = %c0 to %tiles step %c1 iter_args(%q = %q0, %o = %o0, %mine = %true) -> (!cursor, !turn, i1) {
          %s:2 = scf.if %mine -> (!cursor, !turn) {
            tile.acquire %or[%o] : !turns
            %l = scf.for %k = %c0 to %n step %c1 iter_args(%p = %q) -> !cursor {
              tile.wait %ch[%p] : !channel
              %a = tile.slot %as[%p] : !buffer -> !slot
              %x = tile.load %a : !slot -> !tile
              tile.release %ch[%p] : !channel
              %pn = tile.advance %p : !cursor
              tile.atomic_rmw <add> %x to %C : !tile to memref<16xf32>
              scf.yield %pn : !cursor
            }
            tile.commit %or[%o] : !turns
            %on = tile.advance %o : !turn
            scf.yield %l, %on : !cursor, !turn
          } else {
            %l = scf.for %k = %c0 to %n step %c1 iter_args(%p = %q) -> !cursor {
              %pn = tile.advance %p : !cursor
              scf.yield %pn : !cursor
            }
            scf.yield %l, %o : !cursor, !turn
          }
          %other = arith.xori %mine, %true : i1
          scf.yield %s#0, %s#1, %other : !cursor, !turn, i1
        }
      }
      tile.role @math1 warps(4) {
        %q0 = tile.cursor : !cursor
        %o0 = tile.cursor : !turn
        %r:3 = scf.for %t = %c0 to %tiles step %c1 iter_args(%q = %q0, %o = %o0, %mine = %false) -> (!cursor, !turn, i1) {
          %s:2 = scf.if %mine -> (!cursor, !turn) {
            tile.wait %or[%o] : !turns
            %l = scf.for %k = %c0 to %n step %c1 iter_args(%p = %q) -> !cursor {
              tile.wait %ch[%p] : !channel
              %a = tile.slot %as[%p] : !buffer -> !slot
              %x = tile.load %a : !slot -> !tile
              tile.release %ch[%p] : !channel
              %pn = tile.advance %p : !cursor
              tile.atomic_rmw <add> %x to %C : !tile to memref<16xf32>
              scf.yield %pn : !cursor
            }
            tile.release %or[%o] : !turns
            %on = tile.advance %o : !turn
            scf.yield %l, %on : !cursor, !turn
          } else {
            %l = scf.for %k = %c0 to %n step %c1 iter_args(%p = %q) -> !cursor {
              %pn = tile.advance %p : !cursor
              scf.yield %pn : !cursor
            }
            scf.yield %l, %o : !cursor, !turn
          }
          %other = arith.xori %mine, %true : i1
          scf.yield %s#0, %s#1, %other : !cursor, !turn, i1
        }
      }
      tile.role @load warps(1) {
        %p0 = tile.cursor : !cursor
        %s = scf.for %t = %c0 to %tiles step %c1 iter_args(%p = %p0) -> !cursor {
          %l = scf.for %k = %c0 to %n step %c1 iter_args(%q = %p) -> !cursor {
            tile.acquire %ch[%q] : !channel
            %a = tile.slot %as[%q] : !buffer -> !slot
            tile.copy %A[%k] to %a {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot
            tile.commit %ch[%q] : !channel
            %qn = tile.advance %q : !cursor
            scf.yield %qn : !cursor
          }
          scf.yield %l : !cursor
        }
      }
    }
    gpu.return
  }
}

// -----

// Wrong: the channel gives each slot to both roles.
!buffer = memref<2x16xf32, #gpu.address_space<workgroup>>
!slot = memref<16xf32, #gpu.address_space<workgroup>>
!tile = tensor<16xf32>
!channel = !tile.channel<2>
!cursor = !tile.cursor<2>
!turns = !tile.channel<1>
!turn = !tile.cursor<1>
gpu.module @kernels [#nvvm.target<chip = "sm_90a">] {
  gpu.func @read_by_both(%A: memref<?xf32>, %C: memref<16xf32>, %tiles: index, %n: index) kernel attributes {tile.threads = 288 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %true = arith.constant true
    %false = arith.constant false
    %as = tile.alloc_shared : !buffer
    // expected-error @below {{is filled and never waited for}}
    %ch = tile.channel(%as) {producer = #tile.producer<tma>} : !buffer -> !channel
    %or = tile.channel() {producer = #tile.producer<simt>} -> !turns
    tile.specialize {
      tile.role @math0 warps(4) {
        %q0 = tile.cursor : !cursor
        %o0 = tile.cursor : !turn
        %r:3 = scf.for %t = %c0 to %tiles step %c1 iter_args(%q = %q0, %o = %o0, %mine = %true) -> (!cursor, !turn, i1) {
          %s:2 = scf.if %mine -> (!cursor, !turn) {
            tile.acquire %or[%o] : !turns
            %l = scf.for %k = %c0 to %n step %c1 iter_args(%p = %q) -> !cursor {
              tile.wait %ch[%p] : !channel
              %a = tile.slot %as[%p] : !buffer -> !slot
              %x = tile.load %a : !slot -> !tile
              tile.release %ch[%p] : !channel
              %pn = tile.advance %p : !cursor
              tile.atomic_rmw <add> %x to %C : !tile to memref<16xf32>
              scf.yield %pn : !cursor
            }
            tile.commit %or[%o] : !turns
            %on = tile.advance %o : !turn
            scf.yield %l, %on : !cursor, !turn
          } else {
            %l = scf.for %k = %c0 to %n step %c1 iter_args(%p = %q) -> !cursor {
              %pn = tile.advance %p : !cursor
              scf.yield %pn : !cursor
            }
            scf.yield %l, %o : !cursor, !turn
          }
          %other = arith.xori %mine, %true : i1
          scf.yield %s#0, %s#1, %other : !cursor, !turn, i1
        }
      }
      tile.role @math1 warps(4) {
        %q0 = tile.cursor : !cursor
        %o0 = tile.cursor : !turn
        %r:3 = scf.for %t = %c0 to %tiles step %c1 iter_args(%q = %q0, %o = %o0, %mine = %false) -> (!cursor, !turn, i1) {
          %s:2 = scf.if %mine -> (!cursor, !turn) {
            tile.wait %or[%o] : !turns
            %l = scf.for %k = %c0 to %n step %c1 iter_args(%p = %q) -> !cursor {
              tile.wait %ch[%p] : !channel
              %a = tile.slot %as[%p] : !buffer -> !slot
              %x = tile.load %a : !slot -> !tile
              tile.release %ch[%p] : !channel
              %pn = tile.advance %p : !cursor
              tile.atomic_rmw <add> %x to %C : !tile to memref<16xf32>
              scf.yield %pn : !cursor
            }
            tile.release %or[%o] : !turns
            %on = tile.advance %o : !turn
            scf.yield %l, %on : !cursor, !turn
          } else {
            %l = scf.for %k = %c0 to %n step %c1 iter_args(%p = %q) -> !cursor {
              %pn = tile.advance %p : !cursor
              scf.yield %pn : !cursor
            }
            scf.yield %l, %o : !cursor, !turn
          }
          %other = arith.xori %mine, %true : i1
          scf.yield %s#0, %s#1, %other : !cursor, !turn, i1
        }
        scf.if %r#2 {
          tile.wait %or[%r#1] : !turns
          tile.release %or[%r#1] : !turns
        }
      }
      tile.role @load warps(1) {
        %p0 = tile.cursor : !cursor
        %s = scf.for %t = %c0 to %tiles step %c1 iter_args(%p = %p0) -> !cursor {
          %l = scf.for %k = %c0 to %n step %c1 iter_args(%q = %p) -> !cursor {
            tile.acquire %ch[%q] : !channel
            %a = tile.slot %as[%q] : !buffer -> !slot
            tile.copy %A[%k] to %a {tile.inst = #tile.inst<tma>} : memref<?xf32> to !slot
            tile.commit %ch[%q] : !channel
            %qn = tile.advance %q : !cursor
            scf.yield %qn : !cursor
          }
          scf.yield %l : !cursor
        }
      }
    }
    gpu.return
  }
}
