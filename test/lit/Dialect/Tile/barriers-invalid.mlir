// Barriers in shared memory: each rule of the verifiers with its message.
// RUN: tilews-opt %s --split-input-file --verify-diagnostics

// expected-error @below {{expected a depth from 1 to 64, found 65}}
func.func private @f(!tile.mbarrier<65>)

// -----

func.func @f() {
  // expected-error @below {{'tile.mbarrier' op attribute 'count' failed to satisfy constraint: 64-bit signless integer attribute whose value is positive whose maximum value is 1048575}}
  %full = tile.mbarrier {count = 0 : i64} : !tile.mbarrier<4>
  return
}

// -----

func.func @f() {
  // expected-error @below {{'tile.mbarrier' op requires attribute 'count'}}
  %full = tile.mbarrier : !tile.mbarrier<4>
  return
}

// -----

func.func @f(%full: !tile.mbarrier<4>, %slot: i32) {
  // expected-error @below {{'tile.mbarrier_arrive' op attribute 'bytes' failed to satisfy constraint: 64-bit signless integer attribute whose value is positive whose maximum value is 1048575}}
  tile.mbarrier_arrive %full[%slot] {by = #tile.agents<thread>, bytes = 1048576 : i64} : !tile.mbarrier<4>
  return
}

// -----

func.func @f(%full: !tile.mbarrier<4>, %slot: i32) {
  // expected-error @below {{'tile.mbarrier_arrive' op requires attribute 'by'}}
  tile.mbarrier_arrive %full[%slot] : !tile.mbarrier<4>
  return
}

// -----

func.func @f(%full: !tile.mbarrier<4>, %slot: i32) {
  // expected-error @below {{'tile.mbarrier_arrive' op has 'bytes' and arrives by 'threads', but only one thread can expect bytes: expected by = #tile.agents<thread>}}
  tile.mbarrier_arrive %full[%slot] {by = #tile.agents<threads>, bytes = 16 : i64} : !tile.mbarrier<4>
  return
}

// -----

func.func @f(%full: !tile.mbarrier<4>, %slot: i32) {
  // expected-error @below {{'tile.mbarrier_arrive' op is 'converged' and arrives by 'thread', expected by = #tile.agents<warps>}}
  tile.mbarrier_arrive %full[%slot] {by = #tile.agents<thread>, converged} : !tile.mbarrier<4>
  return
}

// -----

func.func @f(%full: !tile.mbarrier<4>, %slot: i32) {
  // expected-error @below {{'tile.mbarrier_expect' op requires attribute 'bytes'}}
  tile.mbarrier_expect %full[%slot] : !tile.mbarrier<4>
  return
}

// -----

// expected-note @below {{prior use here}}
func.func @f(%full: !tile.mbarrier<4>, %slot: index, %parity: i32) {
  // expected-error @below {{use of value '%slot' expects different type than prior uses: 'i32' vs 'index'}}
  tile.mbarrier_wait %full[%slot], %parity : !tile.mbarrier<4>
  return
}

// -----

func.func @f() {
  tile.specialize {
    tile.role @math warps(4) {
      // expected-error @below {{'tile.mbarrier_ready' op is in role @math, but synchronizes all threads of the block}}
      tile.mbarrier_ready
    }
  }
  return
}

// -----

func.func @f() {
  // expected-error @below {{'tile.copy_group_wait' op attribute 'pending' failed to satisfy constraint: 64-bit signless integer attribute whose value is non-negative whose maximum value is 1023}}
  tile.copy_group_wait {pending = -1 : i64}
  return
}

// -----

func.func @f() {
  // expected-error @below {{'tile.copy_group_wait' op attribute 'pending' failed to satisfy constraint: 64-bit signless integer attribute whose value is non-negative whose maximum value is 1023}}
  tile.copy_group_wait {pending = 4294967296 : i64}
  return
}

// -----

func.func @f(%full: !tile.mbarrier<4>, %slot: i32, %C: memref<8x8xf32>) {
  %a = tile.alloc_shared : memref<8x8xf32, #gpu.address_space<workgroup>>
  // expected-error @below {{'tile.copy' op signals a barrier, which only copies from global to shared memory do}}
  tile.copy %a to %C signals(%full[%slot]) {tile.inst = #tile.inst<tma>} : memref<8x8xf32, #gpu.address_space<workgroup>> to memref<8x8xf32>, !tile.mbarrier<4>
  return
}

// -----

func.func @f(%full: !tile.mbarrier<4>, %slot: i32, %C: memref<8x8xf32>) {
  %a = tile.alloc_shared : memref<8x8xf32, #gpu.address_space<workgroup>>
  // expected-error @below {{'tile.copy' op signals a barrier, which only TMA does; expected tile.inst = #tile.inst<tma>}}
  tile.copy %C to %a signals(%full[%slot]) : memref<8x8xf32> to memref<8x8xf32, #gpu.address_space<workgroup>>, !tile.mbarrier<4>
  return
}

// -----

func.func @f(%C: memref<8x8xf32>) {
  tile.specialize {
    tile.role @load warps(1) elected {
      // expected-error @below {{'tile.load' op is in the elected role @load, which one thread runs, but needs all threads}}
      %t = tile.load %C : memref<8x8xf32> -> tensor<8x8xf32>
    }
  }
  return
}

// -----

func.func @f(%slot: i64) {
  %a = tile.alloc_shared : memref<4x8x8xf32, #gpu.address_space<workgroup>>
  // expected-error @below {{'tile.slot' op operand #1 must be position of a role in a channel: a slot and its phase or 32-bit signless integer, but got 'i64'}}
  %s = tile.slot %a[%slot] : memref<4x8x8xf32, #gpu.address_space<workgroup>>, i64 -> memref<8x8xf32, #gpu.address_space<workgroup>>
  return
}

// -----

func.func @f(%full: !tile.mbarrier<4>, %C: memref<8x8xf32>) {
  %a = tile.alloc_shared : memref<8x8xf32, #gpu.address_space<workgroup>>
  // expected-error @below {{'tile.copy' op signals a barrier of a slot: expected both, or none}}
  "tile.copy"(%C, %a, %full) <{static_source_offsets = array<i64>, source_sizes = array<i64>, static_dest_offsets = array<i64>, dest_sizes = array<i64>, operandSegmentSizes = array<i32: 1, 0, 1, 0, 1, 0, 0, 0>}> {tile.inst = #tile.inst<tma>} : (memref<8x8xf32>, memref<8x8xf32, #gpu.address_space<workgroup>>, !tile.mbarrier<4>) -> ()
  return
}
