// The process itself: a clean exit, and the positive control.
#include "../session.h"

namespace umpatch {
namespace {

using at::mps::SyncType;

// P:188812. One kernel, then a normal exit, by way of every static destructor.
void cleanExit(Session& session) {
  while (session.step() < session.steps()) {
    auto input = session.allocate(session.tensors(), 4096);
    auto output = session.allocate(session.tensors(), 4096);
    session.operation({bufferOf(input)}, {bufferOf(output)});
    session.endStep();
  }
}

// Keeps memory on purpose: what a leak looks like to whoever judges the runs.
void injectedLeak(Session& session) {
  std::vector<c10::DataPtr> kept;
  const size_t bytes = session.number("kib_per_step") * 1024;
  while (session.step() < session.steps()) {
    auto used = session.allocate(session.tensors(), 64 * 1024);
    session.operation({}, {bufferOf(used)});
    if (bytes) {
      kept.push_back(session.allocate(session.tensors(), bytes));
    }
    session.pass();
    session.endStep();
  }
}

using Settings = std::map<std::string, std::string>;

const Scenarios added({
    {"clean-exit",
     "one kernel, then a normal exit",
     "pytorch/pytorch#188812",
     "correctness",
     {},
     3,
     3,
     true,
     Settings{},
     cleanExit},
    {"injected-leak",
     "a positive control: keeps memory each step on purpose",
     "ours",
     "gpu-only",
     {},
     300,
     1000,
     false,
     Settings{{"execute", "0"}, {"kib_per_step", "64"}},
     injectedLeak,
     Scenario::Role::PositiveControl},
});

} // namespace
} // namespace umpatch
