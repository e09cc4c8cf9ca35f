// The model of a kernel with channels: transactions are counted.
// RUN: tilews-translate --to=promela %S/../../Verifier/Inputs/guarded.mlir | FileCheck %s
// RUN: tilews-translate --to=promela %S/../../Verifier/Inputs/guarded.mlir --bound=2 --value mask=1:0 | FileCheck %s --check-prefix=GIVEN

// CHECK: tile.channel(%as{{.*}} */
// CHECK-NEXT: #define CH 0
// CHECK-NEXT: /* consumer 0: math */
// CHECK: short mask[9] = -1; /* elements of argument 2, -1: not chosen yet */

// CHECK: proctype math(int n) {
// CHECK: element(mask, 0 <= k && k < 9, k, 1, on);
// CHECK: {{^ +if$}}
// CHECK-NEXT: :: on ->
// CHECK:   check(q == (taken[0]) % 4);
// CHECK:   until(slot[CH + q % 2].filled > reader[0 * DEPTH + q % 2].waited);
// CHECK:   place[AS + q % 2].fill == reader[0 * DEPTH + q % 2].waited
// CHECK:   begin_read(MATH, AS + q % 2);
// CHECK:   flush(MATH);
// CHECK:   reader[0 * DEPTH + q % 2].released++;

// CHECK: proctype load(int n) {
// CHECK:   check(p == (made[0]) % 4);
// CHECK:   until(slot[CH + p % 2].filled == slot[CH + p % 2].committed && reader[0 * DEPTH + p % 2].released == slot[CH + p % 2].committed);
// CHECK:   begin_fill(AS + p % 2, 1);
// CHECK:   slot[CH + p % 2].committed++;

// CHECK: active proctype fills_CH() {
// CHECK: slot[CH + 1].filled < slot[CH + 1].committed ->
// CHECK-NEXT: end_fills(AS + 1);
// CHECK: check(slot[CH + 0 % 2].acquired == slot[CH + 0 % 2].committed);

// GIVEN: short mask[6]
// GIVEN: select(n : 0 .. 2);
// GIVEN-NEXT: mask[0] = 1;
// GIVEN-NEXT: mask[1] = 0;
