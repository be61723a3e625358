// What a scenario is, and the table of all of them.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace umpatch {

class Session;

struct Scenario {
  const char* id;
  const char* title;
  const char* reproduces;           // a public report, or "ours"
  const char* scenario_class;       // gpu-only, cpu-write, copy, stress, pressure, correctness
  std::vector<std::string> patches; // ids of the patches that it is about
  uint64_t quick_steps;
  uint64_t full_steps;
  bool quick; // part of the quick suite
  // Settings that it has or changes, with their defaults; a name that is not one of the device's is its own.
  std::map<std::string, std::string> settings;
  void (*run)(Session& session);
  // What a judge of the runs has to know beyond the figures.
  enum class Role {
    Comparison,
    PositiveControl, // grows on purpose: a judge that does not say so is broken
    Threads,         // real threads on the wall clock: not the same in every run
    Cost,            // counts instructions: runs under the instruction counter
  };
  Role role = Role::Comparison;
};

// Each file of scenarios adds its own.
class Scenarios {
 public:
  static std::vector<Scenario>& all();
  // Null when there is none of that name.
  static const Scenario* find(const std::string& id);
  explicit Scenarios(std::vector<Scenario> scenarios);
};

} // namespace umpatch
