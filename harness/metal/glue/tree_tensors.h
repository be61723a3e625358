// What the generated native headers of a build with MPS declare; those of the Linux wheel do not.
#pragma once
#include <ATen/core/Tensor.h>

namespace at::native {
Tensor empty_mps(IntArrayRef size,
                 std::optional<ScalarType> dtype = {},
                 std::optional<Layout> layout = {},
                 std::optional<Device> device = {},
                 std::optional<bool> pin_memory = {},
                 std::optional<MemoryFormat> memory_format = {});
Tensor empty_strided_mps(IntArrayRef size,
                         IntArrayRef stride,
                         std::optional<ScalarType> dtype = {},
                         std::optional<Layout> layout = {},
                         std::optional<Device> device = {},
                         std::optional<bool> pin_memory = {});
const Tensor& resize_mps_(const Tensor& self, IntArrayRef size, std::optional<MemoryFormat> memory_format = {});
Tensor& set_mps_(Tensor& self);
Tensor& set_storage_mps_(Tensor& self, Storage source, int64_t storage_offset, IntArrayRef size, IntArrayRef stride);
Tensor _efficientzerotensor_mps(IntArrayRef size,
                                std::optional<ScalarType> dtype = {},
                                std::optional<Layout> layout = {},
                                std::optional<Device> device = {},
                                std::optional<bool> pin_memory = {});
} // namespace at::native
