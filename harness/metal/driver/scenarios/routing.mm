// Which free buffer an allocation gets: the CPU one that the GPU is done with, wherever it is among busy ones; the GPU
// a busy one, so that idle ones are left to the CPU. In each case there is such a buffer, so none has to be made.
#include <simulated_metal/hooks.h>
#include <algorithm>
#include <cstring>
#include <iterator>
#include "../../audit/allocator_audit.h"
#include "../tensors.h"

namespace umpatch {
namespace {

using at::mps::SyncType;
using Buffers = std::vector<c10::DataPtr>;
using Identities = std::vector<const void*>;

Buffers allocate(Session& session, size_t count, size_t bytes) {
  Buffers buffers;
  for (size_t i = 0; i < count; i++) {
    buffers.push_back(session.allocate(session.tensors(), bytes));
  }
  return buffers;
}

void sort(Buffers& buffers) {
  std::sort(buffers.begin(), buffers.end(), [](const auto& a, const auto& b) { return a.get() < b.get(); });
}

// The GPU is to use these, and does not come to it before the next wait; committed work does with the next pass.
void use(Session& session, const Identities& buffers) {
  for (const void* buffer : buffers) {
    session.operation({}, {(id<MTLBuffer>)const_cast<void*>(buffer)});
  }
}

Identities identitiesOf(const Buffers& buffers, size_t from, size_t to) {
  Identities identities;
  for (size_t i = from; i < to; i++) {
    identities.push_back(buffers[i].get());
  }
  return identities;
}

void release(Session& session, Buffers& buffers) {
  for (auto& buffer : buffers) {
    session.release(buffer);
  }
  buffers.clear();
}

void settle(Session& session) {
  session.synchronize(SyncType::COMMIT_AND_WAIT);
  session.pass(1000);
  session.tensors()->emptyCache();
}

constexpr size_t kMiB = 1 << 20;

enum class Writer { Cpu, Gpu };

// So many allocations have to get buffers of the list, and nothing new.
Buffers expectOf(
    Session& session, Writer writer, size_t count, size_t bytes, const Identities& wanted, const char* what) {
  const uint64_t before = simulated_metal::counters().heap_buffers_created;
  Buffers got;
  size_t others = 0;
  for (size_t i = 0; i < count; i++) {
    got.push_back(session.allocate(writer == Writer::Cpu ? session.pinned() : session.tensors(), bytes));
    others += std::find(wanted.begin(), wanted.end(), got.back().get()) == wanted.end();
  }
  const uint64_t made = simulated_metal::counters().heap_buffers_created - before;
  if (others || made) {
    session.fault(Fault::State, std::string(what) + ": of " + std::to_string(count) + " allocations " +
                                    std::to_string(others) + " got another buffer than was to be had, and " +
                                    std::to_string(made) + " buffers were made");
  }
  return got;
}

// Eight of twelve buffers are in flight when all are freed: the first ones or the last ones.
void idleAmongBusy(Session& session, size_t bytes, bool first_are_busy, bool gpu_allocates) {
  settle(session);
  constexpr size_t kAll = 12;
  constexpr size_t kIdle = 4;
  Buffers buffers = allocate(session, kAll, bytes);
  sort(buffers);
  const size_t border = first_are_busy ? kAll - kIdle : kIdle;
  Identities busy = identitiesOf(buffers, 0, border);
  Identities idle = identitiesOf(buffers, border, kAll);
  if (!first_are_busy) {
    busy.swap(idle);
  }
  use(session, busy);
  release(session, buffers);
  Buffers of_gpu;
  if (gpu_allocates) {
    of_gpu = expectOf(session, Writer::Gpu, busy.size(), bytes, busy, "the GPU takes what it uses already");
  }
  Buffers of_cpu = expectOf(session, Writer::Cpu, idle.size(), bytes, idle, "the CPU takes what is idle");
  release(session, of_cpu);
}

// Half of what was in flight when it was freed has become idle since: the oldest half.
void oldestBecomeIdle(Session& session, size_t bytes) {
  settle(session);
  constexpr size_t kHalf = 8;
  Buffers older = allocate(session, 2 * kHalf, bytes);
  sort(older); // so that the order of their addresses, which is another one, would take the oldest
  Buffers newer;
  std::move(older.begin() + kHalf, older.end(), std::back_inserter(newer));
  older.resize(kHalf);
  const Identities idle = identitiesOf(older, 0, kHalf);
  const Identities busy = identitiesOf(newer, 0, kHalf);
  use(session, idle);
  session.synchronize(SyncType::COMMIT);
  release(session, older);
  use(session, busy);
  release(session, newer);
  session.pass(1000);
  Buffers of_gpu = expectOf(session, Writer::Gpu, kHalf, bytes, busy, "the GPU takes what was freed last");
  Buffers of_cpu = expectOf(session, Writer::Cpu, kHalf, bytes, idle, "the CPU takes what has become idle");
}

// All are in flight when they are freed, and the oldest half becomes idle after the GPU has got what was freed last.
void oldestAreLeft(Session& session, size_t bytes) {
  settle(session);
  constexpr size_t kHalf = 8;
  Buffers buffers = allocate(session, 2 * kHalf, bytes);
  sort(buffers); // so that the order of their addresses, which is another one, would take the oldest
  const Identities older = identitiesOf(buffers, 0, kHalf);
  const Identities newer = identitiesOf(buffers, kHalf, 2 * kHalf);
  use(session, older);
  session.synchronize(SyncType::COMMIT);
  use(session, newer);
  release(session, buffers);
  Buffers of_gpu = expectOf(session, Writer::Gpu, kHalf, bytes, newer, "the GPU takes what was freed last");
  session.pass(1000);
  Buffers of_cpu = expectOf(session, Writer::Cpu, kHalf, bytes, older, "the CPU takes what was left to it");
}

// A buffer becomes idle before others that were freed earlier: an allocation for the CPU finds it, however many they
// are.
void idleBehindBusy(Session& session, size_t bytes, size_t older_count) {
  settle(session);
  Buffers older = allocate(session, older_count, bytes);
  Buffers newer = allocate(session, 1, bytes);
  const Identities idle = identitiesOf(newer, 0, 1);
  use(session, idle);
  session.synchronize(SyncType::COMMIT);
  use(session, identitiesOf(older, 0, older_count));
  release(session, older);
  release(session, newer);
  session.pass(1000);
  expectOf(session, Writer::Cpu, 1, bytes, idle, "the CPU takes what is idle behind what is busy");
}

// The same for a copy into a tensor that the GPU uses, which looks at a few only.
void copyBehindBusy(Session& session, size_t bytes) {
  settle(session);
  constexpr size_t kOlder = 3;
  const Tensor target = emptyBytes(bytes, at::kMPS);
  const Tensor view = target.slice(0, 1);
  Buffers older = allocate(session, kOlder, bytes);
  Buffers newer = allocate(session, 1, bytes);
  use(session, identitiesOf(newer, 0, 1));
  session.synchronize(SyncType::COMMIT);
  use(session, {target.storage().data()});
  use(session, identitiesOf(older, 0, kOlder));
  release(session, older);
  release(session, newer);
  session.pass(1000);
  const Tensor host = filledOnHost(bytes, 1);
  const uint64_t before = simulated_metal::counters().heap_buffers_created;
  const uint64_t waits = simulated_metal::counters().waits;
  Tensor written = target;
  written.copy_(host);
  if (simulated_metal::counters().heap_buffers_created != before || simulated_metal::counters().waits != waits) {
    session.fault(Fault::State, "a copy does not find the idle buffer behind three that are busy");
  }
}

// Buffers are encoded again after they were freed, as by a view in a cached graph: they are among the idle ones, and
// busy.
void encodedAfterFree(Session& session, size_t bytes) {
  settle(session);
  constexpr size_t kAll = 4;
  Buffers buffers = allocate(session, kAll, bytes);
  sort(buffers);
  const Identities busy = identitiesOf(buffers, 0, kAll - 1);
  const Identities idle = identitiesOf(buffers, kAll - 1, kAll);
  release(session, buffers);
  use(session, busy);
  expectOf(session, Writer::Cpu, 1, bytes, idle,
           "the CPU takes the idle one of those that were idle when they were freed");
}

// Counts how often somebody asks for a retain count, in a scope. By a hook, as a counter would be among the
// instructions that an allocation is measured by.
class RetainCounts {
 public:
  RetainCounts() {
    others_ = simulated_metal::hooks::all().step;
    asked_ = 0;
    simulated_metal::hooks::all().step = step;
  }
  ~RetainCounts() {
    simulated_metal::hooks::all().step = others_;
  }
  RetainCounts(const RetainCounts&) = delete;
  RetainCounts& operator=(const RetainCounts&) = delete;
  uint64_t asked() const {
    return asked_;
  }

