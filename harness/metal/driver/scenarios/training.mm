// GPU-only traces: allocations, kernels and frees of training-like steps, without a CPU write. Nothing is computed
// (execute=0): these scenarios look at memory, reuse and waits.
#include "../session.h"

namespace umpatch {
namespace {

using at::mps::SyncType;

constexpr size_t kKiB = 1024;
constexpr size_t kMiB = 1024 * 1024;

// The buffers of a step, about 85 MiB in all: small, large and extra large ones, as activations of a small network are.
const std::vector<size_t>& stepSizes() {
  static const std::vector<size_t> sizes{512,        4 * kKiB,   16 * kKiB,  40 * kKiB,   100 * kKiB,
                                         256 * kKiB, 600 * kKiB, 900 * kKiB, 1200 * kKiB, 1500 * kKiB,
                                         2 * kMiB,   2 * kMiB,   3 * kMiB,   4 * kMiB,    6 * kMiB,
                                         8 * kMiB,   11 * kMiB,  12 * kMiB,  16 * kMiB,   16 * kMiB};
  return sizes;
}

// One step: each buffer is written from the one before it; every other one is freed at once, still encoded.
void step(Session& session, const std::vector<size_t>& sizes) {
  std::vector<c10::DataPtr> live;
  for (size_t i = 0; i < sizes.size(); i++) {
    auto buffer = session.allocate(session.tensors(), sizes[i]);
    if (live.empty()) {
      session.operation({}, {bufferOf(buffer)});
    } else {
      session.operation({bufferOf(live.back())}, {bufferOf(buffer)});
    }
    session.pass();
    if (i % 2) {
      session.release(buffer);
    } else {
      live.push_back(std::move(buffer));
    }
  }
  for (auto& buffer : live) {
    session.release(buffer);
  }
}

bool isDue(uint64_t every, uint64_t step) {
  return every && step % every == every - 1;
}

// What ends a step, by the scenario's settings.
void finishStep(Session& session) {
  const uint64_t step = session.step();
  if (isDue(session.number("commit_every"), step)) {
    session.synchronize(SyncType::COMMIT);
  }
  if (isDue(session.number("sync_every"), step)) {
    session.synchronize(SyncType::COMMIT_AND_WAIT);
  }
  if (isDue(session.number("empty_cache_every"), step)) {
    session.tensors()->emptyCache();
  }
  session.pass();
  session.endStep();
}

void steadySteps(Session& session) {
  while (session.step() < session.steps()) {
    step(session, stepSizes());
    finishStep(session);
  }
}

void jitteredSizes(Session& session) {
  while (session.step() < session.steps()) {
    auto sizes = stepSizes();
    for (auto& size : sizes) {
      size = size * (100 + session.random()() % session.number("jitter_percent")) / 100;
    }
    step(session, sizes);
    finishStep(session);
  }
}

// A batch of sequences of ever new length: activations scale with it, attention scores with its square.
void varyingShapes(Session& session) {
  constexpr size_t kBatch = 4, kHeads = 8, kWidth = 512;
  while (session.step() < session.steps()) {
    const size_t length = 128 + session.random()() % 128;
    const size_t activations = kBatch * length * kWidth * sizeof(float);
    const size_t scores = kBatch * kHeads * length * length * sizeof(float);
    step(session, {activations, activations, activations, scores, scores, activations, 3 * activations, activations});
    finishStep(session);
  }
}

// P:132332. Linear 32 to 32 forward in a loop that nothing ever synchronises.
void linearNeverSync(Session& session) {
  constexpr size_t kRows = 64, kWidth = 32;
  auto weight = session.allocate(session.tensors(), kWidth * kWidth * sizeof(float));
  auto input = session.allocate(session.tensors(), kRows * kWidth * sizeof(float));
  while (session.step() < session.steps()) {
    auto output = session.allocate(session.tensors(), kRows * kWidth * sizeof(float));
    session.operation({bufferOf(input), bufferOf(weight)}, {bufferOf(output)});
    session.release(output);
    finishStep(session);
  }
}

// A training step of nn.Transformer with d_model 512, 8 heads and an input of (32, 128, 512), as buffers: activations
// are kept for the backward pass, gradients replace them, temporaries are freed at once.
class TransformerTrace {
 public:
  explicit TransformerTrace(Session& session) : session_(session) {
    for (size_t layer = 0; layer < kLayers; layer++) {
      for (size_t i = 0; i < 4; i++) {
        weights_.push_back(session_.allocate(session_.tensors(), kWidth * kWidth * sizeof(float)));
      }
    }
  }

