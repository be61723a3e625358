// Copies between and within devices: the tree's Copy.mm, behind the prologue that copy_() has in
// upstream's Copy.cpp and that a wheel without USE_MPS has compiled differently.

#include <ATen/ATen.h>
#include <ATen/NamedTensorUtils.h>
#include <ATen/TensorIterator.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/native/mps/Copy.h>
#include <torch/library.h>

#include "metal_counters.h"
#include "runtime.h"
#include "statistics.h"

namespace umpatch_device {
namespace {

using at::Tensor;

bool memcpy_could_serve(const Tensor& destination, const Tensor& source) {
  return destination.is_mps() && source.is_cpu() && destination.numel() > 0 &&
         destination.scalar_type() == source.scalar_type() && destination.sizes() == source.sizes() &&
         destination.is_contiguous() && source.is_contiguous() && destination.is_conj() == source.is_conj() &&
         destination.is_neg() == source.is_neg();
}

void copy_with_upstream(Tensor& destination, const Tensor& source, bool non_blocking) {
  AutoreleaseScope scope;
  const bool eligible = memcpy_could_serve(destination, source);
  const uint64_t blits_before = eligible ? blit_commands() : 0;
  at::native::mps::mps_copy_(destination, source, non_blocking);
  if (!eligible)
    return;
  statistics().eligible_copies++;
  // other threads' blits in between would count a memcpy as a blit: never the other way round
  (blit_commands() == blits_before ? statistics().memcpy_copies : statistics().blit_copies)++;
}

bool is_same_data(const Tensor& self, const Tensor& source) {
  return self.is_alias_of(source) && self.storage_offset() == source.storage_offset() &&
         self.strides().equals(source.strides()) && self.sizes().equals(source.sizes()) &&
         self.scalar_type() == source.scalar_type() && self.is_conj() == source.is_conj() &&
         self.is_neg() == source.is_neg();
}

Tensor& copy_(Tensor& self, const Tensor& source, bool non_blocking) {
  if (self.is_same(source))
    return self;
  TORCH_CHECK(!self._is_zerotensor(),
              "ZeroTensors are immutable. Please materialize the tensor using `.clone()`, if you "
              "want a mutable zero tensor.");
  if (source._is_zerotensor())
    return self.zero_();
  if (self.is_meta())
    return self;
  TORCH_CHECK_NOT_IMPLEMENTED(!source.is_meta(), "Cannot copy out of meta tensor; no data!");
  const auto names = at::namedinference::compute_broadcast_outnames(self, source);
  {
    at::NoNamesGuard no_names;
    const auto checks = at::TensorIteratorConfig()
                            .add_output(self)
                            .add_const_input(source)
                            .resize_outputs(false)
                            .check_all_same_dtype(false)
                            .check_all_same_device(false)
                            .build();
    if (checks.numel() > 0 && !is_same_data(self, source))
      copy_with_upstream(self, source, non_blocking);
  }
  at::namedinference::propagate_names_if_nonempty(self, names);
  return self;
}

Tensor copy_from(const Tensor& self, const Tensor& destination, bool non_blocking) {
  Tensor target = destination;
  copy_(target, self, non_blocking);
  return destination;
}

Tensor copy_from_and_resize(const Tensor& self, const Tensor& destination) {
  Tensor target = destination;
  copy_(target, self, /*non_blocking=*/false);
  return destination;
}

at::Scalar local_scalar_dense(const Tensor& self) {
  Tensor host = at::empty_like(self, at::TensorOptions(at::kCPU));
  {
    AutoreleaseScope scope;
    at::native::mps::mps_copy_(host, self, /*non_blocking=*/false);
  }
  at::AutoDispatchBelowADInplaceOrView below;
  return at::_local_scalar_dense(host);
}

TORCH_LIBRARY_IMPL(aten, MPS, library) {
  library.impl("copy_", copy_);
  library.impl("_copy_from", copy_from);
  library.impl("_copy_from_and_resize", copy_from_and_resize);
  library.impl("_local_scalar_dense", local_scalar_dense);
}

} // namespace
} // namespace umpatch_device
