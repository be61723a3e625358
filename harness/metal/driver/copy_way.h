// Which way a copy goes: whether the CPU writes or the GPU copies, who waits for whom, what is allocated for it.
#pragma once
#include <functional>
#include <string>
#include "tensors.h"

#pragma clang diagnostic ignored "-Wc++20-designator"

namespace umpatch {

// What a copy made the device do.
struct Way {
  uint64_t waits = 0;
  uint64_t commits = 0;
  uint64_t blits = 0;
  uint64_t kernels = 0;
  uint64_t host_buffers = 0; // made around the host's memory
  uint64_t heap_buffers = 0;

  static Way soFar();
  Way since(const Way& before) const;
  bool operator==(const Way& other) const;
  std::string text() const;
};

// Runs a copy, which has to go that way and no other.
void copyBy(Session& session, const char* what, const Way& expected, const std::function<void()>& copy);

// Everything that the GPU had to do is done, and nothing is cached.
void settle(Session& session);
// Work that is encoded, and not committed, fills the tensor.
void fillLate(Session& session, const Tensor& tensor, uint8_t value);
// Waits, and compares all of the tensor.
void expectValue(Session& session, const Tensor& tensor, uint8_t value, const char* what);

constexpr size_t kMiB = 1 << 20;
constexpr uint8_t kOld = 0xEE;
constexpr uint8_t kNew = 0x11;

} // namespace umpatch
