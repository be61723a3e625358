// Data loaders: a batch goes to the device, kernels use it, and the next batch comes before they are done. What counts
// is how often the CPU waits, whether the batch arrives by memcpy, and that every kernel sees its own batch.
#include <chrono>
#include "../tensors.h"

namespace umpatch {
namespace {

using at::mps::SyncType;

// What the forward pass makes of a batch: its first and last byte, so that a batch that was overwritten too early
// shows.
void useBatch(Session& session, const Tensor& batch, const Tensor& result) {
  const uint8_t* from = deviceBytes(batch);
  uint8_t* to = deviceBytes(result);
  const size_t last = batch.nbytes() - 1;
  session.operation({bufferOf(batch)}, {bufferOf(result)}, [from, to, last] {
    to[0] = from[0];
    to[1] = from[last];
  });
}

void checkResults(Session& session, const std::vector<std::pair<Tensor, uint8_t>>& results) {
  for (const auto& [result, value] : results) {
    session.expectFilled(Fault::Corruption, deviceBytes(result), value, 2, "what a kernel saw of its batch");
  }
}

void loader(Session& session) {
  const size_t bytes = session.number("bytes");
  const uint64_t kernels = session.number("kernels_per_batch");
  const bool is_persistent = session.number("persistent");
  constexpr size_t kCheckEvery = 10;
  std::vector<std::pair<Tensor, uint8_t>> results;
  Tensor persistent;
  if (is_persistent) {
    persistent = emptyBytes(bytes, at::kMPS);
  }
  Tensor host = emptyBytes(bytes, at::kCPU);
  while (session.step() < session.steps()) {
    const uint8_t value = (uint8_t)(session.step() + 1);
    memset(host.data_ptr(), value, bytes);
    Tensor batch = is_persistent ? persistent : emptyBytes(bytes, at::kMPS);
    session.countEligibleCopy([&] { batch.copy_(host); });
    for (uint64_t i = 0; i < kernels; i++) {
      Tensor result = emptyBytes(256, at::kMPS);
      useBatch(session, batch, result);
      session.pass();
      if (i + 1 == kernels) {
        results.emplace_back(result, value);
      }
    }
    batch = Tensor();
    session.pass(session.number("cpu_us_per_batch"));
    session.endStep();
    if (results.size() == kCheckEvery && session.number("check")) {
      // as a training loop that logs its loss now and then
      session.synchronize(SyncType::COMMIT_AND_WAIT);
      session.pass(1);
      checkResults(session, results);
      results.clear();
    } else if (results.size() > 4 * kCheckEvery) {
      results.erase(results.begin());
    }
  }
  session.synchronize(SyncType::COMMIT_AND_WAIT);
  session.pass(1);
  checkResults(session, results);
}

// P:182749. A 64 KB copy to the device, into a fresh tensor and into an idle one.
void latency(Session& session) {
  const size_t bytes = session.number("bytes");
  Tensor host = emptyBytes(bytes, at::kCPU);
  Tensor idle = emptyBytes(bytes, at::kMPS);
  uint64_t nanoseconds = 0;
  while (session.step() < session.steps()) {
    memset(host.data_ptr(), (int)(session.step() & 0xff), bytes);
    Tensor target = session.step() % 2 ? emptyBytes(bytes, at::kMPS) : idle;
    const auto start = std::chrono::steady_clock::now();
    session.countEligibleCopy([&] { target.copy_(host); });
    nanoseconds +=
        (uint64_t)std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - start)
            .count();
    session.expectBytes(Fault::WrongData, deviceBytes(target), host.data_ptr(), bytes, "a blocking copy to the device");
    session.pass(200);
    session.endStep();
  }
  session.count("copy_ns", nanoseconds / session.steps());
}

std::map<std::string, std::string> settings(const char* bytes, const char* persistent, const char* check) {
  return {{"bytes", bytes},
          {"persistent", persistent},
          {"kernels_per_batch", "4"},
          {"cpu_us_per_batch", "300"},
          {"check", check}};
}

const std::vector<std::string>& patches() {
  static const std::vector<std::string> ids{"memcpy-copy", "pending-free", "shared-default"};
  return ids;
}

const Scenarios added({
    {"loader-4b", "a scalar label to the device per step", "ours", "copy", patches(), 300, 3000, true,
     settings("4", "0", "0"), loader},
    {"loader-64kib", "a 64 KiB batch to the device per step", "ours", "copy", patches(), 300, 3000, true,
     settings("65536", "0", "0"), loader},
    {"loader-64kib-logged", "a 64 KiB batch per step, the loss read each tenth", "ours", "copy", patches(), 200, 3000,
     true, settings("65536", "0", "1"), loader},
    {"loader-64kib-persistent", "a 64 KiB batch per step into the same tensor", "ours", "copy", patches(), 200, 3000,
     true, settings("65536", "1", "0"), loader},
    {"loader-4mib", "a 4 MiB batch to the device per step", "ours", "copy", patches(), 100, 1000, true,
     settings("4194304", "0", "0"), loader},
    {"h2d-latency",
     "a 64 KB host-to-device copy",
     "pytorch/pytorch#182749",
     "copy",
     patches(),
     300,
     3000,
     true,
     {{"bytes", "65536"}},
     latency},
});

} // namespace
} // namespace umpatch
