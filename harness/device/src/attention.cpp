// Scaled dot product attention: the branches that attention.cpp has only where USE_MPS is set.

#include <ATen/ATen.h>
#include <torch/library.h>

#include <limits>

#include "deferred.h"

namespace umpatch_device {
namespace {

using at::Tensor;
using OptionalTensor = std::optional<Tensor>;

Tensor or_undefined(const OptionalTensor& tensor) {
  return tensor.value_or(Tensor());
}

OptionalTensor or_none(const Tensor& tensor) {
  return tensor.defined() ? OptionalTensor(tensor) : std::nullopt;
}

// Upstream's fused kernel computes the same formula.
std::tuple<Tensor, Tensor> attention_math_for_mps(const Tensor& query,
                                                  const Tensor& key,
                                                  const Tensor& value,
                                                  const OptionalTensor& mask,
                                                  double dropout,
                                                  bool causal,
                                                  const OptionalTensor& dropout_mask,
                                                  std::optional<double> scale) {
  auto results = run_host_kernel({query, key, value, or_undefined(mask), or_undefined(dropout_mask)},
                                 [dropout, causal, scale](const std::vector<Tensor>& in) {
                                   auto [output, weights] = at::_scaled_dot_product_attention_math(
                                       in[0], in[1], in[2], or_none(in[3]), dropout, causal, or_none(in[4]), scale);
                                   return std::vector<Tensor>{output, weights};
                                 });
  return {results[0], results[1]};
}

void check_inputs(const Tensor& query, const Tensor& key, const Tensor& value) {
  TORCH_CHECK(query.dtype() == key.dtype() && query.dtype() == value.dtype(),
              "Expected query, key, and value to have the same dtype, but got query.dtype: ", query.dtype(),
              " key.dtype: ", key.dtype(), " and value.dtype: ", value.dtype(), " instead.");
  TORCH_CHECK(query.device() == key.device() && query.device() == value.device(),
              "Expected query, key, and value to have the same device type, but got query.device: ", query.device(),
              " key.device: ", key.device(), " and value.device: ", value.device(), " instead.");
  TORCH_CHECK(query.dim() >= 2 && key.dim() >= 2 && value.dim() >= 2,
              "Expected query, key, and value to all be  at least 2 dimensional, but got "
              "query.dim: ",
              query.dim(), " key.dim: ", key.dim(), " and value.dim: ", value.dim(), " instead.");
}

// A boolean mask becomes an additive one, as upstream's convert_boolean_attn_mask().
OptionalTensor additive_mask(const OptionalTensor& mask, const at::TensorOptions& options) {
  if (!mask || !mask->defined() || mask->dtype() != at::kBool)
    return mask;
  const auto minus_infinity = at::scalar_tensor(-std::numeric_limits<double>::infinity(), options.layout(at::kStrided));
  return at::where(mask->logical_not(), minus_infinity, at::zeros_like(*mask, options));
}

Tensor attention(const Tensor& query,
                 const Tensor& key,
                 const Tensor& value,
                 const OptionalTensor& attn_mask,
                 double dropout,
                 bool causal,
                 std::optional<double> scale,
                 bool enable_gqa) {
  check_inputs(query, key, value);
  const auto mask = additive_mask(attn_mask, query.options());
  const bool needs_grad =
      at::GradMode::is_enabled() && (query.requires_grad() || key.requires_grad() || value.requires_grad());
  if (dropout == 0.0 && !needs_grad && !enable_gqa) {
    return std::get<0>(
        at::_scaled_dot_product_attention_math_for_mps(query, key, value, mask, dropout, causal, std::nullopt, scale));
  }
  return std::get<0>(at::_scaled_dot_product_attention_math(query, key, value, mask, dropout, causal, std::nullopt,
                                                            scale, enable_gqa));
}

TORCH_LIBRARY_IMPL(aten, MPS, library) {
  library.impl("_scaled_dot_product_attention_math_for_mps", attention_math_for_mps);
  library.impl("scaled_dot_product_attention", attention);
}

TORCH_LIBRARY_IMPL(aten, AutogradMPS, library) {
  library.impl("scaled_dot_product_attention", attention);
}

} // namespace
} // namespace umpatch_device
