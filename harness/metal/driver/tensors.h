// Tensors of the device under test, with the few operations that the scenarios need.
#pragma once
#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_strided.h>
#include <simulated_metal/control.h>
#include <cstring>
#include "session.h"

namespace umpatch {

using at::Tensor;

inline id<MTLBuffer> bufferOf(const Tensor& tensor) {
  return (id<MTLBuffer>)tensor.storage().data();
}

// The first byte of a tensor of the device, in the memory as the GPU sees it.
inline uint8_t* deviceBytes(const Tensor& tensor) {
  return static_cast<uint8_t*>(simulated_metal::hostPointer(bufferOf(tensor))) +
         tensor.storage_offset() * tensor.element_size();
}

inline Tensor emptyBytes(size_t bytes, at::DeviceType device) {
  return at::empty({(int64_t)bytes}, at::TensorOptions().dtype(at::kByte).device(device));
}

inline Tensor filledOnHost(size_t bytes, uint8_t value) {
  Tensor tensor = emptyBytes(bytes, at::kCPU);
  memset(tensor.data_ptr(), value, bytes);
  return tensor;
}

} // namespace umpatch