 private:
  static void (*others_)(const char*);
  static uint64_t asked_;

  static void step(const char* where) {
    asked_ += strcmp(where, "retain count") == 0;
    if (others_) {
      others_(where);
    }
  }
};
void (*RetainCounts::others_)(const char*) = nullptr;
uint64_t RetainCounts::asked_ = 0;

// With many busy buffers in the cache an allocation asks for the retain counts of a few of them only.
void looksAtFew(Session& session, size_t bytes, bool busy_when_freed) {
  settle(session);
  constexpr size_t kAll = 200;
  constexpr uint64_t kFew = 16;
  Buffers buffers = allocate(session, kAll, bytes);
  Buffers last = allocate(session, 1, bytes);
  const Identities all = identitiesOf(buffers, 0, kAll);
  if (busy_when_freed) {
    use(session, all);
    session.release(last.front()); // an idle one, which the CPU is to find
  }
  release(session, buffers);
  if (!busy_when_freed) {
    use(session, all);
  }
  for (const Writer writer : {Writer::Gpu, Writer::Cpu}) {
    const RetainCounts counts;
    buffers.push_back(session.allocate(writer == Writer::Cpu ? session.pinned() : session.tensors(), bytes));
    if (const uint64_t looks = counts.asked(); looks > kFew) {
      session.fault(Fault::State, std::string("an allocation for the ") + (writer == Writer::Cpu ? "CPU" : "GPU") +
                                      " asks for " + std::to_string(looks) + " retain counts with " +
                                      std::to_string(kAll) + " busy buffers in the cache");
    }
  }
}

// The GPU takes what fits best, idle or not; of two that fit equally well, the one that it uses already.
void bestFit(Session& session, size_t bytes, size_t idle_bytes, size_t busy_bytes) {
  settle(session);
  Buffers buffers;
  buffers.push_back(session.allocate(session.tensors(), idle_bytes));
  buffers.push_back(session.allocate(session.tensors(), busy_bytes));
  const Identities idle = identitiesOf(buffers, 0, 1);
  const Identities busy = identitiesOf(buffers, 1, 2);
  use(session, busy);
  release(session, buffers);
  expectOf(session, Writer::Gpu, 1, bytes, idle_bytes < busy_bytes ? idle : busy, "the GPU takes what fits best");
}

// Two large buffers are cached in a full heap, and little is wanted: one of them makes room, the other stays.
void makesRoomOnce(Session& session) {
  settle(session);
  constexpr size_t kHeap = 1024 * kMiB;
  constexpr size_t kFirst = 40 * kMiB;
  constexpr size_t kSecond = 41 * kMiB;
  Buffers buffers;
  for (const size_t bytes : {kFirst, kSecond, kHeap - kFirst - kSecond}) {
    buffers.push_back(session.allocate(session.tensors(), bytes));
  }
  session.release(buffers[0]);
  session.release(buffers[1]);
  const uint64_t before = simulated_metal::counters().heap_buffers_freed;
  const auto small = session.allocate(session.tensors(), 3 * kMiB);
  const uint64_t freed = simulated_metal::counters().heap_buffers_freed - before;
  if (freed != 1) {
    session.fault(Fault::State, "for a small buffer " + std::to_string(freed) + " large ones were released, not 1");
  }
}

// What has become idle is not pending any more when somebody asks for it.
void freeInactive(Session& session, size_t bytes) {
  settle(session);
  Buffers buffers = allocate(session, 3, bytes);
  use(session, identitiesOf(buffers, 0, buffers.size()));
  release(session, buffers);
  session.synchronize(SyncType::COMMIT_AND_WAIT);
  session.pass(1000);
  session.tensors()->freeInactiveBuffers();
  if (const uint64_t pending = audit::holdings().pending_bytes) {
    session.fault(Fault::State, "freeInactiveBuffers left what is idle pending", pending);
  }
}

void routing(Session& session) {
  while (session.step() < session.steps()) {
    for (const size_t bytes : {4096 * (1 + session.random()() % 64), kMiB + 4096 * (1 + session.random()() % 63)}) {
      for (const bool first_are_busy : {false, true}) {
        idleAmongBusy(session, bytes, first_are_busy, false);
        idleAmongBusy(session, bytes, first_are_busy, true);
      }
      oldestBecomeIdle(session, bytes);
      oldestAreLeft(session, bytes);
      idleBehindBusy(session, bytes, 3);
      idleBehindBusy(session, bytes, 7);
      copyBehindBusy(session, bytes);
      encodedAfterFree(session, bytes);
      looksAtFew(session, 4096, true);
      looksAtFew(session, 4096, false);
      bestFit(session, bytes, bytes, bytes);
      bestFit(session, bytes, bytes + bytes / 4, bytes + bytes / 2);
      bestFit(session, bytes, bytes + bytes / 2, bytes + bytes / 4);
    }
    makesRoomOnce(session);
    freeInactive(session, kMiB);
    session.audit();
    session.endStep();
  }
}

using Settings = std::map<std::string, std::string>;

const Scenarios added({
    {"routing",
     "who gets which free buffer: the CPU an idle one, the GPU a busy one",
     "ours",
     "correctness",
     {"pending-free"},
     10,
     100,
     true,
     Settings{{"heap_alignment", "256"}, {"graph_commit_every", "0"}, {"drop_order", "after-handlers"}},
     routing},
});

} // namespace
} // namespace umpatch
