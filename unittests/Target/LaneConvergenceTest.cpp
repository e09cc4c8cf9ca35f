//===- LaneConvergenceTest.cpp - Calls that lanes must make together ------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each case is a kernel in LLVM IR with barriers, which have numbers. The test
// names the numbers of those that lanes of a warp may reach apart:
//
//   if (tid.x < n) barrier 1; barrier 2      barrier 1
//
//===----------------------------------------------------------------------===//

#include "tilews/Target/LaneConvergence.h"

#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/SourceMgr.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace tilews;
using testing::ElementsAre;
using testing::IsEmpty;

namespace {

/// Returns the numbers of the divergent barriers of a kernel, whose body gets
/// %t, the index of the thread in x, the argument %n, and the pointer %p.
std::vector<int64_t> find(llvm::StringRef body, unsigned numLanes = 32) {
  std::string text = R"(
    declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
    declare i32 @llvm.nvvm.vote.ballot.sync(i32, i1)
    declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32) convergent
    declare i64 @llvm.nvvm.mbarrier.arrive.shared(ptr addrspace(3))
    define void @kernel(i32 %n, ptr %p) {
      %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  )";
  text += body;
  text += "}\n";
  // The bodies say `barrier n` for short.
  const std::string shorthand = "barrier ";
  for (size_t at = 0; (at = text.find(shorthand, at)) != std::string::npos;) {
    size_t end = text.find('\n', at);
    std::string number =
        text.substr(at + shorthand.size(), end - at - shorthand.size());
    std::string call =
        "call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 " + number + ")";
    text.replace(at, end - at, call);
    at += call.size();
  }
  llvm::LLVMContext context;
  llvm::SMDiagnostic error;
  auto module = llvm::parseAssemblyString(text, error, context);
  if (!module) {
    ADD_FAILURE() << error.getMessage().str() << "\n" << text;
    return {};
  }
  llvm::FunctionAnalysisManager analyses;
  llvm::PassBuilder().registerFunctionAnalyses(analyses);
  std::vector<int64_t> numbers;
  for (llvm::CallBase *call :
       findDivergentCalls(*module->getFunction("kernel"), analyses, numLanes))
    numbers.push_back(
        llvm::cast<llvm::ConstantInt>(call->getArgOperand(0))->getSExtValue());
  return numbers;
}

/// A branch on `condition`, with barrier 1 on one side, and 2 after it.
std::vector<int64_t> findAfter(const std::string &condition,
                               unsigned numLanes = 32) {
  return find(condition + R"(
      br i1 %c, label %then, label %end
    then:
      barrier 1
      br label %end
    end:
      barrier 2
      ret void
  )",
              numLanes);
}

TEST(LaneConvergenceTest, Branches) {
  EXPECT_THAT(findAfter("%c = icmp slt i32 %n, 7"), IsEmpty());
  EXPECT_THAT(findAfter("%c = icmp slt i32 %t, %n"), ElementsAre(1));
  EXPECT_THAT(findAfter("%c = icmp eq i32 %t, 0"), ElementsAre(1));
}

TEST(LaneConvergenceTest, WarpsAgree) {
  EXPECT_THAT(findAfter("%w = lshr i32 %t, 5\n%c = icmp eq i32 %w, %n"),
              IsEmpty());
  EXPECT_THAT(findAfter("%w = lshr i32 %t, 4\n%c = icmp eq i32 %w, %n"),
              ElementsAre(1));
  EXPECT_THAT(findAfter("%w = udiv i32 %t, 96\n%c = icmp eq i32 %w, 0"),
              IsEmpty());
  EXPECT_THAT(findAfter("%w = and i32 %t, -32\n%c = icmp eq i32 %w, %n"),
              IsEmpty());
  EXPECT_THAT(findAfter("%c = icmp ult i32 %t, 64"), IsEmpty());
  EXPECT_THAT(findAfter("%c = icmp ugt i32 %t, 63"), IsEmpty());
  EXPECT_THAT(findAfter("%c = icmp ugt i32 %t, 64"), ElementsAre(1));
  EXPECT_THAT(
      findAfter("%l = icmp slt i32 %t, %n\n"
                "%b = call i32 @llvm.nvvm.vote.ballot.sync(i32 -1, i1 %l)\n"
                "%c = icmp eq i32 %b, 0"),
      IsEmpty());
}

TEST(LaneConvergenceTest, WavesOf64Lanes) {
  EXPECT_THAT(findAfter("%c = icmp ult i32 %t, 64", 64), IsEmpty());
  EXPECT_THAT(findAfter("%c = icmp ult i32 %t, 32", 64), ElementsAre(1));
}

TEST(LaneConvergenceTest, Memory) {
  EXPECT_THAT(findAfter("%x = load i32, ptr %p\n%c = icmp slt i32 %x, %n"),
              IsEmpty());
  EXPECT_THAT(findAfter("%q = getelementptr i32, ptr %p, i32 %t\n"
                        "%x = load i32, ptr %q\n%c = icmp slt i32 %x, %n"),
              ElementsAre(1));
  EXPECT_THAT(findAfter("%x = atomicrmw add ptr %p, i32 1 monotonic\n"
                        "%c = icmp slt i32 %x, %n"),
              ElementsAre(1));
}

TEST(LaneConvergenceTest, BranchesWithinBranches) {
  EXPECT_THAT(find(R"(
      %c = icmp slt i32 %t, %n
      br i1 %c, label %outer, label %end
    outer:
      %d = icmp slt i32 %n, 7
      br i1 %d, label %inner, label %end
    inner:
      barrier 1
      br label %end
    end:
      barrier 2
      ret void
  )"),
              ElementsAre(1));
}

TEST(LaneConvergenceTest, Loops) {
  // Lanes leave the loop apart; after it they are together again.
  const char *loop = R"(
      br label %loop
    loop:
      %i = phi i32 [ 0, %0 ], [ %next, %loop ]
      %next = add i32 %i, 1
      barrier 1
      %c = icmp slt i32 %next, BOUND
      br i1 %c, label %loop, label %end
    end:
      barrier 2
      ret void
  )";
  auto withBound = [&](const char *bound) {
    std::string text = loop;
    text.replace(text.find("BOUND"), 5, bound);
    return find(text);
  };
  EXPECT_THAT(withBound("%n"), IsEmpty());
  EXPECT_THAT(withBound("%t"), ElementsAre(1));
}

TEST(LaneConvergenceTest, CallsOfOneThread) {
  EXPECT_THAT(find(R"(
      %c = icmp eq i32 %t, 0
      br i1 %c, label %then, label %end
    then:
      %s = call i64 @llvm.nvvm.mbarrier.arrive.shared(ptr addrspace(3) null)
      br label %end
    end:
      ret void
  )"),
              IsEmpty());
}

} // namespace
