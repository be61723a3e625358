// Walks the tensors inside boxed arguments.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/stack.h>

#include <optional>

namespace umpatch_device {

// The value with each of its tensors, also those inside lists, replaced by transform(tensor).
// Values without tensors are returned as they are.
template <typename Transform>
c10::IValue map_tensors(const c10::IValue& value, Transform&& transform) {
  if (value.isTensor())
    return transform(value.toTensor());
  if (value.isTensorList()) {
    c10::List<at::Tensor> mapped;
    for (const at::Tensor& tensor : value.toTensorList())
      mapped.push_back(transform(tensor));
    return mapped;
  }
  if (value.isOptionalTensorList()) {
    const auto list = value.toOptionalTensorList();
    c10::List<std::optional<at::Tensor>> mapped;
    for (size_t i = 0; i < list.size(); ++i) {
      const std::optional<at::Tensor> tensor = list.get(i);
      mapped.push_back(tensor ? std::make_optional(transform(*tensor)) : std::nullopt);
    }
    return mapped;
  }
  return value;
}

// Calls visit(tensor) for each defined tensor inside the value.
template <typename Visit>
void visit_tensors(const c10::IValue& value, Visit&& visit) {
  map_tensors(value, [&](const at::Tensor& tensor) {
    if (tensor.defined())
      visit(tensor);
    return tensor;
  });
}

} // namespace umpatch_device
