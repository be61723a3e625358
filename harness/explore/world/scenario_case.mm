// See scenario_case.h: the session of a scenario that tells of faults as the explorer does, and writes no lines.
#include "scenario_case.h"
#include "../../metal/driver/session.h"
#include "../../metal/driver/settings.h"
#include "report.h"

namespace umpatch {
namespace {

// The scenario that runs in this process.
std::string& running() {
  static std::string name;
  return name;
}

// As what the explorer itself finds is called.
const char* kindOf(Fault kind) {
  switch (kind) {
    case Fault::Corruption:
      return nameOf(Fault::WrongData);
    case Fault::OutOfMemory:
      return nameOf(Fault::UnexpectedError);
    default:
      return nameOf(kind);
  }
}

} // namespace

void Session::fault(Fault kind, const std::string& detail, uint64_t) {
  explore::report::violation(kindOf(kind), (running() + ", step " + std::to_string(step_) + ": " + detail).c_str());
}

void Session::sample() {
}

} // namespace umpatch

namespace explore {

void runCase(const Trace& trace) {
  const Case& own = trace.scenario_case;
  const umpatch::Scenario* scenario = umpatch::Scenarios::find(own.scenario);
  if (!scenario) {
    report::violation("usage", ("no scenario " + own.scenario).c_str());
  }
  umpatch::running() = own.scenario;
  report::doing(own.scenario.c_str());
  std::string refused;
  auto settings = umpatch::applySettings(*scenario, trace.settings, refused);
  if (!refused.empty()) {
    report::violation("usage", ("no setting " + refused).c_str());
  }
  @autoreleasepool {
    umpatch::Session(*scenario, own.seed, own.steps, std::move(settings)).perform();
  }
}

} // namespace explore
