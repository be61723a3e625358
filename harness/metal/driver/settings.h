// The settings that a scenario runs under.
#pragma once
#include "scenario.h"

namespace umpatch {

// Applies the driver's defaults, the scenario's and then these: to the simulated device, to the environment that the
// allocator reads. Returns the rest, the driver's and the scenario's own. `refused` names one that neither has.
std::map<std::string, std::string> applySettings(const Scenario& scenario,
                                                 const std::map<std::string, std::string>& settings,
                                                 std::string& refused);

// What a scenario assumes about Metal by itself: under another assumption it would be another scenario.
std::vector<std::string> fixedBy(const Scenario& scenario);

} // namespace umpatch
