// Memory pressure: a small recommendedMaxWorkingSetSize, so that the watermarks, garbage collection, adaptive commits
// and the release of cached buffers all come into play. Running out of memory where the live tensors fit is a fault.
#include <memory>
#include "../session.h"

namespace umpatch {
namespace {

using at::mps::SyncType;

constexpr size_t kMiB = 1024 * 1024;

// A steady working set of small and large buffers, all of it used by kernels that nobody waits for.
void workingSet(Session& session) {
  const std::vector<size_t> sizes{64 * 1024, 512 * 1024, 2 * kMiB, 3 * kMiB, 5 * kMiB, 4 * kMiB, 256 * 1024, 6 * kMiB};
  while (session.step() < session.steps()) {
    std::vector<c10::DataPtr> live;
    for (size_t size : sizes) {
      auto buffer = session.allocate(session.tensors(), size);
      session.operation({}, {bufferOf(buffer)});
      session.pass();
      live.push_back(std::move(buffer));
    }
    for (auto& buffer : live) {
      session.release(buffer);
    }
    if (session.number("commit_every") && session.step() % session.number("commit_every") == 0) {
      session.synchronize(SyncType::COMMIT);
    }
    session.endStep();
    if (session.step() % 20 == 0) {
      session.audit();
    }
  }
}

// Ever new sizes: what is cached never fits, so that only releasing makes room.
void newSizes(Session& session) {
  while (session.step() < session.steps()) {
    std::vector<c10::DataPtr> live;
    for (int i = 0; i < 6; i++) {
      const size_t size = kMiB + (session.random()() % (8 * 1024)) * 1024; // below the 1 GiB heaps
      auto buffer = session.allocate(session.tensors(), size);
      session.operation({}, {bufferOf(buffer)});
      session.pass();
      live.push_back(std::move(buffer));
      if (i % 2) {
        session.release(live[live.size() - 2]);
      }
    }
    live.clear();
    session.endStep();
    if (session.step() % 20 == 0) {
      session.audit();
    }
  }
}

// Large buffers are dropped and small ones wanted: the allocator has to split, reuse or release the oversized ones.
void oversize(Session& session) {
  while (session.step() < session.steps()) {
    auto large = session.allocate(session.tensors(), 48 * kMiB);
    session.operation({}, {bufferOf(large)});
    session.release(large);
    session.pass();
    std::vector<c10::DataPtr> small;
    for (int i = 0; i < 4; i++) {
      small.push_back(session.allocate(session.tensors(), 3 * kMiB + (session.random()() % 4) * kMiB));
      session.operation({}, {bufferOf(small.back())});
      session.pass();
    }
    small.clear();
    session.endStep();
    session.audit();
  }
}

// Two cached buffers are released to make room in their heap, but the limit counts the whole heap: it has to go too, or
// an allocation fails while nobody holds memory.
void heapsLeftEmpty(Session& session) {
  while (session.step() < session.steps()) {
    auto first = session.allocate(session.tensors(), 2 * kMiB);
    auto second = session.allocate(session.tensors(), 2 * kMiB);
    session.synchronize(SyncType::COMMIT_AND_WAIT);
    session.release(first);
    session.release(second);
    auto third = session.allocate(session.tensors(), 3 * kMiB + kMiB / 2);
    session.release(third);
    session.tensors()->emptyCache();
    session.endStep();
    session.audit();
  }
}

// While empty_cache waits with the mutex unlocked, others allocate under pressure: a busy buffer of a full heap is
// given up, so that the heap waits for an update, and its last buffer is collected. What empty_cache then releases must
// not be found again when the update comes.
void heapWaitsForUpdate(Session& session) {
  constexpr size_t kHeap = 1024 * kMiB;
  constexpr size_t kGivenUp = 48 * kMiB;
  constexpr size_t kSmall = 3 * kMiB;
  while (session.step() < session.steps()) {
    session.synchronize(SyncType::COMMIT_AND_WAIT);
    session.pass(1000);
    session.tensors()->emptyCache();
    auto first = session.allocate(session.tensors(), kGivenUp);
    auto rest = std::make_shared<c10::DataPtr>(session.allocate(session.tensors(), kHeap - kGivenUp));
    const id<MTLBuffer> busy = bufferOf(first);
    [busy retain]; // as a command buffer would that completes later
    session.release(first);
    auto small = std::make_shared<std::vector<c10::DataPtr>>();
    auto* allocator = session.tensors();
    session.stream()->addCompletedHandler(^(id<MTLCommandBuffer>) {
      small->push_back(allocator->allocate(kSmall));
      rest->clear();
      small->push_back(allocator->allocate(kSmall));
    });
    session.tensors()->emptyCache();
    session.audit();
    // the update comes with the next command buffer
    for (int i = 0; i < 2; i++) {
      session.operation({}, {bufferOf(small->front())});
      session.synchronize(SyncType::COMMIT_AND_WAIT);
      session.pass(1000);
    }
    session.audit();
    [busy release];
    small->clear();
    session.endStep();
  }
}

using Settings = std::map<std::string, std::string>;

Settings pressure(const char* recommended_mib, const char* low, const char* high, const char* commit_every) {
  return {{"execute", "0"},
          {"recommended_max_bytes", std::to_string(strtoull(recommended_mib, nullptr, 10) * kMiB)},
          {"low_watermark", low},
          {"high_watermark", high},
          {"commit_every", commit_every}};
}

const Scenarios added({
    {"pressure-at-low-watermark",
     "a working set above the low watermark: collection and adaptive commits",
     "ours",
     "pressure",
     {"pending-free", "release-race"},
     200,
     2000,
     true,
     pressure("64", "0.5", "1.7", "1"),
     workingSet},
    {"pressure-at-high-watermark",
     "a working set just below the high watermark, committed each fourth step",
     "ours",
     "pressure",
     {"pending-free"},
     200,
     2000,
     true,
     pressure("64", "1.0", "1.2", "4"),
     workingSet},
    {"pressure-never-synchronised",
     "the same, never committed by the program",
     "ours",
     "pressure",
     {"pending-free"},
     200,
     2000,
     true,
     pressure("96", "1.0", "1.2", "0"),
     workingSet},
    {"pressure-new-sizes",
     "ever new sizes near the high watermark",
     "ours",
     "pressure",
     {"pending-free", "release-race"},
     200,
     2000,
     true,
     pressure("96", "0.8", "1.4", "0"),
     newSizes},
    {"pressure-oversize",
     "large buffers dropped, small ones wanted",
     "ours",
     "pressure",
     {"pending-free", "release-race"},
     150,
     2000,
     true,
     pressure("128", "0.6", "1.5", "0"),
     oversize},
    {"heap-waits-for-update",
     "a heap is released that waits for an update",
     "ours",
     "correctness",
     {"release-empty-heaps"},
     20,
     200,
     true,
     Settings{{"execute", "0"},
              {"allocated_size_rule", "whole-heaps"},
              {"recommended_max_bytes", "5368709120"},
              {"low_watermark", "0.1"},
              {"watchdog_ms", "3000"}},
     heapWaitsForUpdate},
    {"heaps-left-empty",
     "cached buffers released to make room in a heap that the limit does not let grow",
     "ours",
     "pressure",
     {"release-empty-heaps"},
     50,
     500,
     true,
     pressure("35", "0.01", "1.0", "0"),
     heapsLeftEmpty},
});

} // namespace
} // namespace umpatch
