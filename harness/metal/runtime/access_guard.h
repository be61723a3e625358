// CpuAccess::Checked: page protection on the CPU's mapping of shared heaps, so that CPU access to what the GPU still
// uses is recorded where it happens. Real hardware has no such check: there the bytes are silently wrong.
#pragma once
#include <cstddef>
#include <cstdint>

namespace simulated_metal::access_guard {

enum class Use { GpuReads, GpuWrites };

// The CPU's mapping of a heap; the GPU's own mapping of the same memory is never protected.
void addHeap(uint8_t* cpu_base, size_t size);
void removeHeap(uint8_t* cpu_base);
// From encoding until the command buffer completes. Addresses that are in no heap are ignored.
void begin(const uint8_t* cpu_address, size_t length, Use use);
void end(const uint8_t* cpu_address, size_t length, Use use);

} // namespace simulated_metal::access_guard
