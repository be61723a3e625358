// Ends a run in which nothing moves any more.
#pragma once
#include <cstdint>

namespace umpatch {
class Session;
// Watches from a thread of its own until the process ends.
void startWatchdog(Session& session, uint64_t patience_ms);
} // namespace umpatch
