#include "boxed_fallback.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <torch/library.h>

#include <cstdio>
#include <cstdlib>

#include "arguments.h"
#include "deferred.h"
#include "explicit_kernels.h"
#include "generators.h"
#include "host_alias.h"
#include "operator_traits.h"

namespace umpatch_device {
namespace {

void trace(const c10::OperatorHandle& op) {
  static const bool enabled = std::getenv("UMPATCH_DEVICE_TRACE") != nullptr;
  if (!enabled)
    return;
  std::fprintf(stderr, "[umpatch_device] %s\n", c10::toString(op.operator_name()).c_str());
}

void check_operands(const c10::OperatorHandle& op, const torch::jit::Stack& stack, const OperatorTraits& traits) {
  bool on_device = false;
  bool on_cpu = false;
  for (const auto& value : torch::jit::last(stack, op.schema().arguments().size())) {
    visit_tensors(value, [&](const at::Tensor& tensor) {
      if (tensor.is_mps()) {
        on_device = true;
        check_dtype(tensor);
      } else if (tensor.is_cpu() && tensor.dim() > 0) {
        on_cpu = true;
      }
    });
  }
  TORCH_CHECK(!(on_device && on_cpu) || traits.accepts_cpu_indices,
              "Expected all tensors to be on the same device, but found at least two devices, "
              "mps:0 and cpu! (in ",
              op.operator_name(), ")");
}

void run_now(const c10::OperatorHandle& op, torch::jit::Stack* stack, const OperatorTraits& traits) {
  const auto& schema = op.schema();
  KernelFrame frame(KernelFrame::Timing::immediate);

  const size_t first = stack->size() - schema.arguments().size();
  for (size_t i = first; i < stack->size(); ++i) {
    c10::IValue& value = (*stack)[i];
    if (value.isDevice()) {
      if (value.toDevice().is_mps())
        value = c10::Device(c10::kCPU);
    } else if (traits.generator == i - first) {
      value = host_generator(value);
    } else {
      if (value.isTensor())
        frame.bind_scalar(value.toTensor());
      const auto access = access_of(schema.arguments()[i - first]);
      value = map_tensors(value, [&](const at::Tensor& tensor) { return frame.alias(tensor, access); });
    }
  }
  {
    at::AutoDispatchBelowADInplaceOrView below;
    op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), stack);
  }
  if (traits.waits_for_result) {
    frame.retire();
    commit_and_wait();
  }
  frame.publish_metadata();
  for (size_t i = stack->size() - schema.returns().size(); i < stack->size(); ++i) {
    c10::IValue& value = (*stack)[i];
    value = map_tensors(value, [&](const at::Tensor& tensor) { return frame.to_device(tensor); });
  }
  frame.retire();
}

} // namespace

void check_dtype(const at::Tensor& tensor) {
  switch (tensor.scalar_type()) {
    case at::kFloat:
    case at::kHalf:
    case at::kBFloat16:
    case at::kInt:
    case at::kLong:
    case at::kShort:
    case at::kChar:
    case at::kByte:
    case at::kBool:
    case at::kComplexFloat:
    case at::kComplexHalf:
      return;
    default:
      TORCH_CHECK_TYPE(false, "Trying to convert ", tensor.scalar_type(),
                       " to the MPS backend but it does not have support for that dtype.");
  }
}

void run_on_host(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  trace(op);
  const OperatorTraits& traits = traits_of(op);
  check_operands(op, *stack, traits);
  if (execution() == Execution::asynchronous && run_deferred(op, stack, traits))
    return;
  run_now(op, stack, traits);
}

// The same registrations that upstream's code generator makes from native_functions.yaml, but for
// the operators with a kernel of their own. What is listed nowhere meets the tree's own
// MPSFallback.mm.
TORCH_LIBRARY_IMPL(aten, MPS, library) {
  for (const std::string_view name : mps_operators()) {
    if (has_explicit_kernel(name))
      continue;
    library.impl(std::string(name).c_str(), torch::CppFunction::makeFromBoxedFunction<&run_on_host>());
  }
}

} // namespace umpatch_device
