// See model.h.
#include "model.h"
#include <simulated_metal/control.h>
#include <algorithm>
#include <cstdio>
#include "../../metal/audit/allocator_audit.h"
#include "../scheduler/scheduler.h"
#include "../trace/trace.h"
#include "ledger.h"
#include "report.h"

namespace explore {
namespace {

using simulated_metal::configuration;
using simulated_metal::counters;

constexpr uint32_t kSettledAfter = 4; // rounds
constexpr uint64_t kMostMoreBuffers = 6;

template <typename... Values>
[[noreturn]] void violated(const char* kind, const char* format, Values... values) {
  char text[512];
  snprintf(text, sizeof text, format, values...);
  report::violation(kind, text);
}

} // namespace

void checkBooks(const std::vector<Slot>& slots) {
  if (scheduler::isLocked(umpatch::audit::mutex())) {
    return; // somebody is in the middle of a change
  }
  scheduler::Alone alone;
  for (const auto& violation : umpatch::audit::check()) {
    const bool accounting = violation.kind == umpatch::audit::Violation::Kind::Accounting;
    report::violation(accounting ? "accounting" : "state", violation.detail.c_str());
  }
  std::vector<std::pair<const void*, uint32_t>> held;
  for (uint32_t i = 0; i < slots.size(); i++) {
    if (slots[i].kind == Slot::Kind::Empty || slots[i].busy) {
      continue;
    }
    const void* pointer = slots[i].buffer();
    const auto block = umpatch::audit::describe(pointer);
    if (!block.known || !block.in_use) {
      violated("state", "%s is held, and for the allocator its buffer is %s", slotName(i).c_str(),
               block.known ? "free" : "unknown");
    }
    if (block.size < slots[i].bytes) {
      violated("state", "%s asked for %llu bytes and has %llu", slotName(i).c_str(), (unsigned long long)slots[i].bytes,
               (unsigned long long)block.size);
    }
    held.emplace_back(pointer, i);
  }
  std::sort(held.begin(), held.end());
  for (size_t i = 1; i < held.size(); i++) {
    if (held[i].first == held[i - 1].first) {
      violated("state", "%s and %s were given the same buffer", slotName(held[i - 1].second).c_str(),
               slotName(held[i].second).c_str());
    }
  }
}

void checkOnlyLive(const std::vector<Slot>& slots) {
  scheduler::Alone alone;
  const auto held = umpatch::audit::holdings();
  uint64_t live = 0;
  for (const Slot& slot : slots) {
    live += slot.kind != Slot::Kind::Empty;
  }
  if (held.available_bytes || held.pending_bytes || held.blocks > live) {
    violated("left-over",
             "empty_cache left %llu available bytes, %llu pending bytes, and %llu buffers where %llu are held",
             (unsigned long long)held.available_bytes, (unsigned long long)held.pending_bytes,
             (unsigned long long)held.blocks, (unsigned long long)live);
  }
}

void checkNothingLeft() {
  scheduler::Alone alone;
  const auto held = umpatch::audit::holdings();
  const uint64_t current = at::mps::getIMPSAllocator()->getCurrentAllocatedMemory();
  const uint64_t driver = counters().allocated_bytes;
  if (held.blocks || current || driver) {
    violated("left-over", "all was freed and the cache emptied: %llu buffers, %llu bytes current, %llu bytes driver",
             (unsigned long long)held.blocks, (unsigned long long)current, (unsigned long long)driver);
  }
  if (const uint64_t live = ledger::live()) {
    violated("left-over", "all was freed and the cache emptied: %llu descriptions of heaps or buffers were not deleted",
             (unsigned long long)live);
  }
}

void checkIdle(const void* pointer, uint32_t slot) {
  // references may outlive the work only where they are dropped late
  if (configuration().drop_order == simulated_metal::DropOrder::AfterWait) {
    return;
  }
  scheduler::Alone alone;
  const auto block = umpatch::audit::describe(pointer);
  if (block.references > 1) {
    violated("hazard", "%s was given to the CPU to write while command buffers hold it (%llu references)",
             slotName(slot).c_str(), (unsigned long long)block.references);
  }
}

void checkAccess() {
  if (counters().cpu_access_hazards) {
    report::violation("access", simulated_metal::first_cpu_access_hazard().c_str());
  }
}

void Growth::endRound(uint32_t round) {
  last_ = counters().heap_buffers_created;
  if (round + 1 == kSettledAfter) {
    settled_ = last_;
  }
}

void Growth::end() const {
  if (settled_ && last_ > settled_ + kMostMoreBuffers) {
    violated("growth", "the same operations again and again: %llu buffers were made in %u rounds, %llu in the end",
             (unsigned long long)settled_, kSettledAfter, (unsigned long long)last_);
  }
}

} // namespace explore
