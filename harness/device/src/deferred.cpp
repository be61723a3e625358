#include "deferred.h"

#include <ATen/ATen.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/mps/EmptyTensor.h>

#include <cstdio>
#include <memory>
#include <optional>
#include <utility>

#include "arguments.h"
#include "generators.h"
#include "host_alias.h"
#include "statistics.h"

namespace umpatch_device {
namespace {

using torch::jit::Stack;

// Where an operator's results live, as its schema declares.
enum class Results {
  fresh,    // new tensors
  in_place, // the arguments that it writes, or nothing
  mixed,    // both, or values that are no tensors: not deferred
};

bool is_tensor_or_list(const c10::TypePtr& type) {
  if (type->kind() == c10::TypeKind::TensorType)
    return true;
  return type->kind() == c10::TypeKind::ListType &&
         type->castRaw<c10::ListType>()->getElementType()->kind() == c10::TypeKind::TensorType;
}

Results classify(const c10::FunctionSchema& schema) {
  bool any_fresh = false;
  bool any_written = false;
  for (const auto& result : schema.returns()) {
    if (!is_tensor_or_list(result.type()))
      return Results::mixed;
    const auto* alias = result.alias_info();
    if (!alias) {
      any_fresh = true;
    } else if (alias->isWrite()) {
      any_written = true;
    } else {
      return Results::mixed; // a view
    }
  }
  if (any_fresh && any_written)
    return Results::mixed;
  if (!any_fresh)
    return Results::in_place;
  for (const auto& argument : schema.arguments()) {
    if (argument.alias_info() && argument.alias_info()->isWrite())
      return Results::mixed;
  }
  return Results::fresh;
}

// Meta tensors that stand for device tensors, and the way back.
class MetaOperands {
 public:
  at::Tensor stand_in(const at::Tensor& tensor) {
    if (!tensor.defined() || !tensor.is_mps())
      return tensor;
    for (const auto& [device, meta] : pairs_) {
      if (device.is_same(tensor))
        return meta;
    }
    TORCH_CHECK(!tensor.is_conj() && !tensor.is_neg(), "meta tensors carry no conj or neg bit");
    auto meta = at::empty_strided(tensor.sizes(), tensor.strides(), tensor.options().device(at::kMeta));
    if (tensor.unsafeGetTensorImpl()->is_wrapped_number()) {
      meta.unsafeGetTensorImpl()->set_wrapped_number(true);
    }
    pairs_.emplace_back(tensor, meta);
    return meta;
  }

  // The device tensor behind a stand-in; undefined if there is none.
  at::Tensor origin(const at::Tensor& stand_in) const {
    for (const auto& [device, meta] : pairs_) {
      if (meta.is_same(stand_in))
        return device;
    }
    return {};
  }

  bool any_reshaped() const {
    for (const auto& [device, meta] : pairs_) {
      if (device.sizes() != meta.sizes() || device.strides() != meta.strides())
        return true;
    }
    return false;
  }

