// Runs many seeds, several at a time, and tells what they found in JSON lines.
#pragma once
#include "arguments.h"

namespace explore {

// The process's exit status: 0 no violation, 1 violations, 5 nothing ran.
int explore(const Arguments& arguments);

} // namespace explore
