#include "host_alias.h"

#include <ATen/ATen.h>
#include <ATen/EmptyTensor.h>
#include <ATen/mps/EmptyTensor.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "statistics.h"

namespace umpatch_device {
namespace {

constexpr size_t kLargestScalarBytes = 8;

void delete_device_pointer(void* context) {
  delete static_cast<c10::DataPtr*>(context);
}

// Serves CPU kernels that resize an alias: the bytes come from the device's allocator.
class GrowthAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t bytes) override {
    auto owner = std::make_unique<c10::DataPtr>(device_allocator()->allocate(bytes));
    void* address = host_pointer(owner->get());
    return {address, owner.release(), &delete_device_pointer, c10::Device(c10::kCPU)};
  }
  void copy_data(void* destination, const void* source, size_t bytes) const override {
    std::memcpy(destination, source, bytes);
  }
};

GrowthAllocator* growth_allocator() {
  static auto* allocator = new GrowthAllocator; // storages may outlive static destruction
  return allocator;
}

void copy_view_bits(const at::Tensor& from, at::TensorImpl* to) {
  if (from.is_conj())
    to->_set_conj(true);
  if (from.is_neg())
    to->_set_neg(true);
}

bool is_wrapped_number(const at::Tensor& tensor) {
  return tensor.unsafeGetTensorImpl()->is_wrapped_number();
}

bool fits_scalar_pool(const at::Tensor& tensor) {
  return tensor.defined() && tensor.is_cpu() && tensor.dim() == 0 && tensor.has_storage() &&
         tensor.layout() == c10::kStrided && tensor.element_size() <= kLargestScalarBytes;
}

} // namespace

void KernelFrame::bind(void* buffer, Access access) {
  if (!buffer)
    return;
  auto& list = access == Access::reads ? buffers_.reads : buffers_.writes;
  if (std::find(list.begin(), list.end(), buffer) == list.end())
    list.push_back(buffer);
}

c10::intrusive_ptr<c10::StorageImpl> KernelFrame::host_storage(const at::Tensor& tensor, Access access) {
  if (timing_ == Timing::immediate && !waited_ && execution() == Execution::asynchronous) {
    waited_ = true;
    statistics().kernels_waited++;
    commit_and_wait();
  }
  auto* device = tensor.unsafeGetTensorImpl()->unsafe_storage().unsafeGetStorageImpl();
  bind(device->data_ptr().get(), access);
  for (const auto& bound : storages_) {
    if (bound.device == device)
      return bound.host;
  }
  void* address = host_pointer(device->data_ptr().get());
  auto host = c10::make_intrusive<c10::StorageImpl>(c10::StorageImpl::use_byte_size_t(), device->nbytes(),
                                                    c10::DataPtr(address, c10::Device(c10::kCPU)), growth_allocator(),
                                                    /*resizable=*/true);
  storages_.push_back({device, host, address, device->nbytes()});
  return host;
}

at::Tensor KernelFrame::alias(const at::Tensor& tensor, Access access) {
  if (!tensor.defined() || !tensor.is_mps())
    return tensor;
  for (const auto& bound : tensors_) {
    if (!bound.device.is_same(tensor))
      continue;
    bind(tensor.unsafeGetTensorImpl()->unsafe_storage().mutable_data(), access);
    return bound.host;
  }
  TORCH_CHECK_NOT_IMPLEMENTED(tensor.layout() == c10::kStrided, "only strided tensors are supported on MPS");
  auto host = at::detail::make_tensor<c10::TensorImpl>(c10::Storage(host_storage(tensor, access)),
                                                       c10::DispatchKeySet(c10::DispatchKey::CPU), tensor.dtype());
  auto* impl = host.unsafeGetTensorImpl();
  impl->set_sizes_and_strides(tensor.sizes(), tensor.strides(), tensor.storage_offset());
  copy_view_bits(tensor, impl);
  if (is_wrapped_number(tensor))
    impl->set_wrapped_number(true);
  tensors_.push_back({tensor, host});
  return host;
}

void KernelFrame::bind_scalar(const at::Tensor& tensor) {
  if (!fits_scalar_pool(tensor))
    return;
  owned_.push_back(scalar_buffer(const_cast<void*>(tensor.const_data_ptr()), tensor.element_size()));
  bind(owned_.back().get(), Access::reads);
}

