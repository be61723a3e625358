// Lets a CPU kernel work on the memory of MPS tensors: CPU tensors that alias it, and the way back.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/function_schema.h>
#include <c10/core/Allocator.h>
#include <c10/core/StorageImpl.h>
#include <c10/util/SmallVector.h>

#include "runtime.h"

namespace umpatch_device {

inline const c10::Device kDevice{c10::DeviceType::MPS, 0};

// The operands of one kernel. Every MTLBuffer that takes part is bound, and the command that
// stands for the kernel retains all of them: retire() or submit() ends the frame.
class KernelFrame {
 public:
  // Whether the kernel runs before the frame ends, or later on the simulated GPU.
  enum class Timing { immediate, deferred };
  explicit KernelFrame(Timing timing) : timing_(timing) {
  }

  enum class Access { reads, writes };

  // A CPU tensor over the same bytes, with the same geometry and conj/neg bits; other tensors are
  // returned as they are. In asynchronous mode an immediate kernel waits for the GPU first.
  at::Tensor alias(const at::Tensor& tensor, Access access);

  // A zero-dimensional CPU operand travels in a buffer of the scalar pool, as upstream's
  // getMPSScalar(). bind_scalar() only occupies the buffer; scalar_alias() also reads from it.
  void bind_scalar(const at::Tensor& tensor);
  at::Tensor scalar_alias(const at::Tensor& tensor);

  // Carries what the kernel did to its aliases' metadata (resized storages, changed geometry) over
  // to the device tensors.
  void publish_metadata();

  // The device tensor for a kernel's result: the operand itself, a view of an operand's storage, or
  // a fresh tensor. Doubles become floats, since Metal has no float64.
  at::Tensor to_device(const at::Tensor& result);

  // Encodes the command of a kernel that has run.
  void retire();
  // Encodes the command of a kernel that runs when the GPU reaches it.
  void submit(DeferredWork work);

 private:
  struct BoundStorage {
    c10::StorageImpl* device;
    c10::intrusive_ptr<c10::StorageImpl> host;
    void* address;
    size_t bytes;
  };
  struct BoundTensor {
    at::Tensor device;
    at::Tensor host;
  };

  c10::intrusive_ptr<c10::StorageImpl> host_storage(const at::Tensor& tensor, Access access);
  void adopt_growth(BoundStorage& storage);
  at::Tensor view_of_operand(const at::Tensor& result) const;
  at::Tensor fresh_on_device(const at::Tensor& result);
  void bind(void* buffer, Access access);

  Timing timing_;
  bool waited_ = false;
  c10::SmallVector<BoundStorage, 8> storages_;
  c10::SmallVector<BoundTensor, 8> tensors_;
  KernelBuffers buffers_;
  // buffers that this frame owns, alive until the command has retained them
  c10::SmallVector<c10::DataPtr, 2> owned_;
};

// Whether the schema says that the operator writes the argument.
inline KernelFrame::Access access_of(const c10::Argument& argument) {
  const auto* alias = argument.alias_info();
  return alias && alias->isWrite() ? KernelFrame::Access::writes : KernelFrame::Access::reads;
}

} // namespace umpatch_device
