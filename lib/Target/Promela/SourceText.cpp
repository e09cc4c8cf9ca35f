//===- SourceText.cpp - Names and lines of the source ---------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// MLIR forgets the names of values. The state of the parser still has the
// places where they were defined, and so the words. Results of one operation
// have one word, `%r:2`: they become r_0 and r_1. Words that Promela reserves,
// such as `full`, get a number. Bytecode has no text: values are then numbered,
// and comments show the operation as it is printed.
//
//===----------------------------------------------------------------------===//

#include "SourceText.h"

#include "tilews/Dialect/Tile/IR/Tile.h"

#include "mlir/AsmParser/AsmParserState.h"
#include "mlir/IR/Block.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::promela;

/// Words of Promela, of C's preprocessor, and of the text before each model.
static constexpr StringLiteral kReserved =
    "ARRIVE BARRIERS DEPTH END_FILL END_READ END_UPDATE END_WRITE FENCE "
    "GROUP GROUPS_END MOST_PENDING NEVER PLACES PRODUCES QUEUE ROLES "
    "THREADS WAIT active apply apply_landing arrivals arrive "
    "arrive_after_copies arrive_late assert assume atomic barrier barrier_t "
    "begin_copy begin_fill begin_matmul begin_read begin_store begin_update "
    "begin_wait begin_write below bit bool break byte c_code c_decl c_expr "
    "c_state c_track ceildiv chan check commit_group complete copies count "
    "d_step depart do done element else empty enabled end end_fill "
    "end_fills end_late end_wait end_write ended eval expect false fence "
    "fence_late fi flight flight_t floordiv floormod flush for full "
    "get_priority go_on_to_arrival goto groups hidden if in infeasible init "
    "inline int is_aligned is_apart is_fillable is_idle is_inside "
    "is_read_by_matmul is_read_by_store is_readable is_storable "
    "is_updatable is_writable issued kernel land landing landing_groups "
    "last_copied late least len linux local ltl made matmuls most mtype "
    "nempty never nfull notrace np_ od of own_variables pc_value phase pid "
    "place place_t pop_copy printf printm priority proctype provided reader "
    "reader_t ready room run see seen select set_priority short show skip "
    "slot slot_t store_cells stored_starts stores taken timeout tma trace "
    "true typedef unix unless unsigned until until_all_landed until_landed "
    "wait_for_all_copies wait_for_copies wait_for_matmuls wait_for_stores "
    "wait_late wrap xr xs";

/// The fields of the types in the text before each model.
static constexpr StringLiteral kFields =
    "acquired bytes cells committed copies count fill filled fills holder "
    "pending phase read readers released signals starts unfenced updaters "
    "waited writer writers written";

static bool isReserved(StringRef word) {
  return llvm::is_contained(llvm::split(kReserved, ' '), word);
}

static std::string toIdentifier(StringRef text) {
  std::string word;
  for (char c : text.ltrim("%@"))
    word += llvm::isAlnum(c) ? c : '_';
  if (word.empty() || llvm::isDigit(word.front()))
    word.insert(0, "v");
  return word;
}

std::string SourceText::makeName(StringRef wish, Operation *role) {
  std::string word = toIdentifier(wish), name = word;
  auto isFree = [&] {
    return !isReserved(name) && !used[nullptr].contains(name) &&
           used[role].insert(name).second;
  };
  for (unsigned number = 2; !isFree(); ++number)
    name = word + "_" + std::to_string(number);
  return name;
}

std::string SourceText::makeProcessName(StringRef wish) {
  std::string word = toIdentifier(wish);
  if (llvm::is_contained(llvm::split(kFields, ' '), StringRef(word)))
    word += "_role";
  return makeName(word);
}

static StringRef getWord(const AsmParserState::SMDefinition &definition) {
  const char *begin = definition.loc.Start.getPointer();
  return StringRef(begin, definition.loc.End.getPointer() - begin);
}

std::string SourceText::findWord(Value value) const {
  if (!state)
    return "v";
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    const auto *block = state->getBlockDef(argument.getOwner());
    if (block && argument.getArgNumber() < block->arguments.size())
      return getWord(block->arguments[argument.getArgNumber()]).str();
    return "v";
  }
  auto result = cast<OpResult>(value);
  const auto *op = state->getOpDef(result.getOwner());
  if (!op || op->resultGroups.empty())
    return "v";
  unsigned number = result.getResultNumber(), group = 0;
  while (group + 1 < op->resultGroups.size() &&
         op->resultGroups[group + 1].startIndex <= number)
    ++group;
  unsigned first = op->resultGroups[group].startIndex;
  unsigned last = group + 1 < op->resultGroups.size()
                      ? op->resultGroups[group + 1].startIndex
                      : result.getOwner()->getNumResults();
  std::string name = getWord(op->resultGroups[group].definition).str();
  return last - first > 1 ? name + "_" + std::to_string(number - first) : name;
}

/// The role that defines `value`, if one does.
static Operation *getRole(Value value) {
  Operation *owner = value.getParentBlock()->getParentOp();
  return isa<tile::RoleOp>(owner) ? owner
                                  : owner->getParentOfType<tile::RoleOp>();
}

std::string SourceText::getName(Value value) {
  std::string &name = names[value];
  if (name.empty())
    name = makeName(findWord(value), getRole(value));
  return name;
}

std::string SourceText::getConstantName(Value value) {
  std::string &name = names[value];
  if (name.empty())
    name = makeName(StringRef(toIdentifier(findWord(value))).upper());
  return name;
}

std::string SourceText::getComment(Operation *op) const {
  std::string text;
  const auto *definition = state ? state->getOpDef(op) : nullptr;
  if (definition) {
    // From the beginning of the line on: the results stand before the name.
    const char *begin = definition->loc.Start.getPointer(), *end = begin;
    if (!definition->resultGroups.empty())
      begin =
          definition->resultGroups.front().definition.loc.Start.getPointer();
    while (*end && *end != '\n')
      ++end;
    text = StringRef(begin, end - begin).trim().str();
  } else {
    llvm::raw_string_ostream os(text);
    op->print(os, OpPrintingFlags().skipRegions().useLocalScope());
  }
  if (auto place = op->getLoc()->findInstanceOf<FileLineColLoc>())
    text = std::to_string(place.getLine()) + ": " + text;
  // Nothing in a line may end the comment.
  for (size_t at = text.find("*/"); at != std::string::npos;
       at = text.find("*/"))
    text.replace(at, 2, "* /");
  return text;
}
