// See ledger.h: the program's own operator new knows them by their sizes, and by who makes them, the holder of the
// allocator's mutex. One thread runs at a time, so that nothing here is locked.
#include "ledger.h"
#include <cstdlib>
#include <new>
#include "../../metal/audit/allocator_audit.h"
#include "../scheduler/scheduler.h"

namespace explore::ledger {
namespace {

constexpr size_t kPlaces = 1 << 14; // a power of two, and far more than a seed's buffers
constexpr size_t kFar = 8;          // from its own place: what finds none there is not booked

// Not from the heap: addresses are the same with a ledger and without.
struct Ledger {
  bool begun;
  umpatch::audit::DescriptionSizes sizes;
  const void* mutex;
  uint64_t count;
  const void* live[kPlaces];
} ledger;

thread_local bool aside = false;

// The place near its own that holds `wanted`; null when there is none.
const void** find(const void* memory, const void* wanted) {
  const size_t own = (uintptr_t)memory >> 4;
  for (size_t i = 0; i < kFar; i++) {
    const void*& place = ledger.live[(own + i) % kPlaces];
    if (place == wanted) {
      return &place;
    }
  }
  return nullptr;
}

void made(const void* memory, size_t bytes) {
  if (!ledger.begun || aside || (bytes != ledger.sizes.heap && bytes != ledger.sizes.buffer) ||
      !scheduler::holds(ledger.mutex)) {
    return;
  }
  if (const void** place = find(memory, nullptr)) {
    *place = memory;
    ledger.count++;
  }
}

void deleted(const void* memory) {
  if (!ledger.count || !memory) {
    return;
  }
  if (const void** place = find(memory, memory)) {
    *place = nullptr;
    ledger.count--;
  }
}

} // namespace

void begin() {
  ledger.sizes = umpatch::audit::descriptionSizes();
  ledger.mutex = umpatch::audit::mutex();
  ledger.begun = true;
}

Aside::Aside() {
  aside = true;
}
Aside::~Aside() {
  aside = false;
}

uint64_t live() {
  return ledger.count;
}

} // namespace explore::ledger

#if !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer)

void* operator new(size_t bytes) {
  void* memory = malloc(bytes ? bytes : 1);
  if (!memory) {
    throw std::bad_alloc();
  }
  explore::ledger::made(memory, bytes);
  return memory;
}

void operator delete(void* memory) noexcept {
  explore::ledger::deleted(memory);
  free(memory);
}

void operator delete(void* memory, size_t) noexcept {
  operator delete(memory);
}

#endif
