// The cast and conjugation nodes of the simulated MPSGraph, by ATen's own CPU kernels.
#include <ATen/ATen.h>
#include <MetalPerformanceShadersGraph/MetalPerformanceShadersGraph.h>
#include <simulated_metal/control.h>

namespace {

at::ScalarType scalarType(uint32_t type) {
  switch (type) {
    case MPSDataTypeFloat32:
      return at::kFloat;
    case MPSDataTypeFloat16:
      return at::kHalf;
    case MPSDataTypeAlternateEncodingBit | MPSDataTypeFloat16:
      return at::kBFloat16;
    case MPSDataTypeInt8:
      return at::kChar;
    case MPSDataTypeInt16:
      return at::kShort;
    case MPSDataTypeInt32:
      return at::kInt;
    case MPSDataTypeInt64:
      return at::kLong;
    case MPSDataTypeUInt8:
      return at::kByte;
    case MPSDataTypeBool:
      return at::kBool;
    case MPSDataTypeComplexBit | MPSDataTypeFloatBit | 64:
      return at::kComplexFloat;
    case MPSDataTypeComplexBit | MPSDataTypeFloatBit | 32:
      return at::kComplexHalf;
    default:
      TORCH_CHECK(false, "the simulated MPSGraph has no MPSDataType ", type);
  }
}

void cast(const void* source, uint32_t from, void* destination, uint32_t to, uint64_t elements, bool conjugate) {
  c10::InferenceMode no_autograd;
  const std::vector<int64_t> size{(int64_t)elements};
  auto input = at::from_blob(const_cast<void*>(source), size, at::TensorOptions().dtype(scalarType(from)));
  auto output = at::from_blob(destination, size, at::TensorOptions().dtype(scalarType(to)));
  if (source == destination) {
    input = input.clone(); // Copy.mm converts in place
  }
  output.copy_(conjugate ? at::conj_physical(input) : input);
}

const bool registered = [] {
  simulated_metal::setCastKernel(cast);
  return true;
}();

} // namespace
