// What a seed stands for: its settings, its operations and its schedule, each drawn from a stream of its own.
#include <simulated_metal/control.h>
#include <algorithm>
#include "../../metal/driver/scenario.h"
#include "random.h"
#include "trace.h"

namespace explore {
namespace {

constexpr uint64_t kOneCaseIn = 12;
constexpr uint64_t kMostStepsDrawnOfCase = 3;

// What kind of program it is: how memory is limited decides what else makes sense.
// Steady ones repeat what only the GPU writes; Served ones what the CPU writes too, and wait after each round. Shaped
// ones copy views of all dtypes, and resize.
enum class Kind { Free, Limited, Steady, Served, Shaped };

uint64_t drawBytes(Random& random, Kind kind) {
  const uint64_t which = random.below(16);
  if (kind == Kind::Shaped) {
    const uint64_t sizes[] = {8, 64, 256, 1000, 4096, 8192};
    return random.of(sizes);
  }
  if (kind == Kind::Limited && which < 6) {
    return (1 << 20) + random.below(23) * (512 << 10);
  }
  if (which < 3) {
    return 1 + random.below(8); // the pools treat it as a scalar
  }
  if (which < 10) {
    const uint64_t sizes[] = {64, 256, 1000, 4096, 4096, 16384};
    return random.of(sizes);
  }
  if (which < 14) {
    return 1024 + random.below(60) * 1024;
  }
  return which < 15 ? 256 << 10 : (1 << 20) + random.below(4) * (700 << 10);
}

std::map<std::string, std::string> drawSettings(Random& random, Kind kind) {
  std::map<std::string, std::string> settings;
  const char* drops[] = {"before-handlers", "after-handlers", "after-wait"};
  settings["drop_order"] = random.of(drops);
  settings["notification_order"] = random.oneIn(4) ? "any-order" : "in-order";
  settings["retain_rule"] = random.oneIn(3) ? "per-command" : "per-command-buffer";
  settings["mode"] = random.oneIn(8) ? "eager-retire" : "asynchronous";
  const char* in_flight[] = {"64", "64", "8", "3"};
  settings["max_in_flight"] = random.of(in_flight);
  const char* commits[] = {"0", "0", "5", "1"};
  settings["graph_commit_every"] = random.of(commits);
  settings["unified"] = random.oneIn(12) ? "0" : "1";
  // pages are what protection is about, so that neighbours must not share one
  const bool checked = kind == Kind::Free && random.oneIn(6);
  settings["cpu_access"] = checked ? "checked" : "unchecked";
  settings["heap_alignment"] = checked || random.oneIn(4) ? "16384" : "256";
  settings["allocated_size_rule"] = random.oneIn(6) ? "used-bytes" : "whole-heaps";
  if (kind == Kind::Limited) {
    const char* limits[] = {"25165824", "50331648", "100663296", "201326592"};
    settings["recommended_max_bytes"] = random.of(limits);
    if (random.oneIn(4)) {
      settings["hard_limit_bytes"] = "100663296";
    }
  }
  return settings;
}

Verb drawVerb(Random& random, Kind kind, const std::vector<Verb>& without) {
  struct Weighted {
    Verb verb;
    uint32_t weight;
  };
  static const Weighted table[] = {
      {Verb::Tensor, 14},       {Verb::Pinned, 7},        {Verb::Scalar, 4},        {Verb::FromHost, 7},
      {Verb::FromHostAsync, 3}, {Verb::ToDevice, 4},      {Verb::ToDeviceAsync, 2}, {Verb::ToHost, 4},
      {Verb::ToHostAsync, 1},   {Verb::ToHostDropped, 1}, {Verb::Fill, 9},          {Verb::Blit, 7},
      {Verb::Kernel, 13},       {Verb::Commit, 5},        {Verb::Wait, 2},          {Verb::EmptyCache, 1},
      {Verb::FreeInactive, 1},  {Verb::EventWait, 2},     {Verb::EventRecord, 1},   {Verb::Shape, 1},
      {Verb::Free, 12},         {Verb::Pause, 3},
  };
  // what only the GPU writes, and so must not grow
  static const Weighted steady[] = {
      {Verb::Tensor, 14}, {Verb::Fill, 6},  {Verb::Blit, 4},  {Verb::Kernel, 14},
      {Verb::Commit, 4},  {Verb::Free, 10}, {Verb::Pause, 2},
  };
  static const Weighted served[] = {
      {Verb::Tensor, 8},  {Verb::Pinned, 8}, {Verb::Scalar, 2}, {Verb::Fill, 10},
      {Verb::Kernel, 14}, {Verb::Commit, 4}, {Verb::Free, 10},  {Verb::Pause, 2},
  };
  static const Weighted shaped[] = {
      {Verb::Tensor, 8},        {Verb::Pinned, 2},      {Verb::FromHost, 4}, {Verb::Shaped, 6}, {Verb::Resize, 5},
      {Verb::ViewToDevice, 10}, {Verb::ViewToHost, 10}, {Verb::ToDevice, 3}, {Verb::ToHost, 2}, {Verb::Fill, 12},
      {Verb::Blit, 3},          {Verb::Kernel, 10},     {Verb::Commit, 4},   {Verb::Wait, 1},   {Verb::EmptyCache, 1},
      {Verb::Free, 8},          {Verb::Pause, 2},
  };
  const auto weight = [&without](const Weighted& entry) {
    return std::find(without.begin(), without.end(), entry.verb) == without.end() ? entry.weight : 0;
  };
  const auto draw = [&](const auto& weights) {
    uint32_t total = 1; // a pause, where all is left out
    for (const Weighted& entry : weights) {
      total += weight(entry);
    }
    uint64_t at = random.below(total);
    for (const Weighted& entry : weights) {
      if (at < weight(entry)) {
        return entry.verb;
      }
      at -= weight(entry);
    }
    return Verb::Pause;
  };
  switch (kind) {
    case Kind::Steady:
      return draw(steady);
    case Kind::Served:
      return draw(served);
    case Kind::Shaped:
      return draw(shaped);
    default:
      return draw(table);
  }
}

std::vector<Operation> drawThread(
    Random& random, Kind kind, uint32_t thread, uint32_t workers, size_t length, const std::vector<Verb>& without) {
  std::vector<Operation> operations;
  bool taken[kSlotsOfThread] = {};
  const uint32_t first = thread * kSlotsOfThread;
  const auto slot = [&](bool wanted) {
    uint32_t at = (uint32_t)random.below(kSlotsOfThread);
    for (uint32_t i = 0; i < kSlotsOfThread && taken[at] != wanted; i++) {
      at = (at + 1) % kSlotsOfThread;
    }
    return at;
  };
  for (size_t i = 0; i < length; i++) {
    Operation operation{};
    operation.verb = drawVerb(random, kind, without);
    const bool makes = makesSlot(operation.verb);
    if (isChoice(operation.verb)) {
      operation.number = random.below(1 << 20);
    } else if (operation.verb == Verb::Pause) {
      operation.number = 1 + random.below(20);
    } else if (hasNumber(operation.verb)) {
      operation.number = operation.verb == Verb::Scalar ? 1 + random.below(8) : drawBytes(random, kind);
    }
    if (hasSlot(operation.verb)) {
      const uint32_t own = slot(!makes);
      operation.slot = first + own;
      taken[own] = operation.verb != Verb::Free && (taken[own] || makes);
      // another thread's memory can be freed too
      if (operation.verb == Verb::Free && workers > 1 && random.oneIn(6)) {
        operation.slot = (uint32_t)random.below(workers * kSlotsOfThread);
      }
    }
    if (hasOther(operation.verb)) {
      operation.other = first + slot(true);
    }
    operations.push_back(operation);
  }
  return operations;
}

Policy drawPolicy(Random& random) {
  Policy policy;
  policy.seed = random.next();
  if (random.oneIn(4)) {
    policy.kind = Policy::Kind::Priorities;
    policy.changes = (uint32_t)random.below(6);
    return policy;
  }
  const uint32_t switches[] = {5, 20, 60, 150, 300};
  policy.switch_per_mille = random.of(switches);
  const uint32_t weights[] = {0, 1, 10, 50, 100, 400};
  policy.gpu_weight = random.of(weights);
  return policy;
}

// What a scenario expects holds under its own settings and under what may be assumed about Metal, and nowhere else.
bool holdsUnder(const umpatch::Scenario& scenario, const std::map<std::string, std::string>& settings) {
  const auto known = simulated_metal::settings();
  return std::all_of(settings.begin(), settings.end(), [&](const auto& wanted) {
    const auto& [name, value] = wanted;
    const auto own = scenario.settings.find(name);
    if (own != scenario.settings.end()) {
      return own->second == value;
    }
    const auto setting = std::find_if(known.begin(), known.end(), [&](const auto& one) { return one.name == name; });
    const bool is_alternative =
        setting != known.end() &&
        std::find(setting->alternatives.begin(), setting->alternatives.end(), value) != setting->alternatives.end();
    return is_alternative || (setting != known.end() && setting->value == value);
  });
}

// Half of the cases run under the settings that the scenario itself runs under, the others with some of what is assumed
// about Metal changed.
Trace drawCase(Random& random, uint64_t seed, const std::string& name, const Fixed& fixed) {
  Trace trace;
  trace.seed = seed;
  trace.scenario_case = {name, 1 + random.below(1 << 20), 1 + random.below(kMostStepsDrawnOfCase)};
  const umpatch::Scenario& scenario = *umpatch::Scenarios::find(name);
  const bool varies = random.oneIn(2);
  for (const auto& setting : simulated_metal::settings()) {
    const bool drawn = !setting.alternatives.empty() && varies && random.oneIn(4);
    if (drawn && !scenario.settings.count(setting.name)) {
      trace.settings[setting.name] = setting.alternatives[random.below(setting.alternatives.size())];
    }
  }
  for (const auto& [setting, value] : fixed.settings) {
    trace.settings[setting] = value;
  }
  trace.threads.resize(1);
  return trace;
}

} // namespace

Trace generate(uint64_t seed, const Fixed& fixed) {
  if (!fixed.cases.empty() && fixed.workers <= 1) {
    // a stream of its own: the other seeds stand for the same with cases and without
    Random random(seed * 0x9e3779b97f4a7c15ull + 3);
    if (random.oneIn(kOneCaseIn)) {
      const std::string& name = fixed.cases[random.below(fixed.cases.size())];
      if (holdsUnder(*umpatch::Scenarios::find(name), fixed.settings)) {
        return drawCase(random, seed, name, fixed);
      }
    }
  }
  Random random(seed * 0x2545f4914f6cdd1dull + 1);
  Trace trace;
  trace.seed = seed;
  const uint64_t which = random.below(16);
  const Kind kind = which < 1   ? Kind::Steady
                    : which < 2 ? Kind::Served
                    : which < 6 ? Kind::Limited
                    : which < 7 ? Kind::Shaped
                                : Kind::Free;
  trace.settings = drawSettings(random, kind);
  for (const auto& [name, value] : fixed.settings) {
    trace.settings[name] = value;
  }
  uint32_t threads = 1 + (uint32_t)random.below(kMostWorkers);
  if (random.oneIn(4)) {
    threads = 1; // where more can be checked
  }
  if (fixed.workers) {
    threads = fixed.workers;
  }
  const size_t lengths[] = {10, 20, 40, 70};
  size_t length = random.of(lengths);
  if (kind == Kind::Steady || kind == Kind::Served) {
    threads = 1;
    trace.waits = kind == Kind::Served;
    trace.rounds = 24;
    length = std::min<size_t>(length, 14);
  } else {
    length = std::max<size_t>(8, length / (threads > 2 ? 2 : 1));
  }
  for (uint32_t i = 0; i < threads; i++) {
    trace.threads.push_back(drawThread(random, kind, i, threads, length, fixed.without));
  }
  if (kind == Kind::Free && random.oneIn(12)) {
    trace.refused_heap = 1 + random.below(6);
  }
  trace.policy = drawPolicy(random);
  return trace;
}

} // namespace explore
