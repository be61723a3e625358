#include "device_control.h"

#include <ATen/mps/MPSAllocatorInterface.h>
#include <c10/core/Allocator.h>

#include <simulated_metal/control.h>

#include "../../metal/audit/allocator_audit.h"

#include "runtime.h"

namespace umpatch_device {

void initialize() {
  AutoreleaseScope scope;
  c10::SetAllocator(c10::DeviceType::MPS, device_allocator());
}

bool apply_setting(const std::string& key, const std::string& value) {
  return simulated_metal::set_setting(key, value);
}

std::vector<std::pair<std::string, std::string>> settings() {
  std::vector<std::pair<std::string, std::string>> values;
  for (const auto& setting : simulated_metal::settings())
    values.emplace_back(setting.name, setting.value);
  return values;
}

PinnedBlock allocate_pinned(size_t bytes) {
  AutoreleaseScope scope;
  auto* allocator = at::mps::getIMPSAllocator(/*sharedAllocator=*/true);
  TORCH_CHECK(allocator, "this device has no memory that the CPU and the GPU share");
  PinnedBlock block{allocator->allocate(bytes), nullptr};
  block.address = const_cast<void*>(allocator->getSharedBufferPtr(block.buffer.get()).first);
  return block;
}

void pause_gpu() {
  simulated_metal::pauseGPU();
}
void resume_gpu() {
  simulated_metal::resumeGPU();
}
void wait_until_idle() {
  simulated_metal::waitIdle();
}

std::optional<std::pair<uintptr_t, uint32_t>> shared_address(uintptr_t buffer) {
  AutoreleaseScope scope;
  const auto* allocator = at::mps::getIMPSAllocator(/*sharedAllocator=*/true);
  if (!allocator)
    return std::nullopt;
  const auto [address, retain_count] = allocator->getSharedBufferPtr(reinterpret_cast<const void*>(buffer));
  if (!address)
    return std::nullopt;
  return std::make_pair(reinterpret_cast<uintptr_t>(address), retain_count);
}

Audit audit() {
  const auto holdings = umpatch::audit::holdings();
  Audit result{holdings.pending_bytes, holdings.in_flight_free_bytes, {}};
  for (const auto& violation : umpatch::audit::check())
    result.violations.push_back({violation.detail, violation.bytes});
  return result;
}

} // namespace umpatch_device
