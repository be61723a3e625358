// The objects in which the allocator describes its heaps and buffers: one that nobody deletes is lost memory of the
// host.
#pragma once
#include <cstdint>

namespace explore::ledger {

// From here on what the allocator makes of them is booked. Not with a sanitizer, which has a heap of its own.
void begin();
// What the calling thread makes in this scope is something else of the same size: events, which their pool keeps.
class Aside {
 public:
  Aside();
  ~Aside();
  Aside(const Aside&) = delete;
  Aside& operator=(const Aside&) = delete;
};
// How many of them live.
uint64_t live();

} // namespace explore::ledger
