//===- BuildIds.cpp - Which build of the compiler runs --------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The linker gives each library a note with a hash of its content, the build
// ID. Those of the compiler's libraries say exactly which compiler made a
// kernel, so that the cache on disk finds none of another one. The notes are
// read where the libraries are in memory: no file is opened.
//
//===----------------------------------------------------------------------===//

#include "mlir/Bindings/Python/Nanobind.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/MathExtras.h"
#include <cstring>
#include <link.h>
#include <string>
#include <vector>

namespace nb = nanobind;

/// Returns the build ID among the notes of a segment; empty if it has none.
static llvm::StringRef findBuildId(llvm::StringRef notes) {
  while (notes.size() >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) header;
    std::memcpy(&header, notes.data(), sizeof(header));
    notes = notes.drop_front(sizeof(header));
    llvm::StringRef name = notes.take_front(header.n_namesz);
    notes = notes.drop_front(
        std::min<size_t>(llvm::alignTo(header.n_namesz, 4), notes.size()));
    if (header.n_type == NT_GNU_BUILD_ID &&
        name == llvm::StringRef("GNU", sizeof("GNU")))
      return notes.take_front(header.n_descsz);
    notes = notes.drop_front(
        std::min<size_t>(llvm::alignTo(header.n_descsz, 4), notes.size()));
  }
  return {};
}

/// Whether a library is a part of the compiler.
static bool isOfCompiler(llvm::StringRef path) {
  llvm::StringRef name = path.rsplit('/').second;
  return llvm::any_of(
      std::initializer_list<llvm::StringRef>{"tilews", "LLVM", "MLIR", "lld"},
      [&](llvm::StringRef part) { return name.contains_insensitive(part); });
}

static int visitLibrary(dl_phdr_info *info, size_t, void *found) {
  if (!isOfCompiler(info->dlpi_name))
    return 0;
  for (const ElfW(Phdr) &segment :
       llvm::ArrayRef(info->dlpi_phdr, info->dlpi_phnum)) {
    if (segment.p_type != PT_NOTE)
      continue;
    const auto *start =
        reinterpret_cast<const char *>(info->dlpi_addr + segment.p_vaddr);
    llvm::StringRef id = findBuildId({start, segment.p_memsz});
    if (!id.empty())
      static_cast<std::vector<std::string> *>(found)->push_back(
          llvm::toHex(id, /*LowerCase=*/true));
  }
  return 0;
}

static std::vector<std::string> getBuildIds() {
  std::vector<std::string> found;
  dl_iterate_phdr(visitLibrary, &found);
  return found;
}

void populateBuildIds(nb::module_ &m) {
  m.def("build_ids", &getBuildIds,
        "The build IDs of the compiler's libraries, in hexadecimal digits");
}
