// The negation of a device tensor, which Copy.mm needs for lazy negation; upstream has it as a graph of MPSGraph.
#include <ATen/ATen.h>
#include <ATen/mps/MPSStream.h>
#include <ATen/native/mps/OperationUtils.h>
#include <simulated_metal/control.h>
#include <simulated_metal/kernel_graph.h>
#include <torch/library.h>

namespace {

at::Tensor aliasOnHost(const at::Tensor& tensor) {
  auto* base = static_cast<char*>(simulated_metal::hostPointer(at::native::mps::getMTLBufferStorage(tensor)));
  return at::from_blob(base + tensor.storage_offset() * tensor.element_size(), tensor.sizes(), tensor.strides(),
                       at::TensorOptions().dtype(tensor.scalar_type()));
}

at::Tensor negated(const at::Tensor& self) {
  at::Tensor result = at::empty_like(self);
  @autoreleasepool {
    SMKernelGraph* graph = [[SMKernelGraph new] autorelease];
    graph->_reads = {(id)at::native::mps::getMTLBufferStorage(self)};
    graph->_writes = {(id)at::native::mps::getMTLBufferStorage(result)};
    graph->_function = [from = aliasOnHost(self), to = aliasOnHost(result)]() mutable {
      c10::InferenceMode no_autograd;
      to.copy_(at::neg(from));
    };
    at::mps::getCurrentMPSStream()->executeMPSGraph(graph, nil, nil, at::mps::SyncType::NONE);
  }
  return result;
}

TORCH_LIBRARY_IMPL(aten, MPS, library) {
  library.impl("neg", negated);
}

} // namespace
