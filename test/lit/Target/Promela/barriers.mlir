// The model of a kernel with barriers: names and lines of the source, one step between
// two waits, and processes for what happens on its own.
// RUN: tilews-translate --to=promela %S/../../Verifier/Inputs/two_slots.mlir | FileCheck %s

// CHECK: The schedule of @two_slots
// CHECK: #define KERNEL 0
// CHECK-NEXT: #define MATH 1
// CHECK-NEXT: #define LOAD 2
// CHECK: tile.alloc_shared : !buffer */
// CHECK-NEXT: #define AS 0
// CHECK-NEXT: #define was_written_AS (place[AS + 0].written || place[AS + 1].written)
// CHECK-NEXT: #define PLACES 2
// CHECK: {{[0-9]+}}: %full = tile.mbarrier {count = 1 : i64} : !barriers */
// CHECK-NEXT: #define FULL 0
// CHECK: #define EMPTY 2

// CHECK: proctype math(int n) {
// CHECK: :: k < n ->
// CHECK-NEXT: /* {{[0-9]+}}: tile.mbarrier_wait %full[%qs], %qp : !barriers */
// CHECK-NEXT: atomic {
// CHECK-NEXT:   check(FULL + qs < ready && qs >= 0 && qs < 2);
// CHECK-NEXT:   begin_wait(FULL + qs, qp);
// CHECK-NEXT: };
// CHECK-NEXT: atomic {
// CHECK-NEXT:   end_wait(MATH, FULL + qs, qp);
// CHECK-NEXT:   wait_late(MATH, FULL + qs);
// CHECK-NEXT:   /* {{[0-9]+}}: %x = tile.load %a : !slot -> !tile */
// CHECK-NEXT:   check(qs >= 0 && qs < 2);
// CHECK-NEXT:   check(place[AS + qs].filled || !was_written_AS);
// CHECK-NEXT:   check(is_readable(AS + qs));
// CHECK-NEXT:   begin_read(MATH, AS + qs);
// CHECK:        phase_ = barrier[EMPTY + qs].phase;
// CHECK-NEXT:   arrive_late(MATH, EMPTY + qs, 4, phase_);
// CHECK-NEXT:   qi = qs + 1;
// CHECK-NEXT:   qw = qi == 2;
// CHECK-NEXT:   qx = qp ^ 1;
// CHECK-NEXT:   qsn = (qw -> 0 : qi);

// The copy and the thread's arrival are different steps: the phase may not change.
// CHECK: proctype load(int n) {
// CHECK:   end_wait(LOAD, EMPTY + ps, pe);
// CHECK:   check(is_fillable(AS + ps, 1));
// CHECK:   begin_fill(AS + ps, 1);
// CHECK:   depart(0 + ps, FULL + ps);
// CHECK:   phase_ = barrier[FULL + ps].phase;
// CHECK-NEXT: };
// CHECK-NEXT: atomic {
// CHECK-NEXT:   expect(FULL + ps, 64, phase_);
// CHECK-NEXT:   arrive(FULL + ps, 1, phase_);

// CHECK: proctype kernel(int n) {
// CHECK: run math(n); run load(n);

// CHECK: active proctype tma() {
// CHECK: :: atomic { flight[1].copies > 0 -> flight[1].copies--; end_fill(AS + 1); land(flight[1].signals, 64) }
// CHECK: active proctype late_math() {
// CHECK: init {
// CHECK: select(n : 0 .. 5); /* argument 4 */
