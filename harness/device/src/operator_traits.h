// What the plug-in knows about one operator beyond its schema.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

#include <optional>
#include <string_view>

namespace umpatch_device {

// The operators that the tree implements for MPS (`add.Tensor`), as operators.py found them.
c10::ArrayRef<std::string_view> mps_operators();

struct OperatorTraits {
  // position of the Generator argument
  std::optional<size_t> generator;
  // The upstream kernel reads a result on the CPU (item(), or COMMIT_AND_WAIT) before it returns.
  bool waits_for_result = false;
  // Never deferred: the operator changes metadata or returns a value rather than a tensor.
  bool immediate_only = false;
  // Upstream moves indices that live on the CPU to the device by itself.
  bool accepts_cpu_indices = false;
};

// Computed once per operator.
const OperatorTraits& traits_of(const c10::OperatorHandle& op);

} // namespace umpatch_device
