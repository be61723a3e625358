// Runs one trace in this process, which does not survive it.
#pragma once
#include "../trace/trace.h"
#include "report.h"

namespace explore {

// What can be done once for all runs, before a process is copied for each.
void warmUp();
[[noreturn]] void run(const Trace& trace, Report* report, report::Detail detail);

} // namespace explore
