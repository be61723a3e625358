// Speaks as the drivers of scenarios do (../metal/README.md): many seeds are one scenario, a violation is a fault.
#pragma once
#include <map>
#include "arguments.h"
#include "zygote.h"

namespace explore::scenario {

void begin(const Arguments& arguments);
void fault(const Arguments& arguments, uint64_t seed, const Outcome& outcome);
void end(uint64_t violations, const std::map<std::string, uint64_t>& counters);

} // namespace explore::scenario
