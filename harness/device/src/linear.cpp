// linear_backward: an autograd formula of MPS alone, so that no CPU kernel exists.

#include <ATen/ATen.h>
#include <torch/library.h>

#include "deferred.h"

namespace umpatch_device {
namespace {

using at::Tensor;
using Wanted = std::array<bool, 3>;

Tensor as_rows(const Tensor& tensor) {
  return tensor.reshape({-1, tensor.dim() > 0 ? tensor.size(-1) : 1});
}

// weight is one row: the output has lost its last dimension
std::vector<Tensor> vector_weight(const Tensor& input, const Tensor& grad, const Tensor& weight, Wanted wanted) {
  const auto column = grad.reshape({-1, 1});
  std::vector<Tensor> grads(3);
  if (wanted[0])
    grads[0] = (column * weight).reshape(input.sizes()).contiguous();
  if (wanted[1])
    grads[1] = (column * as_rows(input)).sum(0);
  if (wanted[2])
    grads[2] = column.sum();
  return grads;
}

std::vector<Tensor> matrix_weight(const Tensor& input, const Tensor& grad, const Tensor& weight, Wanted wanted) {
  const auto rows = as_rows(grad);
  std::vector<Tensor> grads(3);
  if (wanted[0])
    grads[0] = rows.mm(weight).reshape(input.sizes());
  if (wanted[1])
    grads[1] = rows.t().mm(as_rows(input));
  if (wanted[2])
    grads[2] = rows.sum(0);
  return grads;
}

std::tuple<Tensor, Tensor, Tensor> linear_backward(const Tensor& input,
                                                   const Tensor& grad_output,
                                                   const Tensor& weight,
                                                   Wanted wanted) {
  auto grads = run_host_kernel({input, grad_output, weight}, [wanted](const std::vector<Tensor>& in) {
    const auto kernel = in[2].dim() == 1 ? vector_weight : matrix_weight;
    return kernel(in[0], in[1], in[2], wanted);
  });
  return {grads[0], grads[1], grads[2]};
}

TORCH_LIBRARY_IMPL(aten, MPS, library) {
  library.impl("linear_backward", linear_backward);
}

} // namespace
} // namespace umpatch_device
