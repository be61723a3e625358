// Threads that allocate, use, free, wait and empty the cache at once, on the wall clock: for the sanitizers, for
// crashes, deadlocks, and the books afterwards. Not the same in every run.
#include <c10/util/ArrayRef.h>
#include <simulated_metal/control.h>
#include <thread>
#include "../session.h"

extern "C" BOOL GSRegisterCurrentThread(void);

namespace umpatch {
namespace {

using at::mps::SyncType;

struct Mix {
  size_t largest;
  uint64_t one_in_empty_cache;
  uint64_t one_in_wait;
  uint64_t one_in_event;
};

void work(Session& session, const Mix& mix, uint64_t seed, std::atomic<uint64_t>& errors) {
  std::mt19937_64 random(seed);
  auto* allocator = seed % 2 ? session.pinned() : session.tensors();
  auto* stream = session.stream();
  const auto oneIn = [&random](uint64_t n) { return n && random() % n == 0; };
  std::vector<c10::DataPtr> live;
  constexpr size_t kMostLive = 8;
  for (uint64_t i = 0; i < session.steps(); i++) {
    @autoreleasepool {
      try {
        const size_t bytes = 256 + random() % (oneIn(16) ? mix.largest : mix.largest / 16);
        session.beat();
        live.push_back(allocator->allocate(bytes));
        stream->fill(bufferOf(live.back()), (uint8_t)i, bytes, 0, oneIn(8) ? SyncType::COMMIT : SyncType::NONE);
        if (seed % 2 && oneIn(mix.one_in_event)) {
          const void* pointers[] = {live.back().get()};
          const void* const* list = pointers;
          dispatch_sync(stream->queue(), ^() {
            allocator->recordEvents(c10::ArrayRef<const void*>(list, 1));
          });
          session.synchronize(SyncType::COMMIT);
          allocator->waitForEvents(c10::ArrayRef<const void*>(list, 1));
        }
        if (live.size() > kMostLive) {
          live.erase(live.begin() + (long)(random() % live.size()));
        }
        if (oneIn(97)) {
          int64_t value = 1;
          auto scalar = allocator->allocScalarBufferWithValue(&value, sizeof value);
        }
        if (oneIn(mix.one_in_empty_cache)) {
          allocator->emptyCache();
        }
        if (oneIn(mix.one_in_wait)) {
          session.synchronize(SyncType::COMMIT_AND_WAIT);
        }
      } catch (const std::exception&) {
        errors++;
        live.clear();
      }
    }
  }
}

void worker(Session& session, const Mix& mix, uint64_t seed, std::atomic<uint64_t>& errors) {
  GSRegisterCurrentThread();
  @autoreleasepool {
    work(session, mix, seed, errors);
  }
}

// What a monitor does: asks again and again how much memory is allocated, while others allocate.
void watchFigures(Session& session, const std::atomic<uint64_t>& working) {
  uint64_t asked = 0;
  for (auto* allocator = session.tensors(); working; asked++) {
    const uint64_t total = allocator->getTotalAllocatedMemory();
    const uint64_t current = allocator->getCurrentAllocatedMemory();
    constexpr uint64_t kFarTooMuch = 1ull << 40;
    if (total > kFarTooMuch || current > kFarTooMuch) {
      session.fault(Fault::Accounting, "a figure is below zero");
      return;
    }
  }
  session.count("asked", asked);
}

void runThreads(Session& session, const Mix& mix, bool watches = false) {
  std::atomic<uint64_t> errors{0};
  std::atomic<uint64_t> working{session.number("threads")};
  std::vector<std::thread> threads;
  for (uint64_t i = 0; i < session.number("threads"); i++) {
    threads.emplace_back([&, i] {
      worker(session, mix, session.seed() * 1000 + i, errors);
      working--;
    });
  }
  if (watches) {
    watchFigures(session, working);
  }
  for (auto& thread : threads) {
    thread.join();
  }
  session.synchronize(SyncType::COMMIT_AND_WAIT);
  simulated_metal::waitIdle();
  session.tensors()->freeInactiveBuffers();
  session.audit();
  session.count("thread_errors", errors);
  if (errors) {
    session.fault(Fault::UnexpectedError, std::to_string(errors) + " operations of the threads failed");
  }
  session.endStep();
}

void fourThreads(Session& session) {
  runThreads(session, {1 << 20, 0, 211, 16});
}

void memoryFigures(Session& session) {
  runThreads(session, {1 << 20, 0, 211, 16}, true);
}

// Buffers that are still in flight are released while another thread changes the pools.
void releaseRace(Session& session) {
  runThreads(session, {4 << 20, 23, 211, 16});
}

using Settings = std::map<std::string, std::string>;

const Scenarios added({
    {"four-threads",
     "four threads allocate, use, free and wait",
     "ours",
     "stress",
     {"release-race", "pending-free"},
     400,
     5000,
     true,
     Settings{{"clock", "wall"}, {"gpu_us_per_command_buffer", "0"}, {"gpu_us_per_command", "0"}, {"threads", "4"}},
     fourThreads,
     Scenario::Role::Threads},
    {"memory-figures",
     "a thread asks how much memory is allocated while four others allocate",
     "ours",
     "stress",
     {"memory-figures"},
     400,
     2000,
     true,
     Settings{{"clock", "wall"}, {"gpu_us_per_command_buffer", "0"}, {"gpu_us_per_command", "0"}, {"threads", "4"}},
     memoryFigures,
     Scenario::Role::Threads},
    {"release-race",
     "four threads, with empty_cache while buffers are in flight",
     "ours",
     "stress",
     {"release-race"},
     1600,
     5000,
     true,
     Settings{{"clock", "wall"},
              {"gpu_us_per_command_buffer", "20"},
              {"gpu_us_per_command", "0"},
              {"threads", "4"},
              {"execute", "0"},
              {"watchdog_ms", "5000"}},
     releaseRace,
     Scenario::Role::Threads},
});

} // namespace
} // namespace umpatch