 private:
  c10::SmallVector<std::pair<at::Tensor, at::Tensor>, 8> pairs_;
};

// Runs the operator on meta tensors: shapes, dtypes and argument checks without data.
std::optional<Stack> infer_results(const c10::OperatorHandle& op,
                                   const Stack& stack,
                                   const OperatorTraits& traits,
                                   MetaOperands& operands) {
  const size_t count = op.schema().arguments().size();
  const size_t first = stack.size() - count;
  Stack meta;
  meta.reserve(count);
  try {
    c10::impl::ExcludeDispatchKeyGuard no_autograd(c10::autograd_dispatch_keyset);
    for (size_t i = 0; i < count; ++i) {
      const c10::IValue& value = stack[first + i];
      if (value.isDevice()) {
        meta.push_back(value.toDevice().is_mps() ? c10::Device(c10::kMeta) : value.toDevice());
      } else if (traits.generator == i) {
        meta.emplace_back();
      } else {
        meta.push_back(map_tensors(value, [&](const at::Tensor& tensor) { return operands.stand_in(tensor); }));
      }
    }
    op.callBoxed(&meta);
  } catch (const std::exception&) {
    // no Meta kernel, a data-dependent shape, or an error that the real kernel will raise again
    statistics().shapes_unknown++;
    return std::nullopt;
  }
  if (operands.any_reshaped())
    return std::nullopt; // an out= tensor that would be resized
  return meta;
}

// The arguments as the CPU kernel will see them on the GPU's thread.
std::shared_ptr<Stack> bind_arguments(const c10::OperatorHandle& op,
                                      const Stack& stack,
                                      const OperatorTraits& traits,
                                      KernelFrame& frame) {
  const size_t count = op.schema().arguments().size();
  const size_t first = stack.size() - count;
  auto bound = std::make_shared<Stack>();
  bound->reserve(count);
  for (size_t i = 0; i < count; ++i) {
    const c10::IValue& value = stack[first + i];
    if (value.isDevice()) {
      bound->push_back(value.toDevice().is_mps() ? c10::Device(c10::kCPU) : value.toDevice());
    } else if (traits.generator == i) {
      bound->push_back(host_generator(value));
    } else {
      const auto access = access_of(op.schema().arguments()[i]);
      bound->push_back(map_tensors(value, [&](const at::Tensor& tensor) {
        return tensor.defined() && tensor.is_cpu() ? frame.scalar_alias(tensor) : frame.alias(tensor, access);
      }));
    }
  }
  return bound;
}

void call_cpu_kernel(const c10::OperatorHandle& op, Stack& arguments) {
  // A boxed kernel with several outputs returns references into argument slots that the boxing
  // wrapper has dropped by then: whoever defers the call has to hold the arguments.
  const Stack held(arguments);
  op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), &arguments);
}

// Device tensors for results that meta tensors describe, and their host aliases in order.
class PendingResults {
 public:
  explicit PendingResults(KernelFrame& frame) : frame_(frame), hosts_(std::make_shared<std::vector<at::Tensor>>()) {
  }

  at::Tensor allocate(const at::Tensor& description) {
    if (!description.defined()) {
      hosts_->emplace_back();
      return {};
    }
    const auto dtype = description.scalar_type() == at::kDouble ? at::kFloat : description.scalar_type();
    at::Tensor device = at::detail::empty_strided_mps(description.sizes(), description.strides(), dtype, kDevice);
    if (description.unsafeGetTensorImpl()->is_wrapped_number()) {
      device.unsafeGetTensorImpl()->set_wrapped_number(true);
    }
    hosts_->push_back(frame_.alias(device, KernelFrame::Access::writes));
    return device;
  }

  std::shared_ptr<std::vector<at::Tensor>> hosts() const {
    return hosts_;
  }

 private:
  KernelFrame& frame_;
  std::shared_ptr<std::vector<at::Tensor>> hosts_;
};

void store(const at::Tensor& result, at::Tensor& destination) {
  if (!destination.defined() || !result.defined() || destination.numel() == 0)
    return;
  TORCH_CHECK(destination.sizes() == result.sizes(), "meta tensors promised shape ", destination.sizes(),
              ", the kernel returned ", result.sizes());
  destination.copy_(result);
}

bool defer_in_place(const c10::OperatorHandle& op,
                    Stack* stack,
                    const Stack& described,
                    const MetaOperands& operands,
                    const OperatorTraits& traits) {
  const auto& schema = op.schema();
  std::vector<c10::IValue> results;
  for (size_t i = described.size() - schema.returns().size(); i < described.size(); ++i) {
    if (!described[i].isTensor())
      return false;
    at::Tensor written = operands.origin(described[i].toTensor());
    if (!written.defined())
      return false;
    results.emplace_back(std::move(written));
  }
  KernelFrame frame(KernelFrame::Timing::deferred);
  auto arguments = bind_arguments(op, *stack, traits, frame);
  frame.submit(guarded([op, arguments] {
    call_cpu_kernel(op, *arguments);
    arguments->clear();
  }));
  torch::jit::drop(*stack, schema.arguments().size());
  for (auto& result : results)
    stack->push_back(std::move(result));
  return true;
}

