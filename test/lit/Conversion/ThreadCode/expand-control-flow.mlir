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

gpu.module @wrapping {
  // The variable has a sign, and grows beyond it.
  // CHECK-LABEL: @from_zero
  func.func @from_zero(%n: index) {
    %c0 = arith.constant 0 : index
    %c7 = arith.constant 7 : index
    // CHECK: %[[N:.*]] = arith.maxsi %arg0, %c0
    // CHECK: arith.cmpi ult, %{{.*}}, %[[N]] : index
    scf.for %i = %c0 to %n step %c7 {
      "body"(%i) : (index) -> ()
    }
    func.return
  }

  // CHECK-LABEL: @from_anywhere
  func.func @from_anywhere(%a: i32, %n: i32, %s: i32) {
    // CHECK-DAG: %[[STEP:.*]] = arith.maxsi %arg2, %c1_i32
    // CHECK-DAG: %[[RUNS:.*]] = arith.cmpi slt, %arg0, %arg1
    // CHECK-DAG: %[[D:.*]] = arith.subi %arg1, %arg0
    // CHECK-DAG: %[[D1:.*]] = arith.subi %[[D]], %c1_i32
    // CHECK-DAG: %[[Q:.*]] = arith.divui %[[D1]], %[[STEP]]
    // CHECK-DAG: %[[Q1:.*]] = arith.addi %[[Q]], %c1_i32
    // CHECK: %[[COUNT:.*]] = arith.select %[[RUNS]], %[[Q1]], %c0_i32
    // CHECK: arith.cmpi ult, %[[J:.*]], %[[COUNT]]
    // CHECK: %[[O:.*]] = arith.muli %[[J]], %[[STEP]]
    // CHECK: %[[I:.*]] = arith.addi %arg0, %[[O]]
    // CHECK: "body"(%[[I]])
    scf.for %i = %a to %n step %s : i32 {
      "body"(%i) : (i32) -> ()
    }
    func.return
  }

  // No number wraps around.
  // CHECK-LABEL: @bounded
  func.func @bounded(%a: index) {
    %c7 = arith.constant 7 : index
    %most = arith.constant 2147483640 : index
    // CHECK: arith.cmpi slt
    scf.for %i = %a to %most step %c7 {
      "body"(%i) : (index) -> ()
    }
    func.return
  }

  // CHECK-LABEL: @nearly_bounded
  func.func @nearly_bounded() {
    %c0 = arith.constant 0 : index
    %c7 = arith.constant 7 : index
    %most = arith.constant 2147483641 : index
    // CHECK: arith.cmpi ult
    scf.for %i = %c0 to %most step %c7 {
      "body"(%i) : (index) -> ()
    }
    func.return
  }
}
