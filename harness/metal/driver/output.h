// The driver's standard output: one JSON object a line, complete even when another thread ends the process.
#pragma once
#include "json.h"

namespace umpatch {
void writeLine(const Json& object);
} // namespace umpatch
