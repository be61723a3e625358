// The operators whose MPS kernel is written out in this folder rather than derived from a CPU
// kernel.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace umpatch_device {

inline constexpr std::array<std::string_view, 24> kExplicitKernels = {
    // factories_and_views.cpp
    "empty.memory_format",
    "empty_strided",
    "_efficientzerotensor",
    "resize_",
    "set_.source_Storage_storage_offset",
    "set_.source_Storage",
    "set_.source_Tensor",
    "set_",
    "is_set_to",
    "view",
    "_reshape_alias",
    "as_strided",
    "unfold",
    "view_as_real",
    "view_as_complex",
    // copies.cpp
    "copy_",
    "_copy_from",
    "_copy_from_and_resize",
    "_local_scalar_dense",
    // attention.cpp, linear.cpp, convolution.cpp, pooling.cpp
    "_scaled_dot_product_attention_math_for_mps",
    "linear_backward",
    "convolution_overrideable",
    "convolution_backward_overrideable",
    "max_pool2d_backward",
};

inline bool has_explicit_kernel(std::string_view name) {
  return std::find(kExplicitKernels.begin(), kExplicitKernels.end(), name) != kExplicitKernels.end();
}

} // namespace umpatch_device
