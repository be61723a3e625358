// The door between the kernels (plain C++) and the tree's own stream and allocator (Objective-C++).
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Allocator.h>

#include <functional>
#include <vector>

namespace umpatch_device {

// When a kernel's effects reach memory.
enum class Execution {
  // On the caller's thread, before the command is encoded; only the buffers' retirement is late.
  // Results never depend on timing, allocation behaviour does.
  eager_retire,
  // On the simulated GPU's thread, when the command buffer executes: hazards corrupt data.
  asynchronous,
};
Execution execution();

// What runs when the simulated GPU reaches the command. It must hold everything it reads by value.
using DeferredWork = std::function<void()>;

// The allocator that serves tensors of this device, chosen by the tree's own default.
c10::Allocator* device_allocator();

// Host address of the memory behind an MTLBuffer, whatever its storage mode; null for null.
void* host_pointer(const void* buffer);

// The MTLBuffers that a kernel uses.
struct KernelBuffers {
  std::vector<void*> reads;
  std::vector<void*> writes;
  bool empty() const {
    return reads.empty() && writes.empty();
  }
};

// Encodes one command into the current command buffer of the tree's MPSStream, as runMPSGraph()
// does, with its locking, profiling hooks and commit policy. The command retains the buffers until
// it completes. Empty `work` stands for a kernel whose results are in memory already.
void encode_kernel(const KernelBuffers& buffers, DeferredWork work = {});

// Commits and waits under the stream's queue, as upstream kernels that read a result do.
void commit_and_wait();

// A buffer of the allocator's scalar pool that holds a copy of `value`.
c10::DataPtr scalar_buffer(void* value, size_t bytes);

// Remembers the shape of the tensor that first viewed `buffer`, if none is remembered yet.
void remember_base_shape(void* buffer, at::IntArrayRef shape);

// Darwin threads have a root autorelease pool of their own; here, calls into upstream's code that
// come from Python need one.
class AutoreleaseScope {
 public:
  AutoreleaseScope();
  ~AutoreleaseScope();
  AutoreleaseScope(const AutoreleaseScope&) = delete;
  AutoreleaseScope& operator=(const AutoreleaseScope&) = delete;

 private:
  void* pool_;
};

} // namespace umpatch_device
