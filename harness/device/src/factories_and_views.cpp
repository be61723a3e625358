// Factories, resizing and views: the tree's EmptyTensor.cpp and TensorFactory.cpp, registered.

#include <ATen/ATen.h>
#include <ATen/NativeFunctions.h>
#include <ATen/mps/EmptyTensor.h>
#include <ATen/native/Resize.h>
#include <torch/library.h>

#include "runtime.h"
#include "upstream_declarations.h"

namespace umpatch_device {
namespace {

using at::Tensor;
using c10::SymIntArrayRef;

Tensor empty(SymIntArrayRef size,
             std::optional<at::ScalarType> dtype,
             std::optional<at::Layout> layout,
             std::optional<at::Device> device,
             std::optional<bool> pin_memory,
             std::optional<at::MemoryFormat> memory_format) {
  return at::native::empty_mps(C10_AS_INTARRAYREF_SLOW(size), dtype, layout, device, pin_memory, memory_format);
}

Tensor empty_strided(SymIntArrayRef size,
                     SymIntArrayRef stride,
                     std::optional<at::ScalarType> dtype,
                     std::optional<at::Layout> layout,
                     std::optional<at::Device> device,
                     std::optional<bool> pin_memory) {
  return at::native::empty_strided_mps(C10_AS_INTARRAYREF_SLOW(size), C10_AS_INTARRAYREF_SLOW(stride), dtype, layout,
                                       device, pin_memory);
}

Tensor efficient_zero_tensor(SymIntArrayRef size,
                             std::optional<at::ScalarType> dtype,
                             std::optional<at::Layout> layout,
                             std::optional<at::Device> device,
                             std::optional<bool> pin_memory) {
  return at::native::_efficientzerotensor_mps(C10_AS_INTARRAYREF_SLOW(size), dtype, layout, device, pin_memory);
}

const Tensor& resize_(const Tensor& self, SymIntArrayRef size, std::optional<at::MemoryFormat> memory_format) {
  AutoreleaseScope scope; // growing a storage blits
  return at::native::resize_mps_(self, C10_AS_INTARRAYREF_SLOW(size), memory_format);
}

Tensor& set_storage_at_offset(
    Tensor& self, at::Storage source, c10::SymInt offset, SymIntArrayRef size, SymIntArrayRef stride) {
  return at::native::set_storage_mps_(self, std::move(source), offset.expect_int(), C10_AS_INTARRAYREF_SLOW(size),
                                      C10_AS_INTARRAYREF_SLOW(stride));
}

Tensor& set_storage(Tensor& self, at::Storage source) {
  const auto elements = static_cast<int64_t>(source.nbytes() / self.dtype().itemsize());
  return at::native::set_storage_mps_(self, std::move(source), 0, {elements}, {});
}

Tensor view(const Tensor& self, SymIntArrayRef size) {
  return at::native::view(self, C10_AS_INTARRAYREF_SLOW(size));
}

Tensor reshape_alias(const Tensor& self, SymIntArrayRef size, SymIntArrayRef stride) {
  return at::native::_reshape_alias(self, C10_AS_INTARRAYREF_SLOW(size), C10_AS_INTARRAYREF_SLOW(stride));
}

// View.mm's as_strided needs Metal shaders to be compiled; this keeps what it does without them.
Tensor as_strided(const Tensor& self, SymIntArrayRef size, SymIntArrayRef stride, std::optional<c10::SymInt> offset) {
  auto result = at::detail::make_tensor<c10::TensorImpl>(c10::TensorImpl::VIEW, c10::Storage(self.storage()),
                                                         self.key_set(), self.dtype());
  if (self.storage().data())
    remember_base_shape(self.storage().mutable_data(), self.sizes());
  at::native::setStrided(result, C10_AS_INTARRAYREF_SLOW(size), C10_AS_INTARRAYREF_SLOW(stride),
                         offset ? offset->expect_int() : self.storage_offset());
  return result;
}

bool is_set_to(const Tensor& self, const Tensor& source) {
  return at::native::is_set_to(self, source);
}

TORCH_LIBRARY_IMPL(aten, MPS, library) {
  library.impl("empty.memory_format", empty);
  library.impl("empty_strided", empty_strided);
  library.impl("_efficientzerotensor", efficient_zero_tensor);
  library.impl("resize_", resize_);
  library.impl("set_.source_Storage_storage_offset", set_storage_at_offset);
  library.impl("set_.source_Storage", set_storage);
  library.impl("set_.source_Tensor", TORCH_FN(at::native::set_tensor_));
  library.impl("set_", TORCH_FN(at::native::set_mps_));
  library.impl("is_set_to", is_set_to);
  library.impl("view", view);
  library.impl("_reshape_alias", reshape_alias);
  library.impl("as_strided", as_strided);
  library.impl("unfold", TORCH_FN(at::native::unfold));
  library.impl("view_as_real", TORCH_FN(at::native::view_as_real));
  library.impl("view_as_complex", TORCH_FN(at::native::view_as_complex));
}

} // namespace
} // namespace umpatch_device
