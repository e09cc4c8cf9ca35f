//===- Disassemble.cpp - Instructions of a code object --------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Disassembles AMD code objects with LLVM's MC layer. The ELF header names the
// chip, whose decoder then reads the executable sections from their first byte.
// Times come from the scheduling model of the same chip: the scheduling class
// of an instruction, resolved for its operands if it has variants, lists the
// units that it writes and for how long.
//
//===----------------------------------------------------------------------===//

#include "tilews/Target/Disassemble.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/MC/MCAsmInfo.h"
#include "llvm/MC/MCContext.h"
#include "llvm/MC/MCDisassembler/MCDisassembler.h"
#include "llvm/MC/MCInst.h"
#include "llvm/MC/MCInstPrinter.h"
#include "llvm/MC/MCInstrInfo.h"
#include "llvm/MC/MCRegisterInfo.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/MCTargetOptions.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"
#include <mutex>

using namespace mlir;
using namespace tilews;

static llvm::Error makeError(const Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

namespace {
/// LLVM's decoder, printer and scheduling model of one chip.
class Disassembler {
public:
  static llvm::Expected<std::unique_ptr<Disassembler>> create(StringRef chip);

  /// Appends the instructions of a section that is loaded to `address`.
  void read(ArrayRef<uint8_t> bytes, uint64_t address,
            std::vector<DisassembledInstruction> &instructions);

private:
  std::string print(const llvm::MCInst &inst, uint64_t address);
  InstructionCycles getTiming(const llvm::MCInst &inst) const;

  llvm::MCTargetOptions options;
  std::unique_ptr<llvm::MCRegisterInfo> registers;
  std::unique_ptr<llvm::MCAsmInfo> assembler;
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget;
  std::unique_ptr<llvm::MCInstrInfo> instructions;
  std::unique_ptr<llvm::MCContext> context;
  std::unique_ptr<llvm::MCDisassembler> decoder;
  std::unique_ptr<llvm::MCInstPrinter> printer;
};
} // namespace

llvm::Expected<std::unique_ptr<Disassembler>>
Disassembler::create(StringRef chip) {
  static std::once_flag initialized;
  std::call_once(initialized, [] {
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUDisassembler();
  });
  llvm::Triple triple("amdgcn-amd-amdhsa");
  std::string message;
  const llvm::Target *target =
      llvm::TargetRegistry::lookupTarget(triple, message);
  if (!target)
    return makeError(message);

  auto made = std::make_unique<Disassembler>();
  made->registers.reset(target->createMCRegInfo(triple));
  made->assembler.reset(
      target->createMCAsmInfo(*made->registers, triple, made->options));
  made->subtarget.reset(target->createMCSubtargetInfo(triple, chip, ""));
  made->instructions.reset(target->createMCInstrInfo());
  made->context = std::make_unique<llvm::MCContext>(
      triple, made->assembler.get(), made->registers.get(),
      made->subtarget.get());
  made->decoder.reset(
      target->createMCDisassembler(*made->subtarget, *made->context));
  made->printer.reset(
      target->createMCInstPrinter(triple, /*SyntaxVariant=*/0, *made->assembler,
                                  *made->instructions, *made->registers));
  if (!made->decoder || !made->printer)
    return makeError("this build of LLVM cannot disassemble code for " + chip);
  return made;
}

void Disassembler::read(ArrayRef<uint8_t> bytes, uint64_t address,
                        std::vector<DisassembledInstruction> &list) {
  // Instructions are made of words of 4 bytes.
  constexpr uint64_t kWord = 4;
  for (uint64_t place = 0; place + kWord <= bytes.size();) {
    llvm::MCInst inst;
    uint64_t size = 0;
    llvm::MCDisassembler::DecodeStatus status = decoder->getInstruction(
        inst, size, bytes.drop_front(place), address + place, llvm::nulls());
    if (status != llvm::MCDisassembler::Success) {
      place += kWord;
      continue;
    }
    list.push_back({address + place, static_cast<unsigned>(size),
                    print(inst, address + place), getTiming(inst)});
    place += size;
  }
}

std::string Disassembler::print(const llvm::MCInst &inst, uint64_t address) {
  std::string text;
  llvm::raw_string_ostream os(text);
  printer->printInst(&inst, address, /*Annot=*/"", *subtarget, os);
  // Names are separated from operands by a tab.
  std::replace(text.begin(), text.end(), '\t', ' ');
  return StringRef(text).trim().str();
}

InstructionCycles Disassembler::getTiming(const llvm::MCInst &inst) const {
  const llvm::MCSchedModel &model = subtarget->getSchedModel();
  unsigned index = instructions->get(inst.getOpcode()).getSchedClass();
  const llvm::MCSchedClassDesc *desc = model.getSchedClassDesc(index);
  while (desc->isVariant()) {
    index = subtarget->resolveVariantSchedClass(
        index, &inst, instructions.get(), model.getProcessorID());
    desc = model.getSchedClassDesc(index);
  }
  InstructionCycles timing;
  if (!desc->isValid())
    return timing;
  timing.latency = llvm::MCSchedModel::computeInstrLatency(*subtarget, *desc);
  for (const llvm::MCWriteProcResEntry &entry :
       llvm::make_range(subtarget->getWriteProcResBegin(desc),
                        subtarget->getWriteProcResEnd(desc)))
    if (entry.ReleaseAtCycle > timing.occupied) {
      timing.occupied = entry.ReleaseAtCycle;
      timing.unit = model.getProcResource(entry.ProcResourceIdx)->Name;
    }
  return timing;
}

llvm::Expected<Disassembly> tilews::disassemble(StringRef codeObject) {
  llvm::MemoryBufferRef buffer(codeObject, "code object");
  auto file = llvm::object::ObjectFile::createELFObjectFile(buffer);
  if (!file)
    return file.takeError();
  std::optional<StringRef> chip = (*file)->tryGetCPUName();
  if ((*file)->getArch() != llvm::Triple::amdgcn || !chip)
    return makeError("expected a code object for an AMD GPU");
  auto disassembler = Disassembler::create(*chip);
  if (!disassembler)
    return disassembler.takeError();

  Disassembly result{chip->str(), {}};
  for (const llvm::object::SectionRef &section : (*file)->sections()) {
    if (!section.isText())
      continue;
    llvm::Expected<StringRef> contents = section.getContents();
    if (!contents)
      return contents.takeError();
    (*disassembler)
        ->read(llvm::arrayRefFromStringRef(*contents), section.getAddress(),
               result.instructions);
  }
  return result;
}
