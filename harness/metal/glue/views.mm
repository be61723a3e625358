// gatherViewTensor and scatterViewTensor: upstream's View.mm generates Metal kernels for them, which need a shader
// compiler. Here the same element-wise copy (with cast and conjugation, and like upstream's kernels blind to the conj
// and neg bits themselves) is a CPU kernel that runs on the simulated GPU.
#include <ATen/ATen.h>
#include <ATen/mps/MPSStream.h>
#include <ATen/native/mps/OperationUtils.h>
#include <simulated_metal/control.h>
#include <simulated_metal/kernel_graph.h>

namespace at::native::mps {
namespace {

// A CPU tensor over the memory of a tensor of the simulated GPU, without its conj and neg bits.
Tensor aliasOnHost(const Tensor& tensor, IntArrayRef sizes, IntArrayRef strides) {
  auto* base = static_cast<char*>(simulated_metal::hostPointer(getMTLBufferStorage(tensor)));
  return at::from_blob(base + tensor.storage_offset() * tensor.element_size(), sizes, strides,
                       at::TensorOptions().dtype(tensor.scalar_type()));
}

std::vector<int64_t> contiguousStrides(IntArrayRef sizes) {
  std::vector<int64_t> strides(sizes.size());
  int64_t step = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    strides[i] = step;
    step *= std::max<int64_t>(sizes[i], 1);
  }
  return strides;
}

void encodeElementwiseCopy(const Tensor& source, const Tensor& destination, Tensor from, Tensor to, bool conjugate) {
  @autoreleasepool {
    SMKernelGraph* graph = [[SMKernelGraph new] autorelease];
    graph->_reads = {(id)getMTLBufferStorage(source)};
    graph->_writes = {(id)getMTLBufferStorage(destination)};
    graph->_function = [from, to, conjugate]() mutable {
      c10::InferenceMode no_autograd;
      to.copy_(conjugate ? at::conj_physical(from) : from);
    };
    getCurrentMPSStream()->executeMPSGraph(graph, nil, nil, at::mps::SyncType::NONE);
  }
}

} // namespace

Tensor gatherViewTensor(const Tensor& src, Tensor& dst) {
  Tensor output = dst;
  if (!dst.has_storage()) {
    output = at::empty(src.sizes(), src.scalar_type(), std::nullopt, kMPS, std::nullopt, std::nullopt);
  }
  if (src.numel() == 0 || output.numel() == 0) {
    return dst;
  }
  const bool conjugate = src.is_complex() && src.is_conj() != dst.is_conj();
  encodeElementwiseCopy(src, output, aliasOnHost(src, src.sizes(), src.strides()),
                        aliasOnHost(output, src.sizes(), contiguousStrides(src.sizes())), conjugate);
  return output;
}

Tensor& scatterViewTensor(const Tensor& src, Tensor& output) {
  if (src.numel() == 0 || output.numel() == 0) {
    return output;
  }
  const bool conjugate = src.is_complex() && src.is_conj() != output.is_conj();
  encodeElementwiseCopy(src, output, aliasOnHost(src, output.sizes(), contiguousStrides(output.sizes())),
                        aliasOnHost(output, output.sizes(), output.strides()), conjugate);
  return output;
}

} // namespace at::native::mps
