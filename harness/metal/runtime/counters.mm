// See counters.h.
#include "counters.h"

namespace simulated_metal {

Counters& counters() {
  static Counters* all = new Counters; // outlives static destructors, which still release buffers
  return *all;
}

void addAllocated(int64_t bytes) {
  auto& all = counters();
  const uint64_t now = all.allocated_bytes.fetch_add((uint64_t)bytes) + (uint64_t)bytes;
  uint64_t peak = all.peak_allocated_bytes.load();
  while (now > peak && !all.peak_allocated_bytes.compare_exchange_weak(peak, now)) {
  }
}

} // namespace simulated_metal
