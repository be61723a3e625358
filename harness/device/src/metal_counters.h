// Counters of the simulated Metal and of the plug-in, by the names that the native driver uses.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace umpatch_device {

// Blit commands encoded so far by this process.
uint64_t blit_commands();

// All counters, cumulative since the process started, in a fixed order.
std::vector<std::pair<std::string, uint64_t>> counters();

} // namespace umpatch_device