  void step() {
    std::vector<c10::DataPtr> activations;
    auto input = session_.allocate(session_.tensors(), kActivation);
    activations.push_back(std::move(input));
    for (size_t layer = 0; layer < kLayers; layer++) {
      forward(activations, layer);
    }
    auto gradient = session_.allocate(session_.tensors(), kActivation);
    for (size_t layer = kLayers; layer-- > 0;) {
      gradient = backward(activations, std::move(gradient), layer);
    }
    session_.release(gradient);
    for (auto& activation : activations) {
      session_.release(activation);
    }
  }

 private:
  static constexpr size_t kLayers = 2, kWidth = 512, kHeads = 8, kBatch = 8, kLength = 64;
  static constexpr size_t kActivation = kBatch * kLength * kWidth * sizeof(float);
  static constexpr size_t kScores = kBatch * kHeads * kLength * kLength * sizeof(float);

  Session& session_;
  std::vector<c10::DataPtr> weights_;

  c10::DataPtr compute(const c10::DataPtr& input, size_t layer, size_t bytes) {
    auto output = session_.allocate(session_.tensors(), bytes);
    session_.operation({bufferOf(input), bufferOf(weights_[layer * 4])}, {bufferOf(output)});
    session_.pass();
    return output;
  }

  void forward(std::vector<c10::DataPtr>& activations, size_t layer) {
    auto queries = compute(activations.back(), layer, 3 * kActivation);
    auto scores = compute(queries, layer, kScores);
    auto mask = compute(scores, layer, kScores); // a temporary
    session_.release(mask);
    auto attended = compute(scores, layer, kActivation);
    activations.push_back(std::move(queries));
    activations.push_back(std::move(scores));
    auto hidden = compute(attended, layer, 4 * kActivation);
    activations.push_back(std::move(attended));
    auto output = compute(hidden, layer, kActivation);
    activations.push_back(std::move(hidden));
    activations.push_back(std::move(output));
  }