bool defer_fresh(const c10::OperatorHandle& op, Stack* stack, const Stack& described, const OperatorTraits& traits) {
  const auto& schema = op.schema();
  KernelFrame frame(KernelFrame::Timing::deferred);
  auto arguments = bind_arguments(op, *stack, traits, frame);
  PendingResults pending(frame);
  std::vector<c10::IValue> results;
  for (size_t i = described.size() - schema.returns().size(); i < described.size(); ++i) {
    results.push_back(
        map_tensors(described[i], [&](const at::Tensor& description) { return pending.allocate(description); }));
  }
  frame.submit(guarded([op, arguments, hosts = pending.hosts()] {
    call_cpu_kernel(op, *arguments);
    size_t next = 0;
    for (const auto& value : *arguments) {
      map_tensors(value, [&](const at::Tensor& result) {
        store(result, hosts->at(next++));
        return result;
      });
    }
    arguments->clear();
  }));
  torch::jit::drop(*stack, schema.arguments().size());
  for (auto& result : results)
    stack->push_back(std::move(result));
  return true;
}

std::optional<std::vector<at::Tensor>> defer_host_kernel(const std::vector<at::Tensor>& inputs,
                                                         const HostKernel& kernel) {
  std::vector<at::Tensor> described;
  try {
    MetaOperands operands;
    std::vector<at::Tensor> stand_ins;
    for (const auto& input : inputs)
      stand_ins.push_back(operands.stand_in(input));
    at::AutoDispatchBelowADInplaceOrView below;
    described = kernel(stand_ins);
  } catch (const std::exception&) {
    statistics().shapes_unknown++;
    return std::nullopt;
  }
  KernelFrame frame(KernelFrame::Timing::deferred);
  std::vector<at::Tensor> hosts;
  for (const auto& input : inputs)
    hosts.push_back(frame.alias(input, KernelFrame::Access::reads));
  PendingResults pending(frame);
  std::vector<at::Tensor> results;
  for (const auto& description : described)
    results.push_back(pending.allocate(description));
  frame.submit(guarded([kernel, hosts, outputs = pending.hosts()] {
    const auto computed = kernel(hosts);
    for (size_t i = 0; i < computed.size(); ++i)
      store(computed[i], outputs->at(i));
  }));
  return results;
}

} // namespace

std::function<void()> guarded(std::function<void()> work) {
  return [work = std::move(work)] {
    at::AutoDispatchBelowADInplaceOrView below;
    try {
      work();
    } catch (const std::exception& error) {
      statistics().kernels_failed++;
      std::fprintf(stderr, "[umpatch_device] a kernel failed on the GPU's thread: %.300s\n", error.what());
    }
  };
}

bool run_deferred(const c10::OperatorHandle& op, Stack* stack, const OperatorTraits& traits) {
  if (traits.immediate_only)
    return false;
  const Results kind = classify(op.schema());
  if (kind == Results::mixed)
    return false;
  MetaOperands operands;
  const auto described = infer_results(op, *stack, traits, operands);
  if (!described)
    return false;
  return kind == Results::fresh ? defer_fresh(op, stack, *described, traits)
                                : defer_in_place(op, stack, *described, operands, traits);
}

std::vector<at::Tensor> run_host_kernel(const std::vector<at::Tensor>& inputs, const HostKernel& kernel) {
  if (execution() == Execution::asynchronous) {
    if (auto results = defer_host_kernel(inputs, kernel))
      return *std::move(results);
  }
  KernelFrame frame(KernelFrame::Timing::immediate);
  std::vector<at::Tensor> hosts;
  for (const auto& input : inputs)
    hosts.push_back(frame.alias(input, KernelFrame::Access::reads));
  std::vector<at::Tensor> results;
  {
    at::AutoDispatchBelowADInplaceOrView below;
    results = kernel(hosts);
  }
  for (auto& result : results)
    result = frame.to_device(result);
  frame.retire();
  return results;
}

} // namespace umpatch_device
