// See memory.h.
#include "memory.h"
#include <ATen/ops/from_blob.h>
#include <simulated_metal/control.h>
#include <cstdio>
#include <cstring>
#include "../trace/trace.h"
#include "report.h"

namespace explore {
namespace {

constexpr uint8_t kGivenUp = 0xDB;

struct HostMemory {
  uint8_t* bytes;
  uint64_t size;
  bool given_up;
  HostMemory* next;
};
// Never freed: what is written too late must be seen. A list, since a sanitizer would see the threads share an array.
HostMemory* last_host_memory = nullptr;

void giveUp(void* raw) {
  auto* memory = static_cast<HostMemory*>(raw);
  memset(memory->bytes, kGivenUp, memory->size);
  memory->given_up = true;
}

} // namespace

id<MTLBuffer> Slot::buffer() const {
  return (id<MTLBuffer>)(kind == Kind::Tensor ? const_cast<void*>(tensor.storage().data()) : pointer.get());
}

void write(uint8_t* memory, uint64_t bytes, uint8_t value) {
  memset(memory, value, bytes);
}

void expect(const uint8_t* memory, uint64_t bytes, uint8_t value, const char* who, uint32_t slot) {
  atSomeBytes(bytes, [&](uint64_t offset, uint64_t length) {
    for (uint64_t i = offset; i < offset + length; i++) {
      if (memory[i] != value) {
        char text[256];
        snprintf(text, sizeof text, "%s reads %s: byte %llu of %llu is 0x%02x, 0x%02x was written", who,
                 slotName(slot).c_str(), (unsigned long long)i, (unsigned long long)bytes, memory[i], value);
        report::violation(memory[i] == kGivenUp ? "host-memory" : "wrong-data", text);
      }
    }
  });
}

at::Tensor hostTensor(uint64_t bytes, uint8_t value) {
  constexpr uint64_t kAlignment = 64;
  auto* memory = new HostMemory{
      static_cast<uint8_t*>(aligned_alloc(kAlignment, (bytes + kAlignment - 1) / kAlignment * kAlignment)), bytes,
      false, last_host_memory};
  memset(memory->bytes, value, bytes);
  last_host_memory = memory;
  return at::for_blob(memory->bytes, {(int64_t)bytes})
      .options(at::TensorOptions().dtype(at::kByte))
      .deleter([memory](void*) { giveUp(memory); })
      .make_tensor();
}

void checkGivenUp() {
  for (const HostMemory* memory = last_host_memory; memory; memory = memory->next) {
    for (uint64_t i = 0; memory->given_up && i < memory->size; i++) {
      if (memory->bytes[i] != kGivenUp) {
        report::violation("host-memory", "the GPU wrote into host memory after its tensor was gone");
      }
    }
  }
}

} // namespace explore
