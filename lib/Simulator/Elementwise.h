//===- Elementwise.h - Operations on each element ---------------*- C++ -*-===//
//
// Part of tilews, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An elementwise operation is defined once, as a function of elements, and
// works on scalars and fragments. Results are rounded or wrapped to the element
// type afterwards:
//
//   addElementwise<math::ExpOp, double, double>(
//       registry, [](double a) { return std::exp(a); });
//
//===----------------------------------------------------------------------===//

#ifndef TILEWS_LIB_SIMULATOR_ELEMENTWISE_H
#define TILEWS_LIB_SIMULATOR_ELEMENTWISE_H

#include "Program.h"

#include <utility>

namespace tilews::sim {

namespace detail {
template <typename Out, typename... In, typename Fn, size_t... I>
void mapElements(Frame &frame, const Instruction &inst, unsigned result, Fn fn,
                 std::index_sequence<I...>) {
  const ValueType &type = inst.resultTypes[result];
  Datum datum = makeDatum(type);
  Out *out = datum.elements<Out>();
  std::tuple<const In *...> in(frame.get(inst, I).template elements<In>()...);
  int64_t count = type.countElements();
  for (int64_t i = 0; i < count; ++i)
    out[i] = fn(std::get<I>(in)[i]...);
  normalize(type.element, out, count);
  frame.set(inst, result, std::move(datum));
}
} // namespace detail

/// Sets a result of `inst` to `fn` of each element of its operands, whose
/// element classes are `In` (`int64_t` or `double`).
template <typename Out, typename... In, typename Fn>
mlir::LogicalResult mapElements(Frame &frame, const Instruction &inst, Fn fn,
                                unsigned result = 0) {
  detail::mapElements<Out, In...>(frame, inst, result, fn,
                                  std::index_sequence_for<In...>());
  return mlir::success();
}

/// Registers an operation whose result is `fn` of each element.
template <typename OpT, typename Out, typename... In, typename Fn>
void addElementwise(Registry &registry, Fn fn) {
  registry.add<OpT>([fn](Frame &frame, const Instruction &inst) {
    return mapElements<Out, In...>(frame, inst, fn);
  });
}

/// Registers an integer operation whose function also needs the width of its
/// operands.
template <typename OpT, typename... In, typename Fn>
void addSized(Registry &registry, Fn fn) {
  registry.add<OpT>([fn](Frame &frame, const Instruction &inst) {
    unsigned width = inst.operandType.width;
    return mapElements<int64_t, In...>(
        frame, inst, [&](In... values) { return fn(width, values...); });
  });
}

} // namespace tilews::sim

#endif // TILEWS_LIB_SIMULATOR_ELEMENTWISE_H
