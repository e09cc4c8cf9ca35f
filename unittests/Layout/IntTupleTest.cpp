//===- IntTupleTest.cpp - Nested tuples of integers -----------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tuples are read from text and printed as the same text. Nesting, flattening
// and congruence are checked on small tuples; each kind of wrong text must be
// an error.
//
//===----------------------------------------------------------------------===//

#include "tilews/Layout/IntTuple.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace tilews;
using testing::ElementsAre;

namespace {

IntTuple parse(llvm::StringRef text) {
  return llvm::cantFail(IntTuple::parse(text));
}

std::string getError(llvm::StringRef text) {
  llvm::Expected<IntTuple> tuple = IntTuple::parse(text);
  return tuple ? "" : llvm::toString(tuple.takeError());
}

TEST(IntTupleTest, TextsAreReadAndPrinted) {
  for (const char *text : {"8", "(2,4)", "((2,4),8)", "(_,(1,_))", "()", "(5)"})
    EXPECT_EQ(parse(text).str(), text);
  EXPECT_EQ(parse(" ( 2 , 4 ) ").str(), "(2,4)");
}

TEST(IntTupleTest, WrongTextsAreErrors) {
  for (const char *text : {"", "(", "(2,", "2,4", "(2 4)", "(2,4))", "x"})
    EXPECT_NE(getError(text), "") << text;
}

TEST(IntTupleTest, RankDepthAndParts) {
  IntTuple tuple = parse("((2,4),8)");
  EXPECT_EQ(tuple.getRank(), 2u);
  EXPECT_EQ(tuple.getDepth(), 2);
  EXPECT_EQ(tuple[0], parse("(2,4)"));
  EXPECT_EQ(tuple[1].getValue(), 8);
  EXPECT_EQ(IntTuple(8).getRank(), 1u);
  EXPECT_EQ(IntTuple(8).getDepth(), 0);
  EXPECT_EQ(IntTuple(8)[0], IntTuple(8));
}

TEST(IntTupleTest, NestUndoesFlatten) {
  for (const char *text : {"8", "(2,4)", "((2,4),8)", "(1,(2,(3,4)),5)"}) {
    IntTuple tuple = parse(text);
    EXPECT_EQ(tuple.nest(tuple.flatten()), tuple);
  }
  EXPECT_THAT(parse("((2,4),8)").flatten(), ElementsAre(2, 4, 8));
  EXPECT_EQ(parse("((2,4),8)").nest({1, 2, 3}), parse("((1,2),3)"));
}

TEST(IntTupleTest, CongruenceIgnoresValues) {
  EXPECT_TRUE(parse("((2,4),8)").isCongruentTo(parse("((1,1),0)")));
  EXPECT_FALSE(parse("((2,4),8)").isCongruentTo(parse("(2,(4,8))")));
  EXPECT_FALSE(parse("(2)").isCongruentTo(parse("2")));
}

} // namespace
