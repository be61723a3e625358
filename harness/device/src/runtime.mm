#include "runtime.h"

#include <ATen/mps/MPSAllocatorInterface.h>
#include <ATen/mps/MPSDevice.h>
#include <ATen/mps/MPSProfiler.h>
#include <ATen/mps/MPSStream.h>

#include <simulated_metal/control.h>
#include <simulated_metal/kernel_graph.h>

#include <utility>

extern "C" BOOL GSRegisterCurrentThread(void);

namespace umpatch_device {
namespace {

// Makes the thread known to GNUstep and gives it a root pool, once.
void enter_thread() {
  static thread_local const bool entered = [] {
    GSRegisterCurrentThread();
    [NSAutoreleasePool new];
    return true;
  }();
  (void)entered;
}

id<MTLBuffer> as_buffer(const void* pointer) {
  return (id<MTLBuffer>)pointer;
}

} // namespace

Execution execution() {
  return simulated_metal::configuration().mode == simulated_metal::Mode::Asynchronous ? Execution::asynchronous
                                                                                      : Execution::eager_retire;
}

c10::Allocator* device_allocator() {
  enter_thread();
  return at::mps::GetMPSAllocator();
}

void* host_pointer(const void* buffer) {
  return buffer ? simulated_metal::hostPointer(as_buffer(buffer)) : nullptr;
}

void encode_kernel(const KernelBuffers& buffers, DeferredWork work) {
  enter_thread();
  @autoreleasepool {
    auto* graph = [SMKernelGraph new];
    for (void* buffer : buffers.reads)
      graph->_reads.push_back(as_buffer(buffer));
    for (void* buffer : buffers.writes)
      graph->_writes.push_back(as_buffer(buffer));
    graph->_function = std::move(work);
    auto& profiler = at::mps::getMPSProfiler();
    if (profiler.isOperationProfilingEnabled()) {
      profiler.beginProfileKernel(graph, "simulated kernel", /*isGraph=*/true);
    }
    at::mps::getCurrentMPSStream()->executeMPSGraph(graph, nil, nil, at::mps::SyncType::COMMIT_ADAPTIVE);
    [graph release];
  }
}

void commit_and_wait() {
  enter_thread();
  auto* stream = at::mps::getCurrentMPSStream();
  dispatch_sync(stream->queue(), ^() {
    stream->synchronize(at::mps::SyncType::COMMIT_AND_WAIT);
  });
}

c10::DataPtr scalar_buffer(void* value, size_t bytes) {
  enter_thread();
  return at::mps::getIMPSAllocator()->allocScalarBufferWithValue(value, bytes);
}

void remember_base_shape(void* buffer, at::IntArrayRef shape) {
  static const int64_t one = 1;
  auto* allocator = at::mps::getIMPSAllocator();
  if (!allocator->getBufferShape(buffer).empty())
    return;
  allocator->setBufferShape(buffer, shape.empty() ? at::IntArrayRef(&one, 1) : shape);
}

AutoreleaseScope::AutoreleaseScope() {
  enter_thread();
  pool_ = [NSAutoreleasePool new];
}

AutoreleaseScope::~AutoreleaseScope() {
  [(NSAutoreleasePool*)pool_ release];
}

} // namespace umpatch_device
