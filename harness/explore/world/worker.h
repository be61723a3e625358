// One thread's operations.
#pragma once
#include "../trace/trace.h"
#include "memory.h"

namespace explore {

// What all threads share.
struct World {
  const Trace& trace;
  std::vector<Slot> slots;
  uint32_t workers = 1;
  bool may_run_out = false; // memory is limited, so that an allocation may fail
};

void work(World& world, uint32_t thread);
// The GPU has done everything, and has let go of what earlier command buffers held: it comes to one more.
void letGo();
// As torch.mps.synchronize(), with its kinds.
void synchronize(at::mps::SyncType type);

} // namespace explore
