// RUN: tilews-opt %s --allow-unregistered-dialect --tile-expand-control-flow | FileCheck %s

gpu.module @kernels {
  // CHECK-LABEL: @nested
  func.func @nested(%on: i1, %n: index, %x: f32) -> f32 {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    // CHECK: cf.br ^[[HEAD:.*]](%c0, %arg2 : index, f32)
    // CHECK: ^[[HEAD]](%[[I:.*]]: index, %[[SUM:.*]]: f32):
    // CHECK-NEXT: arith.cmpi slt, %[[I]], %arg1
    // CHECK-NEXT: cf.cond_br %{{.*}}, ^[[BODY:.*]], ^[[END:.*]]
    %r = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %x) -> f32 {
      // CHECK: ^[[BODY]]:
      // CHECK-NEXT: cf.cond_br %arg0, ^[[THEN:.*]], ^[[ELSE:.*]]
      %y = scf.if %on -> f32 {
        // CHECK: ^[[THEN]]:
        // CHECK-NEXT: "first"
        // CHECK-NEXT: cf.br ^[[JOIN:.*]](%{{.*}} : f32)
        %a = "first"(%sum) : (f32) -> f32
        scf.yield %a : f32
      } else {
        // CHECK: ^[[ELSE]]:
        // CHECK-NEXT: cf.br ^[[JOIN]](%[[SUM]] : f32)
        scf.yield %sum : f32
      }
      // CHECK: ^[[JOIN]](%[[Y:.*]]: f32):
      // CHECK: cf.br ^[[HEAD]](%{{.*}}, %{{.*}} : index, f32)
      scf.yield %y : f32
    }
    // CHECK: ^[[END]]:
    // CHECK-NEXT: cf.cond_br %arg0, ^[[GUARDED:.*]], ^[[REST:.*]]
    scf.if %on {
      // CHECK: ^[[GUARDED]]:
      // CHECK-NEXT: "second"
      "second"() : () -> ()
    }
    // CHECK: ^[[REST]]:
    // CHECK-NEXT: return
    func.return %r : f32
  }

  // A loop whose pattern makes another loop.
  // CHECK-LABEL: @parallel
  func.func @parallel(%n: index) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    // CHECK-NOT: scf
    // CHECK: "body"
    // CHECK-NOT: scf
    scf.parallel (%i, %j) = (%c0, %c0) to (%n, %n) step (%c1, %c1) {
      "body"(%i, %j) : (index, index) -> ()
    }
    func.return
  }
}
