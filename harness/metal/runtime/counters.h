// Book-keeping of what the device holds.
#pragma once
#include <simulated_metal/control.h>

namespace simulated_metal {
// Adds to MTLDevice.currentAllocatedSize and follows its peak; negative when memory is given back.
void addAllocated(int64_t bytes);
} // namespace simulated_metal
