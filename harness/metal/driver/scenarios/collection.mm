// Garbage collection above the low watermark: whether it takes place, and what it takes. One heap of 32 MiB is one MiB
// above the low watermark, so that collecting the right buffer is enough.
#include "../session.h"
#include <simulated_metal/control.h>
#include <functional>

namespace umpatch {
namespace {

using at::mps::SyncType;

constexpr size_t kMiB = 1024 * 1024;

c10::DataPtr allocate(Session& session, size_t bytes) {
  return session.allocate(session.tensors(), bytes);
}

// A buffer of that size that is in the cache.
void cache(Session& session, size_t bytes) {
  auto buffer = allocate(session, bytes);
  session.release(buffer);
}

// The same, and the GPU is not done with it.
void cacheBusy(Session& session, size_t bytes) {
  auto buffer = allocate(session, bytes);
  session.operation({}, {bufferOf(buffer)});
  session.release(buffer);
}

void settle(Session& session) {
  session.synchronize(SyncType::COMMIT_AND_WAIT);
  session.pass(1000);
  session.tensors()->emptyCache();
}

// Allocations that find their buffer, during which what is cached grows older.
void growOlder(Session& session, size_t bytes) {
  for (int i = 0; i < 8; i++) {
    cache(session, bytes);
  }
}

void expectCollected(Session& session, uint64_t expected, const char* what, const std::function<void()>& allocation) {
  const uint64_t before = simulated_metal::counters().heap_buffers_freed;
  allocation();
  const uint64_t freed = simulated_metal::counters().heap_buffers_freed - before;
  if (freed != expected) {
    session.fault(Fault::State, std::string(what) + ": " + std::to_string(freed) + " buffers were collected, not " +
                                    std::to_string(expected));
  }
}

// The oldest is collected, whichever were in flight when they were freed.
void collectsTheOldest(Session& session, bool oldest_is_busy) {
  settle(session);
  constexpr size_t kOldest = 7 * kMiB;
  constexpr size_t kReused = 2 * kMiB + kMiB / 2;
  constexpr size_t kYounger[] = {3 * kMiB, 4 * kMiB};
  auto keeps_the_heap = allocate(session, 2 * kMiB);
  auto oldest = allocate(session, kOldest);
  auto reused = allocate(session, kReused);
  std::vector<c10::DataPtr> younger;
  for (const size_t bytes : kYounger) {
    younger.push_back(allocate(session, bytes));
  }
  if (oldest_is_busy) {
    session.operation({}, {bufferOf(oldest)});
  } else {
    session.operation({}, {bufferOf(younger[0]), bufferOf(younger[1])});
  }
  const std::pair<size_t, const void*> kept[] = {
      {kReused, reused.get()}, {kYounger[0], younger[0].get()}, {kYounger[1], younger[1].get()}};
  session.release(oldest);
  session.release(reused);
  growOlder(session, kReused);
  younger.clear();
  cache(session, kReused);
  session.synchronize(SyncType::COMMIT_AND_WAIT);
  session.pass(1000);
  expectCollected(session, 1, "more than is cached in one piece is wanted", [&] { cache(session, 9 * kMiB); });
  std::vector<c10::DataPtr> taken;
  for (const auto& [bytes, buffer] : kept) {
    taken.push_back(allocate(session, bytes));
    if (taken.back().get() != buffer) {
      session.fault(Fault::State, "a younger buffer was collected, and an older one kept");
    }
  }
}

// The CPU wants what is not cached idle: whether anything is collected follows from how much is free in all.
void collectsIfEnoughIsFree(Session& session,
                            const char* what,
                            const std::vector<size_t>& idle,
                            const std::vector<size_t>& busy,
                            size_t wanted,
                            uint64_t expected) {
  settle(session);
  auto keeps_the_heap = allocate(session, 2 * kMiB);
  std::vector<c10::DataPtr> buffers;
  for (const size_t bytes : idle) {
    buffers.push_back(allocate(session, bytes));
  }
  for (const size_t bytes : busy) {
    buffers.push_back(allocate(session, bytes));
    session.operation({}, {bufferOf(buffers.back())});
  }
  buffers.clear();
  expectCollected(session, expected, what, [&] { session.allocate(session.pinned(), wanted); });
}

// Small buffers are not worth it.
void keepsSmallBuffers(Session& session) {
  settle(session);
  auto keeps_the_heap = allocate(session, 2 * kMiB);
  auto first = allocate(session, kMiB / 4);
  auto second = allocate(session, kMiB / 2);
  session.release(first);
  session.release(second);
  expectCollected(session, 0, "a small buffer is wanted", [&] { cache(session, kMiB / 2 + kMiB / 8); });
}

void collection(Session& session) {
  while (session.step() < session.steps()) {
    collectsTheOldest(session, true);
    collectsTheOldest(session, false);
    collectsIfEnoughIsFree(session, "less is wanted than is free and busy", {2 * kMiB}, {7 * kMiB}, 5 * kMiB, 1);
    collectsIfEnoughIsFree(session, "more is wanted than is free and busy", {2 * kMiB}, {4 * kMiB}, 9 * kMiB, 0);
    collectsIfEnoughIsFree(session, "less is wanted than is free", {3 * kMiB, 4 * kMiB}, {}, 5 * kMiB, 1);
    collectsIfEnoughIsFree(session, "as much is wanted as is free", {3 * kMiB, 4 * kMiB}, {}, 7 * kMiB, 0);
    collectsIfEnoughIsFree(session, "nearly as much is wanted as is free", {3 * kMiB, 4 * kMiB}, {}, 7 * kMiB - 100, 0);
    keepsSmallBuffers(session);
    session.audit();
    session.endStep();
  }
}

using Settings = std::map<std::string, std::string>;

const Scenarios added({
    {"collection",
     "what is collected above the low watermark",
     "ours",
     "pressure",
     {"pending-free"},
     10,
     100,
     true,
     Settings{{"execute", "0"},
              {"allocated_size_rule", "whole-heaps"},
              {"recommended_max_bytes", "67108864"},
              {"low_watermark", "0.484375"},
              {"high_watermark", "1.7"}},
     collection},
});

} // namespace
} // namespace umpatch
