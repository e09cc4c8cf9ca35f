//===- SliceSolverTest.cpp - Tests of dataflow over backward slices -------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The values are results of operations in a module, whose body may have cycles.
// The fact about a value is its divisor: the greatest common divisor of the
// operation's attribute `number` and the operands' divisors. 0 is optimistic.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/Analysis/SliceSolver.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

#include <numeric>
#include <random>

using namespace mlir;
using namespace tilews::tile;

namespace {

/// A fact with the optimistic value 0.
struct Divisor {
  int64_t value = 0;
  bool operator==(const Divisor &other) const { return value == other.value; }
};

using Solver = SliceSolver<Divisor>;

int64_t getNumber(Value value) {
  return value.getDefiningOp()->getAttrOfType<IntegerAttr>("number").getInt();
}

/// Operations `%i = "t.op"(operands) {number}`. Operands are numbers of
/// operations, and may come later.
class Graph {
public:
  void add(int64_t number, ArrayRef<int64_t> operands) {
    std::string names, types;
    for (int64_t operand : operands) {
      names += (names.empty() ? "%v" : ", %v") + std::to_string(operand);
      types += types.empty() ? "i64" : ", i64";
    }
    text += "%v" + std::to_string(count++) + " = \"t.op\"(" + names +
            ") {number = " + std::to_string(number) + "} : (" + types +
            ") -> i64\n";
  }

  void parse() {
    context.allowUnregisteredDialects();
    module = parseSourceString<ModuleOp>(text, &context);
    ASSERT_TRUE(module);
    for (Operation &op : *module->getBody())
      values.push_back(op.getResult(0));
  }

  ArrayRef<Value> getValues() const { return values; }

  /// The facts by evaluating all operations until nothing changes.
  llvm::DenseMap<Value, int64_t> solveAll() {
    llvm::DenseMap<Value, int64_t> facts;
    for (bool changed = true; changed;) {
      changed = false;
      for (Value value : values) {
        int64_t divisor = getNumber(value);
        for (Value operand : value.getDefiningOp()->getOperands())
          divisor = std::gcd(divisor, facts.lookup(operand));
        changed |= divisor != facts.lookup(value);
        facts[value] = divisor;
      }
    }
    return facts;
  }

private:
  MLIRContext context;
  std::string text;
  int64_t count = 0;
  OwningOpRef<ModuleOp> module;
  SmallVector<Value> values;
};

/// Solves for `root`, and returns the number of evaluations.
int64_t solve(Solver::Facts &facts, Value root) {
  Solver solver(facts);
  return solver.solve(root, [&](Value value, const Divisor &last) {
    EXPECT_FALSE(facts.contains(value)) << "a known fact is found again";
    int64_t divisor = getNumber(value);
    for (Value operand : value.getDefiningOp()->getOperands())
      divisor = std::gcd(divisor, solver.read(operand).value);
    return Divisor{divisor};
  });
}

TEST(SliceSolver, FindsTheFixpointOfALoop) {
  Graph graph;
  graph.add(64, {1}); // what the loop carries: 64 at first, then value 1
  graph.add(48, {0});
  graph.parse();
  Solver::Facts facts;
  solve(facts, graph.getValues()[0]);
  EXPECT_EQ(facts[graph.getValues()[0]].value, 16);
  EXPECT_EQ(facts[graph.getValues()[1]].value, 16);
}

TEST(SliceSolver, VisitsTheBackwardSliceOnly) {
  Graph graph;
  graph.add(4, {});
  graph.add(6, {0});
  graph.add(8, {1}); // uses the root
  graph.add(9, {});
  graph.parse();
  ArrayRef<Value> values = graph.getValues();
  Solver::Facts facts;
  solve(facts, values[1]);
  EXPECT_EQ(facts.size(), 2u);
  EXPECT_FALSE(facts.contains(values[2]));
  EXPECT_FALSE(facts.contains(values[3]));
  // A later query reads what an earlier one found.
  solve(facts, values[2]);
  EXPECT_EQ(facts.size(), 3u);
  EXPECT_EQ(facts[values[2]].value, 2);
}

TEST(SliceSolver, TakesLinearTimeAndNoStackForAChain) {
  constexpr int64_t count = 20000;
  Graph graph;
  graph.add(1 << 20, {});
  for (int64_t i = 1; i < count; ++i)
    graph.add(1 << 20, {i - 1, i - 1});
  graph.parse();
  Solver::Facts facts;
  int64_t evaluations = solve(facts, graph.getValues().back());
  EXPECT_EQ(facts.size(), size_t(count));
  EXPECT_LE(evaluations, 3 * count);
}

TEST(SliceSolver, AgreesWithAllOperationsOnRandomGraphs) {
  std::mt19937 random(7);
  for (int trial = 0; trial < 200; ++trial) {
    Graph graph;
    int64_t count = 1 + random() % 30;
    for (int64_t i = 0; i < count; ++i) {
      SmallVector<int64_t> operands(random() % 4);
      for (int64_t &operand : operands)
        operand = random() % count;
      graph.add(int64_t(1) << (random() % 10), operands);
    }
    graph.parse();
    auto expected = graph.solveAll();
    Solver::Facts facts;
    for (Value value : graph.getValues()) {
      if (facts.contains(value))
        continue;
      solve(facts, value);
    }
    for (Value value : graph.getValues())
      EXPECT_EQ(facts[value].value, expected[value]) << "trial " << trial;
  }
}

} // namespace
