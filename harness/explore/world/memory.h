// What the threads hold: tensors, pinned memory and scalars in slots, each with the byte that it must be full of.
#pragma once
#include <ATen/core/Tensor.h>
#include <ATen/mps/MPSAllocatorInterface.h>
#include <ATen/mps/MPSStream.h>
#include <cstdint>
#include <vector>

namespace explore {

struct Slot {
  enum class Kind { Empty, Tensor, Pinned, Scalar };
  Kind kind = Kind::Empty;
  bool busy = false; // an operation of some thread works on it
  at::Tensor tensor;
  c10::DataPtr pointer;
  uint64_t bytes = 0;
  bool has_value = false;
  uint8_t value = 0;
  bool is_full = false; // every byte was written, not only some of large memory

  id<MTLBuffer> buffer() const;
};

// Larger memory is written and looked at in places.
constexpr uint64_t kMostWhole = 8192;
template <typename F>
void atSomeBytes(uint64_t bytes, F&& body) {
  constexpr uint64_t kWhole = 2048;
  if (bytes <= kMostWhole) {
    if (bytes) {
      body(0, bytes);
    }
    return;
  }
  body(0, kWhole / 2);
  for (uint64_t at = 4096; at + kWhole / 2 < bytes; at += bytes / 8 + 1) {
    body(at, 16);
  }
  body(bytes - kWhole / 2, kWhole / 2);
}

void write(uint8_t* memory, uint64_t bytes, uint8_t value);
// Memory must hold this value; else the run ends with the words.
void expect(const uint8_t* memory, uint64_t bytes, uint8_t value, const char* who, uint32_t slot);

// Host memory that a tensor uses and gives up: from then on it holds a pattern that nobody may read or write.
at::Tensor hostTensor(uint64_t bytes, uint8_t value);
// The memory that host tensors gave up still holds the pattern.
void checkGivenUp();

} // namespace explore
