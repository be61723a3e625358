#include "metal_counters.h"

#include <simulated_metal/control.h>

#include "statistics.h"

namespace umpatch_device {

Statistics& statistics() {
  static auto* counts = new Statistics; // the GPU's thread may count while the process exits
  return *counts;
}

uint64_t blit_commands() {
  return simulated_metal::counters().blit_copies;
}

std::vector<std::pair<std::string, uint64_t>> counters() {
  const auto& metal = simulated_metal::counters();
  const auto& own = statistics();
  const uint64_t allocations = metal.size_queries;
  const uint64_t new_buffers = metal.heap_buffers_created;
  return {
      {"allocations", allocations},
      {"new_buffers", new_buffers},
      {"reused", allocations > new_buffers ? allocations - new_buffers : 0},
      {"heaps_created", metal.heaps_created},
      {"commits", metal.command_buffers_committed},
      {"waits", metal.waits},
      {"blocking_waits", metal.blocking_waits},
      {"throttled", metal.throttled},
      {"hazards", metal.cpu_access_hazards},
      {"graphs", metal.graphs},
      {"graph_commits", metal.graph_commits},
      {"blits", metal.blit_copies},
      {"peak_driver_bytes", metal.peak_allocated_bytes},
      {"eligible_copies", own.eligible_copies},
      {"memcpy_copies", own.memcpy_copies},
      {"blit_copies", own.blit_copies},
      {"kernels_deferred", own.kernels_deferred},
      {"kernels_waited", own.kernels_waited},
      {"shapes_unknown", own.shapes_unknown},
      {"kernels_failed", own.kernels_failed},
  };
}

} // namespace umpatch_device