  c10::DataPtr backward(std::vector<c10::DataPtr>& activations, c10::DataPtr gradient, size_t layer) {
    constexpr size_t kSaved = 5;
    for (size_t i = 0; i < kSaved; i++) {
      auto saved = std::move(activations.back());
      activations.pop_back();
      auto weight_gradient = compute(saved, layer, kWidth * kWidth * sizeof(float));
      auto next = compute(gradient, layer, kActivation);
      session_.release(weight_gradient);
      session_.release(gradient);
      session_.release(saved);
      gradient = std::move(next);
    }
    return gradient;
  }
};

void transformerLoop(Session& session) {
  TransformerTrace trace(session);
  while (session.step() < session.steps()) {
    trace.step();
    finishStep(session);
  }
}

// P:145374. LSTM, hidden 256, batch 16, sequence 10: many small buffers, a wait (.item()) and empty_cache each step.
void lstmEmptyCache(Session& session) {
  constexpr size_t kHidden = 256, kBatch = 16, kLength = 10;
  constexpr size_t kState = kBatch * kHidden * sizeof(float);
  auto weight = session.allocate(session.tensors(), 8 * kHidden * kHidden * sizeof(float));
  while (session.step() < session.steps()) {
    std::vector<c10::DataPtr> states;
    for (size_t i = 0; i < kLength; i++) {
      auto gates = session.allocate(session.tensors(), 4 * kState);
      session.operation({bufferOf(weight)}, {bufferOf(gates)});
      auto state = session.allocate(session.tensors(), kState);
      session.operation({bufferOf(gates)}, {bufferOf(state)});
      states.push_back(std::move(state));
      session.pass();
    }
    auto loss = session.allocate(session.tensors(), sizeof(float));
    session.operation({bufferOf(states.back())}, {bufferOf(loss)});
    session.synchronize(SyncType::COMMIT_AND_WAIT);
    states.clear();
    loss.clear();
    finishStep(session);
  }
}

// TrueMemory 338. A model is loaded, dropped, and the cache emptied: the driver's memory has to fall.
void unloadModel(Session& session) {
  constexpr size_t kParameter = 3 * kMiB, kParameters = 16;
  while (session.step() < session.steps()) {
    std::vector<c10::DataPtr> model;
    for (size_t i = 0; i < kParameters; i++) {
      model.push_back(session.allocate(session.tensors(), kParameter));
      session.operation({}, {bufferOf(model.back())});
    }
    model.clear();
    session.pass();
    session.tensors()->emptyCache();
    const uint64_t left = session.tensors()->getDriverAllocatedMemory();
    session.count("bytes_left_after_unload", left);
    if (left) {
      session.fault(Fault::State, "the model is gone, and empty_cache kept memory", left);
    }
    session.endStep();
  }
}

std::map<std::string, std::string> trace(const char* commit_every, const char* sync_every, const char* empty_every) {
  return {
      {"execute", "0"}, {"commit_every", commit_every}, {"sync_every", sync_every}, {"empty_cache_every", empty_every}};
}

std::map<std::string, std::string> jitter() {
  auto settings = trace("1", "0", "0");
  settings["jitter_percent"] = "20";
  return settings;
}

const Scenarios added({
    {"steady-steps",
     "20 buffers of 85 MiB in all per step, committed each step",
     "ours",
     "gpu-only",
     {"pending-free"},
     300,
     2000,
     true,
     trace("1", "0", "0"),
     steadySteps},
    {"steady-steps-uncommitted",
     "the same steps, committed each fourth",
     "ours",
     "gpu-only",
     {"pending-free"},
     200,
     2000,
     true,
     trace("4", "0", "0"),
     steadySteps},
    {"sync-each-step",
     "the same steps, waited for each",
     "ours",
     "gpu-only",
     {"pending-free"},
     200,
     2000,
     true,
     trace("0", "1", "0"),
     steadySteps},
    {"empty-cache-each-100",
     "the same steps, empty_cache each 100",
     "ours",
     "gpu-only",
     {"pending-free", "empty-cache"},
     300,
     2000,
     true,
     trace("1", "0", "100"),
     steadySteps},
    {"jittered-sizes",
     "the same steps with sizes that differ by up to a fifth",
     "ours",
     "gpu-only",
     {"pending-free"},
     200,
     2000,
     true,
     jitter(),
     jitteredSizes},
    {"varying-shapes",
     "steps of ever new sequence lengths",
     "pytorch/pytorch#152550 (allocations only)",
     "gpu-only",
     {"pending-free"},
     300,
     2000,
     true,
     trace("1", "0", "0"),
     varyingShapes},
    {"linear-never-sync",
     "Linear forward in a loop that nothing synchronises",
     "pytorch/pytorch#132332",
     "gpu-only",
     {"pending-free"},
     3000,
     20000,
     true,
     trace("0", "0", "0"),
     linearNeverSync},
    {"transformer-loop",
     "a Transformer's forward and backward, empty_cache each 100 steps",
     "pytorch/pytorch#167940 (allocations only)",
     "gpu-only",
     {"pending-free", "empty-cache"},
     250,
     1000,
     true,
     trace("0", "0", "100"),
     transformerLoop},
    {"transformer-item",
     "a Transformer's forward and backward, waited for each step (.item())",
     "pytorch/pytorch#167940 (allocations only)",
     "gpu-only",
     {"pending-free"},
     200,
     1000,
     true,
     trace("0", "1", "0"),
     transformerLoop},
    {"transformer-never-emptied",
     "a Transformer's forward and backward, never synchronised, no empty_cache",
     "pytorch/pytorch#167940 (allocations only)",
     "gpu-only",
     {"pending-free", "shared-default"},
     200,
     1000,
     true,
     trace("0", "0", "0"),
     transformerLoop},
    {"lstm-empty-cache",
     "LSTM steps with .item() and empty_cache each",
     "pytorch/pytorch#145374 (allocations only)",
     "gpu-only",
     {"empty-cache", "pending-free"},
     200,
     2000,
     true,
     trace("0", "0", "1"),
     lstmEmptyCache},
    {"unload-model",
     "a model is loaded, dropped, and the cache emptied",
     "TrueMemory#338 (allocations only)",
     "gpu-only",
     {"empty-cache"},
     20,
     200,
     true,
     trace("0", "0", "0"),
     unloadModel},
});

} // namespace
} // namespace umpatch