at::Tensor KernelFrame::scalar_alias(const at::Tensor& tensor) {
  if (!fits_scalar_pool(tensor))
    return tensor.clone();
  bind_scalar(tensor);
  auto host = at::from_blob(host_pointer(owned_.back().get()), {}, tensor.options());
  if (is_wrapped_number(tensor))
    host.unsafeGetTensorImpl()->set_wrapped_number(true);
  return host;
}

void KernelFrame::adopt_growth(BoundStorage& bound) {
  if (bound.host->data() == bound.address && bound.host->nbytes() == bound.bytes)
    return;
  const size_t bytes = bound.host->nbytes();
  auto grown = bound.host->set_data_ptr(c10::DataPtr(nullptr, c10::Device(c10::kCPU)));
  if (grown.get_deleter() == &delete_device_pointer) {
    void* address = grown.get();
    c10::DataPtr buffer = std::move(*static_cast<c10::DataPtr*>(grown.get_context()));
    bind(buffer.get(), Access::writes);
    owned_.push_back(bound.device->set_data_ptr(std::move(buffer)));
    bound.device->set_nbytes(bytes);
    bound.host->set_data_ptr(c10::DataPtr(address, c10::Device(c10::kCPU)));
    bound.address = address;
  } else if (bytes <= bound.bytes) {
    bound.host->set_data_ptr(std::move(grown));
    bound.device->set_nbytes(bytes);
  }
  bound.bytes = bytes;
}

void KernelFrame::publish_metadata() {
  for (auto& bound : storages_)
    adopt_growth(bound);
  for (auto& [device, host] : tensors_) {
    if (host.sizes() != device.sizes() || host.strides() != device.strides() ||
        host.storage_offset() != device.storage_offset()) {
      device.unsafeGetTensorImpl()->set_sizes_and_strides(host.sizes(), host.strides(), host.storage_offset());
    }
  }
}

at::Tensor KernelFrame::view_of_operand(const at::Tensor& result) const {
  if (!result.has_storage())
    return {};
  auto* host = result.unsafeGetTensorImpl()->unsafe_storage().unsafeGetStorageImpl();
  for (const auto& operand : tensors_) {
    if (operand.host.unsafeGetTensorImpl()->unsafe_storage().unsafeGetStorageImpl() != host) {
      continue;
    }
    // the operand's key set brings the autograd keys along; the view bits are the result's own
    auto view = at::detail::make_tensor<c10::TensorImpl>(
        c10::TensorImpl::VIEW, c10::Storage(operand.device.storage()),
        operand.device.key_set().remove(c10::DispatchKey::Conjugate).remove(c10::DispatchKey::Negative),
        result.dtype());
    auto* impl = view.unsafeGetTensorImpl();
    impl->set_sizes_and_strides(result.sizes(), result.strides(), result.storage_offset());
    copy_view_bits(result, impl);
    return view;
  }
  return {};
}

at::Tensor KernelFrame::fresh_on_device(const at::Tensor& result) {
  at::Tensor source = result;
  if (source.scalar_type() == at::kDouble)
    source = source.to(at::kFloat);
  if (source.is_conj() || source.is_neg())
    source = source.resolve_conj().resolve_neg();
  at::Tensor fresh = at::detail::empty_strided_mps(source.sizes(), source.strides(), source.scalar_type(), kDevice);
  void* buffer = fresh.storage().mutable_data();
  bind(buffer, Access::writes);
  if (source.numel() > 0) {
    const size_t bytes = at::detail::computeStorageNbytes(source.sizes(), source.strides(), source.element_size());
    std::memcpy(host_pointer(buffer), source.const_data_ptr(), bytes);
  }
  if (is_wrapped_number(result))
    fresh.unsafeGetTensorImpl()->set_wrapped_number(true);
  return fresh;
}

at::Tensor KernelFrame::to_device(const at::Tensor& result) {
  if (!result.defined() || !result.is_cpu())
    return result;
  for (const auto& bound : tensors_) {
    if (bound.host.is_same(result))
      return bound.device;
  }
  TORCH_CHECK_NOT_IMPLEMENTED(result.layout() == c10::kStrided, "only strided tensors are supported on MPS");
  auto view = view_of_operand(result);
  return view.defined() ? view : fresh_on_device(result);
}

void KernelFrame::retire() {
  if (!buffers_.empty())
    encode_kernel(buffers_);
  buffers_ = {};
}

void KernelFrame::submit(DeferredWork work) {
  statistics().kernels_deferred++;
  encode_kernel(buffers_, std::move(work));
  buffers_ = {};
}

} // namespace umpatch_device
