// What a run tells: in memory that is shared with the process that asked for it, so that a crash loses nothing.
#pragma once
#include <cstddef>
#include <cstdint>
#include "../scheduler/scheduler.h"

namespace explore {

constexpr size_t kMostLog = 1 << 20;
constexpr size_t kMostKept = 1 << 16;

struct Report {
  enum class State : uint32_t { Running, Clean, Violated };
  State state = State::Running;
  char kind[32] = {};
  char detail[4096] = {};
  char doing[kMostThreads][96] = {}; // what each thread does, for crashes
  uint64_t steps = 0;
  uint64_t operations = 0;
  uint64_t out_of_memory = 0; // operations that failed so, as they may under a limit
  uint64_t fingerprint = 0;   // of the schedule and of what the allocator gave: the same in each replay
  uint64_t decision_count = 0;
  Decision decisions[kMostKept];
  uint64_t log_size = 0; // 0 where nobody asked for a log
  char log[kMostLog];
};

namespace report {

enum class Detail { Verdict, Log };

// The report that this process writes to.
void begin(Report* report, Detail detail);
Report& current();
// A line of the log.
void log(const char* format, ...) __attribute__((format(printf, 1, 2)));
// What the calling thread does now.
void doing(const char* what);
void mix(uint64_t value);
// The run ends here: this process exits.
[[noreturn]] void violation(const char* kind, const char* detail);
[[noreturn]] void clean();

} // namespace report
} // namespace explore
