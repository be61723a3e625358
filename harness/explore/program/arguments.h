// The command line of the explorer.
#pragma once
#include <cstdint>
#include <string>
#include "../trace/trace.h"

namespace explore {

struct Arguments {
  uint64_t first = 1;
  uint64_t seeds = 1000;
  uint64_t seconds = 0;    // 0: as long as the seeds take
  uint32_t jobs = 0;       // 0: the machine's processors
  uint64_t stop_after = 0; // violations; 0: never
  uint64_t shrink_runs = 1500;
  bool shrink = true;
  bool each = false; // a line for every seed, with its fingerprint
  bool show = false; // prints the trace of the first seed, and runs nothing
  std::string trace; // a file to replay
  std::string keep;  // a folder for shrunk traces
  Fixed fixed;
  uint64_t limit_ms = 20000;             // of one run
  bool is_scenario = false;              // speaks as the drivers of scenarios do
  std::string again = "umpatch explore"; // what runs the same program, for a reader who wants to see a seed again
};

// Says what is wrong and ends the process with 2.
[[noreturn]] void usage(const std::string& problem);
// The same for a setting that the device has not.
void expectSetting(const std::string& name, const std::string& value);
// Whether there is a scenario of that name that one process can judge by itself, and that threads have no part in.
bool isCase(const std::string& scenario);
Arguments parseArguments(int count, char** values);

} // namespace explore
