// Memory of one buffer between pages that nobody may touch, for the setting guard_pages.
#pragma once
#include <cstddef>
#include <cstdint>

namespace simulated_metal::guarded_memory {
// Memory that ends at an inaccessible page, but for up to 63 bytes, and begins after one; null when there is none.
uint8_t* allocate(size_t length);
void release(uint8_t* memory, size_t length);
} // namespace simulated_metal::guarded_memory
