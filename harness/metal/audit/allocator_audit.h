// Looks into the tree's own allocator: what it holds, and whether its books agree with each other.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace umpatch::audit {

// Bytes and blocks by state, over all pools.
struct Holdings {
  uint64_t pending_bytes = 0;        // in buffers_pending_free
  uint64_t available_bytes = 0;      // in available_buffers
  uint64_t blocks = 0;               // buffers that the allocator has, in whichever state
  uint64_t in_flight_free_bytes = 0; // freed, and a command buffer still holds them
  uint64_t shared_blocks_in_use = 0;
  uint64_t private_blocks_in_use = 0;
};
Holdings holdings();

// Heaps whose available size is not what the device says, or that still wait for it.
size_t unsettledHeaps();

// One disagreement in the allocator's books.
struct Violation {
  enum class Kind { Accounting, State };
  Kind kind;
  std::string detail;
  uint64_t bytes = 0;
};
std::vector<Violation> check();

// One allocation, by the pointer that its DataPtr holds.
struct Block {
  bool known = false;
  bool in_use = false;
  bool is_shared = false;
  uint64_t size = 0;
  uint64_t references = 0;
};
Block describe(const void* pointer);

// Bytes of the objects that describe a heap and a buffer.
struct DescriptionSizes {
  size_t heap;
  size_t buffer;
};
DescriptionSizes descriptionSizes();

// Where the allocator's mutex is.
const void* mutex();

} // namespace umpatch::audit
