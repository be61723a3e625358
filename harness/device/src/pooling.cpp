// max_pool2d_backward: an autograd formula of MPS alone, so that no CPU kernel exists.

#include <ATen/ATen.h>
#include <torch/library.h>

#include "deferred.h"

namespace umpatch_device {
namespace {

using at::IntArrayRef;
using at::Tensor;

Tensor max_pool2d_backward(const Tensor& grad_output,
                           const Tensor& self,
                           IntArrayRef kernel_size,
                           IntArrayRef stride,
                           IntArrayRef padding,
                           IntArrayRef dilation,
                           bool ceil_mode) {
  auto results = run_host_kernel(
      {grad_output, self}, [ceil_mode, kernel_size = kernel_size.vec(), stride = stride.vec(), padding = padding.vec(),
                            dilation = dilation.vec()](const std::vector<Tensor>& in) {
        const auto indices =
            std::get<1>(at::max_pool2d_with_indices(in[1], kernel_size, stride, padding, dilation, ceil_mode));
        return std::vector<Tensor>{at::max_pool2d_with_indices_backward(in[0], in[1], kernel_size, stride, padding,
                                                                        dilation, ceil_mode, indices)};
      });
  return results[0];
}

TORCH_LIBRARY_IMPL(aten, MPS, library) {
  library.impl("max_pool2d_backward", max_pool2d_backward);
}

} // namespace
} // namespace umpatch_device
