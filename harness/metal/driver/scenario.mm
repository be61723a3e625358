// See scenario.h.
#include "scenario.h"

namespace umpatch {

std::vector<Scenario>& Scenarios::all() {
  static auto* all = new std::vector<Scenario>;
  return *all;
}

const Scenario* Scenarios::find(const std::string& id) {
  for (const auto& scenario : all()) {
    if (id == scenario.id) {
      return &scenario;
    }
  }
  return nullptr;
}

Scenarios::Scenarios(std::vector<Scenario> scenarios) {
  all().insert(all().end(), scenarios.begin(), scenarios.end());
}

} // namespace umpatch
