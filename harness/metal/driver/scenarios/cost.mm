// What an allocation and its release cost, in instructions: the same in every run, unlike time.
#include "../session.h"

namespace umpatch {
namespace {

constexpr size_t kKiB = 1024;

// Small and large pools, few sizes that are met exactly and more that are nearly.
size_t someSize(Session& session) {
  const size_t size = (size_t(1) << (10 + session.random()() % 13)) + kKiB * (session.random()() % 8);
  return size;
}

// Allocates and frees blocks of sizes that are in the cache, while `busy_buffers` free ones are held by a command
// buffer that nobody commits.
void allocationCost(Session& session) {
  std::vector<size_t> sizes;
  for (uint64_t i = 0; i < session.steps(); i++) {
    sizes.push_back(someSize(session));
  }
  {
    std::vector<c10::DataPtr> busy;
    for (uint64_t i = 0; i < session.number("busy_buffers"); i++) {
      busy.push_back(session.allocate(session.tensors(), sizes[i % sizes.size()]));
      session.operation({}, {bufferOf(busy.back())});
    }
    for (auto& buffer : busy) {
      session.release(buffer);
    }
  }
  auto* allocator = session.tensors();
  for (const size_t size : sizes) { // fills the cache
    allocator->allocate(size).clear();
  }
  for (const size_t size : sizes) {
    session.countAllocationInstructions([&] { allocator->allocate(size).clear(); });
    session.endStep();
  }
}

using Settings = std::map<std::string, std::string>;

const Scenarios added({
    {"allocation-cost-idle",
     "instructions of an allocation and its release, nothing in flight",
     "ours",
     "correctness",
     {"pending-free"},
     20,
     200,
     true,
     Settings{{"execute", "0"}, {"busy_buffers", "0"}},
     allocationCost,
     Scenario::Role::Cost},
    {"allocation-cost-busy",
     "instructions of an allocation and its release, 1,024 free buffers in flight",
     "ours",
     "correctness",
     {"pending-free"},
     20,
     200,
     true,
     Settings{{"execute", "0"}, {"busy_buffers", "1024"}},
     allocationCost,
     Scenario::Role::Cost},
});

} // namespace
} // namespace umpatch
