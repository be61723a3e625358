// Convolutions: a wheel without USE_MPS sends them to the "overrideable" entry points.

#include <ATen/ATen.h>
#include <torch/library.h>

#include <vector>

#include "deferred.h"

namespace umpatch_device {
namespace {

using at::Tensor;
using c10::SymIntArrayRef;
using Ints = std::vector<int64_t>;

Ints ints(SymIntArrayRef values) {
  return C10_AS_INTARRAYREF_SLOW(values).vec();
}

Tensor convolution(const Tensor& input,
                   const Tensor& weight,
                   const std::optional<Tensor>& bias,
                   SymIntArrayRef stride,
                   SymIntArrayRef padding,
                   SymIntArrayRef dilation,
                   bool transposed,
                   SymIntArrayRef output_padding,
                   c10::SymInt groups) {
  TORCH_CHECK(input.device() == weight.device(), "Input type (", input.toString(), ") and weight type (",
              weight.toString(), ") should be the same");
  auto results = run_host_kernel(
      {input, weight, bias.value_or(Tensor())},
      [=, stride = ints(stride), padding = ints(padding), dilation = ints(dilation),
       output_padding = ints(output_padding), groups = groups.expect_int()](const std::vector<Tensor>& in) {
        std::optional<Tensor> bias;
        if (in[2].defined())
          bias = in[2];
        auto output =
            at::convolution(in[0], in[1], bias, stride, padding, dilation, transposed, output_padding, groups);
        if (output.layout() != c10::kStrided)
          output = output.to_dense();
        return std::vector<Tensor>{output};
      });
  return results[0];
}

std::tuple<Tensor, Tensor, Tensor> convolution_backward(const Tensor& grad_output,
                                                        const Tensor& input,
                                                        const Tensor& weight,
                                                        SymIntArrayRef stride,
                                                        SymIntArrayRef padding,
                                                        SymIntArrayRef dilation,
                                                        bool transposed,
                                                        SymIntArrayRef output_padding,
                                                        c10::SymInt groups,
                                                        std::array<bool, 3> wanted) {
  auto grads =
      run_host_kernel({grad_output, input, weight}, [=, stride = ints(stride), padding = ints(padding),
                                                     dilation = ints(dilation), output_padding = ints(output_padding),
                                                     groups = groups.expect_int()](const std::vector<Tensor>& in) {
        const Ints bias_sizes{transposed ? in[2].size(1) * groups : in[2].size(0)};
        auto [to_input, to_weight, to_bias] =
            at::convolution_backward(in[0], in[1], in[2], at::OptionalIntArrayRef(bias_sizes), stride, padding,
                                     dilation, transposed, output_padding, groups, wanted);
        return std::vector<Tensor>{to_input, to_weight, to_bias};
      });
  return {grads[0], grads[1], grads[2]};
}

TORCH_LIBRARY_IMPL(aten, MPS, library) {
  library.impl("convolution_overrideable", convolution);
  library.impl("convolution_backward_overrideable", convolution_backward);
}

} // namespace
} // namespace umpatch_device
