// What must hold whenever somebody looks: the allocator's books, what is handed out, and what is left.
#pragma once
#include "memory.h"

namespace explore {

// The allocator's books agree, and none of the slots' buffers is anything but in use, or in two slots.
void checkBooks(const std::vector<Slot>& slots);
// After empty_cache in a program of one thread: only what slots hold is left.
void checkOnlyLive(const std::vector<Slot>& slots);
// Everything was freed and the cache emptied: nothing is left.
void checkNothingLeft();
// The CPU is about to write memory that it was just given.
void checkIdle(const void* pointer, uint32_t slot);
// What the checked mapping of shared memory has recorded.
void checkAccess();

// Buffers made so far; the same operations again must not need more and more of them.
class Growth {
 public:
  void endRound(uint32_t round);
  void end() const;

 private:
  uint64_t settled_ = 0;
  uint64_t last_ = 0;
};

} // namespace explore
