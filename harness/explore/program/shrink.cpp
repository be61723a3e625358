// See shrink.h.
#include "shrink.h"
#include <poll.h>
#include <functional>

namespace explore {
namespace {

class Shrinker {
 public:
  Shrinker(Zygote& zygote, const Trace& failing, const Outcome& outcome, uint64_t most_runs)
      : zygote_(zygote), best_{failing, outcome, {}, 0, false}, most_runs_(most_runs) {
  }

  Shrunk run(uint64_t fingerprint) {
    best_.replays = fails(best_.trace) && zygote_.report().fingerprint == fingerprint;
    if (best_.trace.scenario_case.steps) {
      fewerSteps();
      dropSettings();
      keepLog();
      return std::move(best_);
    }
    for (size_t before = SIZE_MAX; before > best_.trace.operations();) {
      before = best_.trace.operations();
      dropThreads();
      dropOperations();
    }
    dropSettings();
    smallerNumbers();
    dropOperations();
    fixSchedule();
    keepLog();
    return std::move(best_);
  }

 private:
  Zygote& zygote_;
  Shrunk best_;
  const uint64_t most_runs_;

  Outcome outcomeOf(const Trace& trace, report::Detail detail) {
    zygote_.start(trace, detail);
    best_.runs++;
    for (;;) {
      pollfd file{zygote_.file(), POLLIN, 0};
      if (poll(&file, 1, 100) > 0) {
        return zygote_.finish();
      }
      if (zygote_.isLate(milliseconds())) {
        zygote_.kill();
      }
    }
  }

  bool fails(const Trace& trace) {
    if (best_.runs >= most_runs_) {
      return false;
    }
    const Outcome outcome = outcomeOf(trace, report::Detail::Verdict);
    if (outcome.kind != best_.outcome.kind) {
      return false;
    }
    best_.outcome = outcome;
    return true;
  }

  // Takes a smaller trace if it fails, with its own schedule or with one of a few others: without an operation the
  // same numbers mean another interleaving.
  bool accept(Trace candidate) {
    constexpr uint64_t kOtherSchedules = 4;
    if (fails(candidate)) {
      best_.trace = std::move(candidate);
      return true;
    }
    const Policy policy = candidate.policy;
    for (uint64_t i = 1; i <= kOtherSchedules && policy.kind != Policy::Kind::Explicit && candidate.threads.size() > 1;
         i++) {
      candidate.policy = policy;
      candidate.policy.seed += i * 0x9e3779b97f4a7c15ull;
      if (fails(candidate)) {
        best_.trace = std::move(candidate);
        return true;
      }
    }
    return false;
  }

  void dropThreads() {
    for (size_t i = 0; i < best_.trace.threads.size(); i++) {
      if (!best_.trace.threads[i].empty()) {
        Trace candidate = best_.trace;
        candidate.threads[i].clear();
        accept(std::move(candidate));
      }
    }
  }

  // Delta debugging over a list: removes ever smaller parts.
  template <typename Remove>
  void reduce(size_t size, Remove&& remove) {
    for (size_t part = (size + 1) / 2; part >= 1; part /= 2) {
      for (size_t at = size; at > 0;) {
        const size_t first = at > part ? at - part : 0;
        if (remove(first, at - first)) {
          size -= at - first;
        }
        at = first;
      }
      if (best_.runs >= most_runs_) {
        return;
      }
    }
  }

  void dropOperations() {
    for (size_t i = 0; i < best_.trace.threads.size(); i++) {
      reduce(best_.trace.threads[i].size(), [&](size_t first, size_t count) {
        Trace candidate = best_.trace;
        auto& operations = candidate.threads[i];
        operations.erase(operations.begin() + (long)first, operations.begin() + (long)(first + count));
        return accept(std::move(candidate));
      });
    }
  }

  void fewerSteps() {
    for (uint64_t steps = 1; steps < best_.trace.scenario_case.steps; steps++) {
      Trace candidate = best_.trace;
      candidate.scenario_case.steps = steps;
      accept(std::move(candidate));
    }
  }

  void dropSettings() {
    const auto settings = best_.trace.settings;
    for (const auto& [name, value] : settings) {
      Trace candidate = best_.trace;
      candidate.settings.erase(name);
      // a command takes effect when the GPU comes to it: what the explorer's runs have in common
      if (name == "mode" || name == "heap_alignment") {
        continue;
      }
      accept(std::move(candidate));
    }
    if (best_.trace.refused_heap) {
      Trace candidate = best_.trace;
      candidate.refused_heap = 0;
      accept(std::move(candidate));
    }
    for (uint32_t rounds = best_.trace.rounds / 2; rounds >= 1; rounds /= 2) {
      Trace candidate = best_.trace;
      candidate.rounds = rounds;
      if (!accept(std::move(candidate))) {
        break;
      }
    }
  }

  void smallerNumbers() {
    for (size_t i = 0; i < best_.trace.threads.size(); i++) {
      for (size_t k = 0; k < best_.trace.threads[i].size(); k++) {
        for (const uint64_t number : {uint64_t(4096), uint64_t(1) << 20}) {
          const Operation& operation = best_.trace.threads[i][k];
          if (hasNumber(operation.verb) && !isChoice(operation.verb) && operation.verb != Verb::Scalar &&
              operation.number > number) {
            Trace candidate = best_.trace;
            candidate.threads[i][k].number = number;
            if (accept(std::move(candidate))) {
              break;
            }
          }
        }
      }
    }
  }

  // From here on the schedule is a list of the decisions that differ from the expected ones, and as short as can be.
  void fixSchedule() {
    if (!fails(best_.trace)) {
      return;
    }
    const Report& report = zygote_.report();
    Trace listed = best_.trace;
    listed.policy.kind = Policy::Kind::Explicit;
    listed.decisions.assign(report.decisions, report.decisions + report.decision_count);
    if (!fails(listed)) {
      return; // it crashed, and took its decisions along
    }
    best_.trace = listed;
    reduce(listed.decisions.size(), [&](size_t first, size_t count) {
      Trace candidate = best_.trace;
      auto& decisions = candidate.decisions;
      decisions.erase(decisions.begin() + (long)first, decisions.begin() + (long)(first + count));
      return accept(std::move(candidate));
    });
    dropOperations();
  }

  void keepLog() {
    const Outcome outcome = outcomeOf(best_.trace, report::Detail::Log);
    if (outcome.kind == best_.outcome.kind) {
      best_.outcome = outcome;
    }
    const Report& report = zygote_.report();
    best_.log.assign(report.log, report.log_size);
  }
};

} // namespace

Shrunk shrink(Zygote& zygote, const Trace& failing, const Outcome& outcome, uint64_t fingerprint, uint64_t most_runs) {
  return Shrinker(zygote, failing, outcome, most_runs).run(fingerprint);
}

} // namespace explore
