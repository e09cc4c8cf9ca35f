//===- TileScheduleOps.cpp - Channels and roles ---------------------------===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Types and verifiers of channels, cursors, slots and roles.
//
// A slot is a view of one version: its type lacks the leading dimension, and
// its layout lacks the modes of that dimension. A swizzle XORs address
// bits, and all versions must agree in the bits that it reads. Versions of a
// 128-byte swizzled buffer are therefore a multiple of 1024 bytes apart.
//
// Fragments are registers of the threads of one role. The verifier of
// `tile.specialize` finds uses in a role of fragments made outside of it.
// Fragments computed from scalars alone are allowed, because canonicalization
// moves constants out of roles.
//
//===----------------------------------------------------------------------===//

#include "tilews/Dialect/Tile/IR/Tile.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/OpImplementation.h"
#include "llvm/ADT/TypeSwitch.h" // The generated parser of types.

using namespace mlir;
using namespace tilews;
using namespace tilews::tile;

#define GET_TYPEDEF_CLASSES
#include "tilews/Dialect/Tile/IR/TileTypes.cpp.inc"

void TileDialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "tilews/Dialect/Tile/IR/TileTypes.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

/// No pipeline needs more slots, and the verifier can enumerate as many.
static constexpr int64_t kMaxDepth = 64;

static LogicalResult verifyDepth(function_ref<InFlightDiagnostic()> emitError,
                                 int64_t depth) {
  if (depth >= 1 && depth <= kMaxDepth)
    return success();
  return emitError() << "expected a depth from 1 to " << kMaxDepth << ", found "
                     << depth;
}

LogicalResult ChannelType::verify(function_ref<InFlightDiagnostic()> emitError,
                                  int64_t depth) {
  return verifyDepth(emitError, depth);
}

LogicalResult CursorType::verify(function_ref<InFlightDiagnostic()> emitError,
                                 int64_t depth) {
  return verifyDepth(emitError, depth);
}

LogicalResult MBarrierType::verify(function_ref<InFlightDiagnostic()> emitError,
                                   int64_t depth) {
  return verifyDepth(emitError, depth);
}

//===----------------------------------------------------------------------===//
// ChannelOp
//===----------------------------------------------------------------------===//

