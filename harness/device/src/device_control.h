// What Python may ask of the device beyond torch's own interface.
#pragma once

#include <c10/core/Allocator.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace umpatch_device {

// Registers the tree's allocator with c10. Call once, before the first MPS tensor.
void initialize();

// One setting of the simulated Metal, by the name that the native driver uses. False if there is no
// such setting, or if the value does not fit it.
bool apply_setting(const std::string& key, const std::string& value);

// All settings of the simulated Metal and their values.
std::vector<std::pair<std::string, std::string>> settings();

// A block of pinned host memory from the tree's own allocator for it: the buffer, and the address at which the CPU
// reads and writes it.
struct PinnedBlock {
  c10::DataPtr buffer;
  void* address;
};
PinnedBlock allocate_pinned(size_t bytes);

// Holds the simulated GPU before its next command buffer, lets it go on, waits until it has none.
void pause_gpu();
void resume_gpu();
void wait_until_idle();

// The CPU's view of a buffer in shared storage and its retain count, through upstream's own
// getSharedBufferPtr(): what code that relies on unified memory would use. Nothing for a private
// buffer.
std::optional<std::pair<uintptr_t, uint32_t>> shared_address(uintptr_t buffer);

// What the tree's allocator holds, and where its books disagree.
struct Audit {
  uint64_t pending_bytes;        // freed, and kept aside until the GPU is done with them
  uint64_t in_flight_free_bytes; // freed, and a command buffer still holds them
  struct Violation {
    std::string detail;
    uint64_t bytes;
  };
  std::vector<Violation> violations;
};
Audit audit();

} // namespace umpatch_device
