// A scenario of the native driver as what a seed stands for.
#pragma once
#include "../trace/trace.h"

namespace explore {

// Runs it; its first fault is a violation.
void runCase(const Trace& trace);

} // namespace explore
