// The allocator's books through the life of its blocks: in use, pending, available, released; empty_cache; storage
// modes.
#include <ATen/detail/MPSHooksInterface.h>
#include "../../audit/allocator_audit.h"
#include "../tensors.h"

namespace umpatch {
namespace {

using at::mps::SyncType;

constexpr size_t kMiB = 1024 * 1024;

// Random allocations of all sizes, uses, frees, commits and waits, from both allocators, with the books checked all
// along.
void accounting(Session& session) {
  std::vector<c10::DataPtr> live;
  constexpr size_t kMostLive = 24;
  while (session.step() < session.steps()) {
    for (int i = 0; i < 20; i++) {
      const uint64_t dice = session.random()() % 100;
      if (dice < 45 && live.size() < kMostLive) {
        const size_t bytes = size_t(1) << (session.random()() % 24);
        auto* allocator = session.random()() % 3 == 0 ? session.pinned() : session.tensors();
        live.push_back(session.allocate(allocator, bytes + session.random()() % bytes));
        session.operation({}, {bufferOf(live.back())});
      } else if (dice < 80 && !live.empty()) {
        const size_t victim = session.random()() % live.size();
        session.release(live[victim]);
        live.erase(live.begin() + (long)victim);
      } else if (dice < 90) {
        int64_t value = (int64_t)dice;
        auto scalar = session.tensors()->allocScalarBufferWithValue(&value, sizeof value);
        session.operation({bufferOf(scalar)}, {});
      } else if (dice < 95) {
        session.synchronize(SyncType::COMMIT);
      } else if (dice < 97) {
        session.synchronize(SyncType::COMMIT_AND_WAIT);
      } else if (dice < 98) {
        session.tensors()->freeInactiveBuffers();
      } else if (dice < 99) {
        session.tensors()->emptyCache();
      }
      session.pass();
    }
    session.audit();
    session.endStep();
  }
}

// A block's way: freed while a command buffer holds it, then idle, then available again. At each station the books have
// to agree, and memory that is freed may not count as current.
void pendingLifecycle(Session& session) {
  while (session.step() < session.steps()) {
    const size_t bytes = 4096u << (session.random()() % 8);
    auto* allocator = session.random()() % 2 ? session.pinned() : session.tensors();
    const uint64_t before = session.tensors()->getCurrentAllocatedMemory();
    auto block = session.allocate(allocator, bytes);
    const void* first = block.get();
    session.operation({}, {bufferOf(block)});
    if (session.random()() % 2) {
      session.synchronize(SyncType::COMMIT);
    }
    session.release(block);
    session.audit();
    if (session.tensors()->getCurrentAllocatedMemory() != before) {
      session.fault(Fault::Accounting, "a freed block still counts as current memory", bytes);
    }
    auto other = session.allocate(allocator, bytes);
    session.audit();
    const auto given = audit::describe(other.get());
    if (!given.known || !given.in_use) {
      session.fault(Fault::State, "an allocated block is not in use", bytes);
    }
    session.synchronize(SyncType::COMMIT_AND_WAIT);
    session.pass(1);
    session.tensors()->freeInactiveBuffers();
    session.audit();
    session.release(other);
    auto again = session.allocate(allocator, bytes);
    session.count("found_again", again.get() == first || again.get() == nullptr);
    session.release(again);
    session.audit();
    session.endStep();
  }
}

// Everything that no live tensor holds has to go back to the system with one empty_cache, and a second one changes
// nothing.
void emptyCacheReturnsAll(Session& session) {
  while (session.step() < session.steps()) {
    auto kept = session.allocate(session.tensors(), kMiB);
    const uint64_t heaps_before = session.tensors()->getDriverAllocatedMemory();
    {
      std::vector<c10::DataPtr> dropped;
      for (size_t bytes : {size_t(4096), 2 * kMiB, 12 * kMiB, 64 * kMiB}) {
        auto* allocator = session.random()() % 2 ? session.pinned() : session.tensors();
        dropped.push_back(session.allocate(allocator, bytes));
        session.operation({}, {bufferOf(dropped.back())});
        session.pass();
      }
      if (session.random()() % 2) {
        session.synchronize(SyncType::COMMIT);
      }
      for (auto& block : dropped) {
        session.release(block);
      }
    }
    session.tensors()->emptyCache();
    session.audit();
    // references that are dropped only after the wait returned (drop_order=after-wait) go now
    session.pass(1);
    const uint64_t once = session.tensors()->getDriverAllocatedMemory();
    session.tensors()->emptyCache();
    session.pass(1);
    const uint64_t twice = session.tensors()->getDriverAllocatedMemory();
    if (once > heaps_before) {
      session.fault(Fault::State, "one empty_cache kept memory that no tensor holds", once - heaps_before);
    }
    if (twice != once) {
      session.fault(Fault::State, "a second empty_cache changed what the first had left",
                    once > twice ? once - twice : twice - once);
    }
    session.count("kept_after_one_empty_cache", once - std::min(once, heaps_before));
    session.audit();
    session.endStep();
  }
}

// Command buffers may drop their references only after the wait for them has returned (drop_order=after-wait): what was
// freed before empty_cache goes all the same.
void emptyCacheLateReferences(Session& session) {
  // two heaps of 8 MiB: a full one, which is to have more room than the other in the end, and one with 2 MiB left
  std::vector<c10::DataPtr> full;
  std::vector<c10::DataPtr> other;
  for (size_t i = 0; i < 14; i++) {
    (i < 8 ? full : other).push_back(session.allocate(session.tensors(), kMiB));
  }
  while (session.step() < session.steps()) {
    auto kept = session.allocate(session.tensors(), kMiB);
    const uint64_t before = session.tensors()->getDriverAllocatedMemory();
    std::vector<c10::DataPtr> dropped;
    for (size_t bytes : {size_t(4096), 2 * kMiB, 3 * kMiB, 12 * kMiB}) {
      dropped.push_back(session.allocate(session.tensors(), bytes));
      session.operation({}, {bufferOf(dropped.back())});
    }
    dropped.clear();
    for (size_t i = 0; i < 3 && full.size() > 5; i++) {
      session.operation({}, {bufferOf(full.back())});
      full.pop_back();
    }
    session.tensors()->emptyCache();
    session.audit();
    session.pass(1);
    const uint64_t after = session.tensors()->getDriverAllocatedMemory();
    if (after > before) {
      session.fault(Fault::State, "empty_cache kept what command buffers still referenced", after - before);
    }
    session.operation({}, {bufferOf(kept)});
    session.synchronize(SyncType::COMMIT_AND_WAIT);
    session.pass(1);
    session.audit();
    if (const size_t heaps = audit::unsettledHeaps()) {
      session.fault(Fault::State, std::to_string(heaps) + " heaps do not know how much of them is free again");
    }
    session.endStep();
  }
}

// empty_cache waits for the GPU while completion handlers (of freed scalars) need the allocator's mutex.
void emptyCacheWithHandlers(Session& session) {
  auto output = session.allocate(session.tensors(), 4096);
  while (session.step() < session.steps()) {
    for (int64_t value = 0; value < 8; value++) {
      auto scalar = session.tensors()->allocScalarBufferWithValue(&value, sizeof value);
      session.operation({bufferOf(scalar)}, {bufferOf(output)});
    }
    auto dropped = session.allocate(session.tensors(), 2 * kMiB);
    session.operation({}, {bufferOf(dropped)});
    session.release(dropped);
    session.tensors()->emptyCache();
    session.pass();
    session.endStep();
  }
}

// A device without unified memory: there is no shared allocator to be had, and nobody may rely on one.
void discreteDevice(Session& session) {
  if (session.pinned()) {
    session.fault(Fault::State, "a discrete device has a shared allocator");
  }
  if (!session.tensors() || !at::detail::getMPSHooks().getMPSDeviceAllocator()) {
    session.fault(Fault::State, "a discrete device has no allocator for tensors");
    return;
  }
  while (session.step() < session.steps()) {
    const int64_t elements = 1 + (int64_t)(session.random()() % 5000);
    const Tensor host = at::arange(elements, at::kFloat);
    const Tensor device = at::empty({elements}, at::TensorOptions().dtype(at::kFloat).device(at::kMPS));
    device.copy_(host);
    const Tensor back = device.cpu();
    session.expectBytes(Fault::WrongData, back.data_ptr(), host.data_ptr(), host.nbytes(), "a round trip");
    session.count("shared_tensors", audit::describe(device.storage().data()).is_shared);
    session.pass();
    session.endStep();
  }
  session.audit();
}

// Which storage mode tensors get, by the way in which they come to be. On a unified device with shared storage as the
// default every one of them has to be shared; what holds is reported as counters, for both arms to be compared.
void storageModes(Session& session) {
  const auto options = at::TensorOptions().dtype(at::kFloat).device(at::kMPS);
  uint64_t shared = 0, all = 0;
  const auto noteStorage = [&](const std::string& way, const void* data) {
    const auto block = audit::describe(data);
    session.count(way + (block.is_shared ? "_shared" : "_private"), 1);
    shared += block.is_shared;
    all++;
  };
  const auto note = [&](const char* way, const Tensor& tensor) { noteStorage(way, tensor.storage().data()); };
  while (session.step() < session.steps()) {
    const int64_t elements = 1000 + (int64_t)(session.random()() % 1000000);
    note("empty", at::empty({elements}, options));
    note("empty_strided", at::empty_strided({elements}, {1}, options));
    // tensors of at most eight bytes are shared in stock already
    session.count(
        audit::describe(at::empty({1}, options).storage().data()).is_shared ? "small_shared" : "small_private", 1);
    Tensor resized = at::empty({1000}, options);
    resized.resize_({elements});
    note("resized", resized);
    Tensor storage_less = at::empty({1000}, options);
    storage_less.set_();
    storage_less.resize_({elements});
    note("set_and_resized", storage_less);
    note("copied", at::arange(elements, at::kFloat).to(at::kMPS));
    // as torch.load makes a storage: by the hooks' allocator
    auto* allocator = at::detail::getMPSHooks().getMPSDeviceAllocator();
    c10::Storage loaded(c10::Storage::use_byte_size_t(), elements * sizeof(float), allocator, true);
    noteStorage("hooks_storage", loaded.data());
    session.pass();
    session.endStep();
  }
  session.audit();
  // one default holds for all of them, whichever it is
  if (shared != 0 && shared != all) {
    session.fault(Fault::State, std::to_string(shared) + " of " + std::to_string(all) +
                                    " storages are shared: the ways to make a tensor disagree");
  }
}

using Settings = std::map<std::string, std::string>;

const Scenarios added({
    {"accounting",
     "random allocations, uses and frees, the books checked after each step",
     "ours",
     "correctness",
     {"pending-free", "empty-cache", "release-race"},
     150,
     3000,
     true,
     Settings{{"execute", "0"}},
     accounting},
    {"pending-lifecycle",
     "a block freed in flight, then idle, then given again",
     "ours",
     "correctness",
     {"pending-free"},
     150,
     2000,
     true,
     Settings{{"execute", "0"}},
     pendingLifecycle},
    {"empty-cache-returns-all",
     "one empty_cache returns all that no tensor holds; a second changes nothing",
     "ours",
     "correctness",
     {"empty-cache", "pending-free"},
     60,
     1000,
     true,
     Settings{{"execute", "0"}},
     emptyCacheReturnsAll},
    {"empty-cache-late-references",
     "empty_cache where references are dropped after the wait",
     "ours",
     "correctness",
     {"empty-cache", "pending-free"},
     30,
     300,
     true,
     Settings{{"execute", "0"}, {"drop_order", "after-wait"}},
     emptyCacheLateReferences},
    {"empty-cache-with-handlers",
     "empty_cache while completion handlers need the allocator",
     "ours",
     "correctness",
     {"empty-cache"},
     60,
     1000,
     true,
     Settings{{"execute", "0"}, {"watchdog_ms", "3000"}},
     emptyCacheWithHandlers},
    {"discrete-device",
     "a device without unified memory",
     "ours",
     "correctness",
     {"shared-default"},
     60,
     500,
     true,
     Settings{{"unified", "0"}},
     discreteDevice},
    {"storage-modes",
     "the storage mode of tensors by the way they come to be",
     "ours",
     "correctness",
     {"shared-default"},
     20,
     100,
     true,
     Settings{},
     storageModes},
});

} // namespace
} // namespace umpatch
