// Registers the tree's MPS functions with the dispatcher, as a build with MPS does from native_functions.yaml: only
// what a driver of allocation and copies needs. copy_ gets the prologue of ATen's Copy.cpp, which the Linux wheel
// compiled without its MPS branch.
#include <ATen/NativeFunctions.h>
#include <ATen/TensorIterator.h>
#include <ATen/native/Resize.h>
#include <ATen/native/mps/Copy.h>
#include <torch/library.h>
#include "tree_tensors.h"

namespace {

using at::Tensor;

Tensor empty(c10::SymIntArrayRef size,
             std::optional<at::ScalarType> dtype,
             std::optional<at::Layout> layout,
             std::optional<at::Device> device,
             std::optional<bool> pin_memory,
             std::optional<at::MemoryFormat> format) {
  return at::native::empty_mps(C10_AS_INTARRAYREF_SLOW(size), dtype, layout, device, pin_memory, format);
}

Tensor empty_strided(c10::SymIntArrayRef size,
                     c10::SymIntArrayRef stride,
                     std::optional<at::ScalarType> dtype,
                     std::optional<at::Layout> layout,
                     std::optional<at::Device> device,
                     std::optional<bool> pin_memory) {
  return at::native::empty_strided_mps(C10_AS_INTARRAYREF_SLOW(size), C10_AS_INTARRAYREF_SLOW(stride), dtype, layout,
                                       device, pin_memory);
}

const Tensor& resize(const Tensor& self, c10::SymIntArrayRef size, std::optional<at::MemoryFormat> format) {
  return at::native::resize_mps_(self, C10_AS_INTARRAYREF_SLOW(size), format);
}

Tensor& set_storage_offset(
    Tensor& self, c10::Storage source, c10::SymInt offset, c10::SymIntArrayRef size, c10::SymIntArrayRef stride) {
  return at::native::set_storage_mps_(self, std::move(source), offset.expect_int(), C10_AS_INTARRAYREF_SLOW(size),
                                      C10_AS_INTARRAYREF_SLOW(stride));
}

Tensor view(const Tensor& self, c10::SymIntArrayRef size) {
  return at::native::view(self, C10_AS_INTARRAYREF_SLOW(size));
}

Tensor reshape_alias(const Tensor& self, c10::SymIntArrayRef size, c10::SymIntArrayRef stride) {
  return at::native::_reshape_alias(self, C10_AS_INTARRAYREF_SLOW(size), C10_AS_INTARRAYREF_SLOW(stride));
}

Tensor as_strided(const Tensor& self,
                  c10::SymIntArrayRef size,
                  c10::SymIntArrayRef stride,
                  std::optional<c10::SymInt> offset) {
  auto result = at::detail::make_tensor<c10::TensorImpl>(c10::TensorImpl::VIEW, c10::Storage(self.storage()),
                                                         self.key_set(), self.dtype());
  at::native::setStrided(result, C10_AS_INTARRAYREF_SLOW(size), C10_AS_INTARRAYREF_SLOW(stride),
                         offset ? offset->expect_int() : self.storage_offset());
  return result;
}

// As at::native::copy_impl does before it comes to MPS.
Tensor& copy(Tensor& self, const Tensor& source, bool non_blocking) {
  if (self.is_same(source)) {
    return self;
  }
  const bool same_data = self.is_alias_of(source) && self.storage_offset() == source.storage_offset() &&
                         self.strides().equals(source.strides()) && self.sizes().equals(source.sizes()) &&
                         self.scalar_type() == source.scalar_type() && self.is_conj() == source.is_conj() &&
                         self.is_neg() == source.is_neg();
  if (same_data) {
    return self;
  }
  auto iterator = at::TensorIteratorConfig()
                      .add_output(self)
                      .add_const_input(source)
                      .resize_outputs(false)
                      .check_all_same_dtype(false)
                      .check_all_same_device(false)
                      .build();
  if (iterator.numel() == 0) {
    return self;
  }
  return at::native::mps::mps_copy_(self, source, non_blocking);
}

Tensor copy_from(const Tensor& self, const Tensor& destination, bool non_blocking) {
  Tensor target = destination;
  return copy(target, self, non_blocking);
}

TORCH_LIBRARY_IMPL(aten, MPS, library) {
  library.impl("empty.memory_format", empty);
  library.impl("empty_strided", empty_strided);
  library.impl("resize_", resize);
  library.impl("set_", TORCH_FN(at::native::set_mps_));
  library.impl("set_.source_Storage_storage_offset", set_storage_offset);
  library.impl("view", view);
  library.impl("_reshape_alias", reshape_alias);
  library.impl("as_strided", as_strided);
  library.impl("view_as_real", TORCH_FN(at::native::view_as_real));
  library.impl("copy_", copy);
  library.impl("_copy_from", copy_from);
}

} // namespace
