// Traces as text: a line for each setting, operation and decision.
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include "trace.h"

namespace explore {
namespace {

struct Word {
  Verb verb;
  const char* word;
  bool slot;
  bool other;
  bool number;
};

constexpr Word kWords[] = {
    {Verb::Tensor, "tensor", true, false, true},
    {Verb::Pinned, "pinned", true, false, true},
    {Verb::Scalar, "scalar", true, false, true},
    {Verb::FromHost, "from-host", true, false, true},
    {Verb::FromHostAsync, "from-host-async", true, false, true},
    {Verb::Shaped, "shaped", true, false, true},
    {Verb::ToDevice, "to-device", true, false, false},
    {Verb::ToDeviceAsync, "to-device-async", true, false, false},
    {Verb::ToHost, "to-host", true, false, false},
    {Verb::ToHostAsync, "to-host-async", true, false, false},
    {Verb::ToHostDropped, "to-host-dropped", true, false, false},
    {Verb::ViewToDevice, "view-to-device", true, false, true},
    {Verb::ViewToHost, "view-to-host", true, false, true},
    {Verb::Resize, "resize", true, false, true},
    {Verb::Fill, "fill", true, false, false},
    {Verb::Blit, "blit", true, true, false},
    {Verb::Kernel, "kernel", true, true, false},
    {Verb::Commit, "commit", false, false, false},
    {Verb::Wait, "wait", false, false, false},
    {Verb::EmptyCache, "empty-cache", false, false, false},
    {Verb::FreeInactive, "free-inactive", false, false, false},
    {Verb::EventWait, "event-wait", true, false, false},
    {Verb::EventRecord, "event-record", false, false, false},
    {Verb::Shape, "shape", true, false, false},
    {Verb::Free, "free", true, false, false},
    {Verb::Pause, "pause", false, false, true},
};

const Word& word(Verb verb) {
  for (const Word& entry : kWords) {
    if (entry.verb == verb) {
      return entry;
    }
  }
  abort();
}

constexpr uint64_t kMostStepsOfCase = 100000;

std::string printPolicy(const Trace& trace) {
  std::ostringstream text;
  const Policy& policy = trace.policy;
  switch (policy.kind) {
    case Policy::Kind::Random:
      text << "schedule random " << policy.seed << ' ' << policy.switch_per_mille << ' ' << policy.gpu_weight << '\n';
      break;
    case Policy::Kind::Priorities:
      text << "schedule priorities " << policy.seed << ' ' << policy.changes << '\n';
      break;
    case Policy::Kind::Explicit:
      text << "schedule steps\n";
      for (const Decision& decision : trace.decisions) {
        text << "at " << decision.step << ' ' << decision.thread << '\n';
      }
      break;
  }
  return text.str();
}

bool parsePolicy(std::istringstream& line, Policy& policy) {
  std::string kind;
  line >> kind;
  if (kind == "random") {
    policy.kind = Policy::Kind::Random;
    line >> policy.seed >> policy.switch_per_mille >> policy.gpu_weight;
  } else if (kind == "priorities") {
    policy.kind = Policy::Kind::Priorities;
    line >> policy.seed >> policy.changes;
  } else if (kind == "steps") {
    policy.kind = Policy::Kind::Explicit;
  } else {
    return false;
  }
  return !line.fail();
}

bool parseSlot(const std::string& text, uint32_t& slot) {
  unsigned thread = 0;
  char letter = 0;
  char rest = 0;
  if (sscanf(text.c_str(), "t%u%c%c", &thread, &letter, &rest) != 2 || thread < 1 || thread > kMostWorkers ||
      letter < 'a' || letter >= (char)('a' + kSlotsOfThread)) {
    return false;
  }
  slot = (thread - 1) * kSlotsOfThread + (uint32_t)(letter - 'a');
  return true;
}

bool parseOperation(const std::string& first, std::istringstream& line, Operation& operation) {
  for (const Word& entry : kWords) {
    if (first != entry.word) {
      continue;
    }
    operation.verb = entry.verb;
    std::string name;
    if (entry.slot && (!(line >> name) || !parseSlot(name, operation.slot))) {
      return false;
    }
    if (entry.other && (!(line >> name) || !parseSlot(name, operation.other))) {
      return false;
    }
    return !entry.number || (line >> operation.number);
  }
  return false;
}

} // namespace

const char* wordOf(Verb verb) {
  return word(verb).word;
}
bool verbOf(const std::string& word, Verb& verb) {
  for (const Word& entry : kWords) {
    if (word == entry.word) {
      verb = entry.verb;
      return true;
    }
  }
  return false;
}
bool hasNumber(Verb verb) {
  return word(verb).number;
}
bool isChoice(Verb verb) {
  return verb == Verb::Shaped || verb == Verb::ViewToDevice || verb == Verb::ViewToHost || verb == Verb::Resize;
}
bool makesSlot(Verb verb) {
  return verb <= Verb::Shaped;
}
bool hasSlot(Verb verb) {
  return word(verb).slot;
}
bool hasOther(Verb verb) {
  return word(verb).other;
}

size_t Trace::operations() const {
  size_t count = 0;
  for (const auto& thread : threads) {
    count += thread.size();
  }
  return count;
}

// t2c: the third slot of the second thread.
std::string slotName(uint32_t slot) {
  return "t" + std::to_string(slot / kSlotsOfThread + 1) + (char)('a' + slot % kSlotsOfThread);
}

std::string print(const Operation& operation) {
  const Word& entry = word(operation.verb);
  std::string text = entry.word;
  text += entry.slot ? " " + slotName(operation.slot) : "";
  text += entry.other ? " " + slotName(operation.other) : "";
  text += entry.number ? " " + std::to_string(operation.number) : "";
  return text;
}

std::string print(const Trace& trace) {
  std::ostringstream text;
  text << "umpatch.trace/1\nseed " << trace.seed << '\n';
  for (const auto& [name, value] : trace.settings) {
    text << "set " << name << '=' << value << '\n';
  }
  if (!trace.scenario_case.scenario.empty()) {
    const Case& own = trace.scenario_case;
    text << "case " << own.scenario << ' ' << own.seed << ' ' << own.steps << '\n';
    return text.str();
  }
  if (trace.rounds != 1) {
    text << "rounds " << trace.rounds << (trace.waits ? " wait" : "") << '\n';
  }
  if (trace.refused_heap) {
    text << "refuse-heap " << trace.refused_heap << '\n';
  }
  for (size_t i = 0; i < trace.threads.size(); i++) {
    text << "thread " << i + 1 << '\n';
    for (const Operation& operation : trace.threads[i]) {
      text << "  " << print(operation) << '\n';
    }
  }
  text << printPolicy(trace);
  return text.str();
}

namespace {

// A line that may be anything, for a terminal.
std::string shown(const std::string& line) {
  constexpr size_t kMost = 80;
  std::string text = line.substr(0, kMost);
  for (char& letter : text) {
    letter = letter < ' ' || letter > '~' ? '?' : letter;
  }
  return text;
}

} // namespace

Trace parse(const std::string& text, std::string& error) {
  Trace trace;
  std::istringstream lines(text);
  std::string raw;
  bool headed = false;
  for (size_t number = 1; std::getline(lines, raw); number++) {
    std::istringstream line(raw);
    std::string first;
    if (!(line >> first) || first[0] == '#') {
      continue;
    }
    bool good = true;
    if (!headed) {
      headed = first == "umpatch.trace/1";
      good = headed;
    } else if (first == "seed") {
      good = bool(line >> trace.seed);
    } else if (first == "set") {
      std::string setting;
      line >> setting;
      const size_t equals = setting.find('=');
      good = equals != std::string::npos;
      if (good) {
        trace.settings[setting.substr(0, equals)] = setting.substr(equals + 1);
      }
    } else if (first == "rounds") {
      good = bool(line >> trace.rounds) && trace.rounds >= 1;
      std::string word;
      trace.waits = bool(line >> word) && word == "wait";
    } else if (first == "case") {
      Case& own = trace.scenario_case;
      good = bool(line >> own.scenario >> own.seed >> own.steps) && own.steps >= 1 && own.steps <= kMostStepsOfCase;
      trace.threads.resize(1);
    } else if (first == "refuse-heap") {
      good = bool(line >> trace.refused_heap);
    } else if (first == "thread") {
      trace.threads.emplace_back();
      good = trace.threads.size() <= kMostWorkers;
    } else if (first == "schedule") {
      good = parsePolicy(line, trace.policy);
    } else if (first == "at") {
      Decision decision{};
      good = bool(line >> decision.step >> decision.thread);
      trace.decisions.push_back(decision);
    } else {
      Operation operation{};
      good = !trace.threads.empty() && parseOperation(first, line, operation);
      if (good) {
        trace.threads.back().push_back(operation);
      }
    }
    if (!good) {
      error = "line " + std::to_string(number) + " is not understood: " + shown(raw);
      return {};
    }
  }
  if (!headed || trace.threads.empty()) {
    error = "not a trace: no 'umpatch.trace/1', or no thread";
    return {};
  }
  if (!trace.scenario_case.scenario.empty() && trace.operations()) {
    error = "a case has no operations";
    return {};
  }
  return trace;
}

} // namespace explore