LogicalResult ChannelOp::verify() {
  int64_t depth = getChannel().getType().getDepth();
  for (Value buffer : getBuffers()) {
    if (Operation *def = buffer.getDefiningOp(); isa_and_present<ViewOp>(def))
      return emitOpError("takes whole buffers, found the result of '")
             << def->getName()
             << "'; give it the buffer, and view its slots in the roles";
    auto type = cast<MemRefType>(buffer.getType());
    if (type.getRank() < 1 || type.getDimSize(0) != depth)
      return emitOpError("expected buffers with a leading dimension of ")
             << depth << ", one version for each slot, found " << type;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// SlotOp
//===----------------------------------------------------------------------===//

/// Returns the layout of one version.
static SharedLayoutAttr dropLeadingDim(SharedLayoutAttr layout) {
  SmallVector<Mode> modes;
  for (Mode mode : layout.getModes())
    if (mode.dim > 0)
      modes.push_back({mode.extent, mode.stride, mode.dim - 1});
  return SharedLayoutAttr::get(layout.getContext(),
                               SharedLayout(modes, layout.getSwizzle()));
}

MemRefType SlotOp::getSlotType(MemRefType source) {
  MemRefLayoutAttrInterface layout;
  if (auto shared = dyn_cast<SharedLayoutAttr>(source.getLayout()))
    layout = dropLeadingDim(shared);
  return MemRefType::get(source.getShape().drop_front(),
                         source.getElementType(), layout,
                         source.getMemorySpace());
}

ParseResult SlotOp::parse(OpAsmParser &parser, OperationState &result) {
  OpAsmParser::UnresolvedOperand source, cursor;
  MemRefType sourceType, slotType;
  if (parser.parseOperand(source) || parser.parseLSquare() ||
      parser.parseOperand(cursor) || parser.parseRSquare() ||
      parser.parseOptionalAttrDict(result.attributes) ||
      parser.parseColonType(sourceType))
    return failure();
  SMLoc loc = parser.getCurrentLocation();
  Type cursorType;
  if (succeeded(parser.parseOptionalComma())) {
    if (parser.parseType(cursorType))
      return failure();
  } else {
    // The buffer has as many versions as the cursor's channel has slots.
    int64_t depth = sourceType.getRank() ? sourceType.getDimSize(0) : 0;
    cursorType = CursorType::getChecked([&] { return parser.emitError(loc); },
                                        parser.getContext(), depth);
    if (!cursorType)
      return failure();
  }
  if (parser.parseArrow() || parser.parseType(slotType))
    return failure();
  result.addTypes(slotType);
  return failure(parser.resolveOperand(source, sourceType, result.operands) ||
                 parser.resolveOperand(cursor, cursorType, result.operands));
}

void SlotOp::print(OpAsmPrinter &printer) {
  printer << ' ' << getSource() << '[' << getCursor() << ']';
  printer.printOptionalAttrDict((*this)->getAttrs());
  printer << " : " << getSource().getType();
  if (!isa<CursorType>(getCursor().getType()))
    printer << ", " << getCursor().getType();
  printer << " -> " << getResult().getType();
}

/// Rewrites a slot of a view to a view of a slot, so that the slot is one of
/// the allocated buffer.
LogicalResult SlotOp::canonicalize(SlotOp op, PatternRewriter &rewriter) {
  auto view = op.getSource().getDefiningOp<ViewOp>();
  if (!view || isa<SharedLayoutAttr>(op.getType().getLayout()))
    return failure();
  auto versions = cast<MemRefType>(view.getSource().getType());
  if (versions.getRank() < 1 ||
      versions.getDimSize(0) != view.getType().getDimSize(0))
    return failure();
  Value slot =
      SlotOp::create(rewriter, op.getLoc(), view.getSource(), op.getCursor());
  rewriter.replaceOpWithNewOp<ViewOp>(op, op.getType(), slot);
  return success();
}

LogicalResult SlotOp::verify() {
  auto source = cast<MemRefType>(getSource().getType());
  auto slot = cast<MemRefType>(getResult().getType());
  if (source.getRank() < 1)
    return emitOpError("expected a buffer with versions as its leading "
                       "dimension, found ")
           << source;
  auto cursor = dyn_cast<CursorType>(getCursor().getType());
  if (cursor && source.getDimSize(0) != cursor.getDepth())
    return emitOpError("expected a buffer with ")
           << cursor.getDepth() << " versions as its leading dimension, found "
           << source;
  if (slot != getSlotType(source))
    return emitOpError("expected a result of type ")
           << getSlotType(source) << ", found " << slot;
  auto layout = dyn_cast<SharedLayoutAttr>(source.getLayout());
  if (!layout)
    return success();
  // A swizzle permutes bytes by address bits, which must be equal in all
  // versions.
  int64_t atom = layout.getSwizzle().getAtomBytes();
  int64_t bits = getStorageBits(source.getElementType());
  for (const Mode &mode : layout.getModes())
    if (mode.dim == 0 && mode.extent > 1 && mode.stride * bits % (atom * 8))
      return emitOpError("versions lie ")
             << mode.stride * bits / 8
             << " bytes apart, expected a multiple of the swizzle's span of "
             << atom << " bytes";
  return success();
}

//===----------------------------------------------------------------------===//
// SpecializeOp
//===----------------------------------------------------------------------===//

int64_t SpecializeOp::getNumWarps() {
  int64_t warps = 0;
  for (RoleOp role : getRoles())
    warps += role.getWarps();
  return warps;
}

LogicalResult SpecializeOp::verify() {
  if ((*this)->getParentOfType<SpecializeOp>())
    return emitOpError("is in a role; roles cannot be nested");
  return success();
}

LogicalResult SpecializeOp::verifyTarget(const TargetInfo &target) {
  if (target.hasMBarriers())
    return success();
  return emitOpError("needs barriers in shared memory (mbarrier), by which "
                     "roles hand tiles to each other, but ")
         << target.chip
         << " has none; roles run on NVIDIA GPUs from sm_80 on, and copy by "
            "TMA from sm_90 on. Compile for one of these (sm_90a), or write a "
            "loop with tile.num_stages (num_stages= in Python) instead: it "
            "runs on all targets, and roles are made of it where they help";
}

/// Returns whether a fragment is computed from scalars alone, so that each role
/// can compute it anew. Canonicalization moves constants out of roles.
static bool isMadeOfScalars(Value fragment) {
  Operation *op = fragment.getDefiningOp();
  return op && isPure(op) &&
         llvm::none_of(op->getOperandTypes(),
                       [](Type type) { return isa<TensorType>(type); });
}

/// Returns the first use in `role` of a fragment made outside of it.
static OpOperand *findForeignFragment(RoleOp role) {
  OpOperand *found = nullptr;
  role->walk([&](Operation *op) {
    for (OpOperand &operand : op->getOpOperands()) {
      if (!isa<TensorType>(operand.get().getType()) ||
          role.getBody().isAncestor(operand.get().getParentRegion()) ||
          isMadeOfScalars(operand.get()))
        continue;
      found = &operand;
      return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return found;
}

LogicalResult SpecializeOp::verifyRegions() {
  llvm::SmallDenseSet<StringAttr> names;
  for (Operation &op : getBody().front()) {
    auto role = dyn_cast<RoleOp>(op);
    if (!role)
      return emitOpError("holds roles only, found '") << op.getName() << "'";
    if (!names.insert(role.getNameAttr()).second)
      return role.emitOpError("has the name of another role: @")
             << role.getName();
    if (OpOperand *operand = findForeignFragment(role)) {
      InFlightDiagnostic diag =
          operand->getOwner()->emitOpError("uses a fragment in role @");
      diag << role.getName()
           << " that was made outside of it; fragments are in the registers of "
              "one role";
      diag.attachNote(operand->get().getLoc()) << "made here";
      return diag;
    }
  }
  if (names.empty())
    return emitOpError("expected at least one role");
  int64_t registers = 0;
  for (RoleOp role : getRoles())
    registers += role.getRegisters().value_or(0) * role.getNumThreads();
  if (registers > kRegisterFile)
    return emitOpError("roles ask for ")
           << registers << " registers, but a block has " << kRegisterFile;
  auto kernel = (*this)->getParentOfType<gpu::GPUFuncOp>();
  int64_t threads = getNumWarps() * TargetInfo::getWarpSize(getOperation());
  if (kernel && threads != tile::getNumThreads(kernel))
    return emitOpError("roles have ")
           << threads << " threads, but the kernel has "
           << tile::getNumThreads(kernel);
  return success();
}

//===----------------------------------------------------------------------===//
// RoleOp
//===----------------------------------------------------------------------===//

int64_t RoleOp::getNumThreads() {
  return getWarps() * TargetInfo::getWarpSize(getOperation());
}

int64_t RoleOp::getFirstThread() {
  int64_t warps = 0;
  for (RoleOp role : cast<SpecializeOp>((*this)->getParentOp()).getRoles()) {
    if (role == *this)
      break;
    warps += role.getWarps();
  }
  return warps * TargetInfo::getWarpSize(getOperation());
}

LogicalResult RoleOp::verify() {
  std::optional<int64_t> registers = getRegisters();
  if (!registers)
    return success();
  if (!isRegisterCount(*registers))
    return emitOpError("expected a multiple of 8 from 24 to 256 registers, "
                       "found ")
           << *registers;
  for (RoleOp role : cast<SpecializeOp>((*this)->getParentOp()).getRoles())
    if (role.getWarps() % 4)
      return emitOpError("registers are given to warpgroups of 4 warps, but "
                         "role @")
             << role.getName() << " has " << role.getWarps() << " warps";
  return success();
}

bool tile::runsOnOneThread(Operation *op) {
  if (isa<CopyOp>(op))
    return hasInst(op, InstKind::Tma);
  if (auto arrive = dyn_cast<MBarrierArriveOp>(op))
    return arrive.getBy() == Agents::Thread;
  if (isa<AcquireOp, CommitOp, WaitOp, ReleaseOp, AdvanceOp, CursorOp, SlotOp,
          SubviewOp, ViewOp, MBarrierExpectOp, MBarrierWaitOp, ProxyFenceOp,
          memref::LoadOp, memref::DimOp, scf::ForOp, scf::IfOp, scf::WhileOp,
          scf::YieldOp, scf::ConditionOp, gpu::BlockIdOp, gpu::GridDimOp>(op))
    return true;
  auto isScalar = [](Type type) {
    return type.isIntOrIndexOrFloat() || isa<CursorType>(type);
  };
  return isMemoryEffectFree(op) && op->getNumRegions() == 0 &&
         llvm::all_of(op->getOperandTypes(), isScalar) &&
         llvm::all_of(op->getResultTypes(), isScalar);
}

LogicalResult RoleOp::verifyRegions() {
  if (!getElected())
    return success();
  WalkResult result = getBody().walk([&](Operation *op) {
    if (runsOnOneThread(op))
      return WalkResult::advance();
    InFlightDiagnostic diag = op->emitOpError("is in the elected role @");
    diag << getName() << ", which one thread runs, but needs all threads";
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

//===----------------------------------------------------------------------===//
// Limits
//===----------------------------------------------------------------------===//

bool tile::isLimitedTo(Operation *kernel, ScheduleLimit limit) {
  auto found =
      kernel->getAttrOfType<ScheduleLimitAttr>(TileDialect::kScheduleLimit);
  return found && found.getValue() >= limit;
}
