//===- TileBytecode.cpp - Versions of the dialect in bytecode -------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Bytecode holds the number TileDialect::kBytecodeVersion beside the name of
// the dialect. The reader refuses a greater number: such a file may hold
// operations or properties that this compiler would misread.
//
// The rest needs no code here. MLIR writes attributes and types of the dialect
// in their textual form, and TableGen makes the reader and writer of
// properties. A change that breaks the reading of older files increases the
// number. It reads them in one of two places: an override of
// `upgradeFromVersion` here for a change of the IR, `readProperties` of the
// operation for a change of its properties. Version 2 added the order and the
// scope of `tile.atomic_rmw`, and the rows and the limit of `tile.copy`.
// Version 3 added the types of packed operands of `tile.gemm`.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/IR/Tile.h"

#include "mlir/Bytecode/BytecodeImplementation.h"

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

namespace {
/// The version of the dialect that wrote a file, such as 1.
struct TileBytecodeVersion : DialectVersion {
  explicit TileBytecodeVersion(uint64_t number) : number(number) {}
  uint64_t number;
};

struct TileBytecodeInterface : BytecodeDialectInterface {
  explicit TileBytecodeInterface(Dialect *dialect)
      : BytecodeDialectInterface(dialect) {}

  void writeVersion(DialectBytecodeWriter &writer) const override {
    writer.writeVarInt(TileDialect::kBytecodeVersion);
  }

  std::unique_ptr<DialectVersion>
  readVersion(DialectBytecodeReader &reader) const override {
    uint64_t number;
    if (failed(reader.readVarInt(number)))
      return nullptr;
    if (number > TileDialect::kBytecodeVersion) {
      reader.emitError("the bytecode has version ")
          << number << " of the tile dialect, but this tilews reads versions "
          << "up to " << TileDialect::kBytecodeVersion
          << "; read it with the tilews that wrote it, or a newer one";
      return nullptr;
    }
    return std::make_unique<TileBytecodeVersion>(number);
  }
};
} // namespace

/// Returns the version of the dialect that wrote a file. Files of tilews 0.1.0
/// have none, and the form of version 1.
static uint64_t getVersion(DialectBytecodeReader &reader) {
  FailureOr<const DialectVersion *> version =
      reader.getDialectVersion<TileDialect>();
  return succeeded(version)
             ? static_cast<const TileBytecodeVersion *>(*version)->number
             : 1;
}

LogicalResult AtomicRMWOp::readProperties(DialectBytecodeReader &reader,
                                          OperationState &state) {
  auto &properties = state.getOrAddProperties<Properties>();
  if (failed(reader.readAttribute(properties.kind)))
    return failure();
  if (getVersion(reader) == 1)
    properties.order =
        MemoryOrderAttr::get(reader.getContext(), MemoryOrder::Relaxed);
  else if (failed(reader.readAttribute(properties.order)) ||
           failed(reader.readOptionalAttribute(properties.scope)))
    return failure();
  return failure(failed(reader.readAttribute(properties.sizes)) ||
                 failed(reader.readAttribute(properties.static_offsets)));
}

void AtomicRMWOp::writeProperties(DialectBytecodeWriter &writer) {
  const Properties &properties = getProperties();
  writer.writeAttribute(properties.kind);
  writer.writeAttribute(properties.order);
  writer.writeOptionalAttribute(properties.scope);
  writer.writeAttribute(properties.sizes);
  writer.writeAttribute(properties.static_offsets);
}

LogicalResult GemmOp::readProperties(DialectBytecodeReader &reader,
                                     OperationState &state) {
  auto &properties = state.getOrAddProperties<Properties>();
  bool hasTypes = getVersion(reader) > 2;
  return failure(
      failed(reader.readOptionalAttribute(properties.allow_tf32)) ||
      failed(reader.readOptionalAttribute(properties.async)) ||
      failed(reader.readOptionalAttribute(properties.clear_accumulator)) ||
      (hasTypes && failed(reader.readOptionalAttribute(properties.lhs_type))) ||
      failed(reader.readOptionalAttribute(properties.policy)) ||
      (hasTypes && failed(reader.readOptionalAttribute(properties.rhs_type))) ||
      failed(reader.readOptionalAttribute(properties.transpose_lhs)) ||
      failed(reader.readOptionalAttribute(properties.transpose_rhs)));
}

void GemmOp::writeProperties(DialectBytecodeWriter &writer) {
  const Properties &properties = getProperties();
  writer.writeOptionalAttribute(properties.allow_tf32);
  writer.writeOptionalAttribute(properties.async);
  writer.writeOptionalAttribute(properties.clear_accumulator);
  writer.writeOptionalAttribute(properties.lhs_type);
  writer.writeOptionalAttribute(properties.policy);
  writer.writeOptionalAttribute(properties.rhs_type);
  writer.writeOptionalAttribute(properties.transpose_lhs);
  writer.writeOptionalAttribute(properties.transpose_rhs);
}

/// The version of MLIR's own format from which on the number of operands in
/// each group is no attribute.
static constexpr uint64_t kNativeSegments = 6;

LogicalResult CopyOp::readProperties(DialectBytecodeReader &reader,
                                     OperationState &state) {
  auto &properties = state.getOrAddProperties<Properties>();
  MutableArrayRef<int32_t> segments(properties.operandSegmentSizes);
  if (failed(reader.readAttribute(properties.dest_sizes)) ||
      failed(reader.readOptionalAttribute(properties.multicast)))
    return failure();
  if (getVersion(reader) > 1 &&
      (failed(reader.readOptionalAttribute(properties.limit_dim)) ||
       failed(reader.readOptionalAttribute(properties.row_dim))))
    return failure();
  bool isNative = reader.getBytecodeVersion() >= kNativeSegments;
  if (!isNative) {
    DenseI32ArrayAttr attr;
    if (failed(reader.readAttribute(attr)))
      return failure();
    if (size_t(attr.size()) > segments.size())
      return reader.emitError("tile.copy has ")
             << attr.size() << " groups of operands, expected at most "
             << segments.size();
    llvm::copy(attr.asArrayRef(), segments.begin());
  }
  if (failed(reader.readAttribute(properties.source_sizes)) ||
      failed(reader.readAttribute(properties.static_dest_offsets)) ||
      failed(reader.readAttribute(properties.static_source_offsets)))
    return failure();
  return isNative ? reader.readSparseArray(segments) : success();
}

void CopyOp::writeProperties(DialectBytecodeWriter &writer) {
  const Properties &properties = getProperties();
  ArrayRef<int32_t> segments(properties.operandSegmentSizes);
  writer.writeAttribute(properties.dest_sizes);
  writer.writeOptionalAttribute(properties.multicast);
  writer.writeOptionalAttribute(properties.limit_dim);
  writer.writeOptionalAttribute(properties.row_dim);
  bool isNative = writer.getBytecodeVersion() >= int64_t(kNativeSegments);
  if (!isNative)
    writer.writeAttribute(DenseI32ArrayAttr::get(getContext(), segments));
  writer.writeAttribute(properties.source_sizes);
  writer.writeAttribute(properties.static_dest_offsets);
  writer.writeAttribute(properties.static_source_offsets);
  if (isNative)
    writer.writeSparseArray(segments);
}

void TileDialect::registerBytecode() { addInterface<TileBytecodeInterface>(); }
