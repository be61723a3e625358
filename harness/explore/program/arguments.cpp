// See arguments.h.
#include "arguments.h"
#include <sched.h>
#include <simulated_metal/control.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <algorithm>
#include "../../metal/driver/scenario.h"
#include "../trace/trace.h"
#include "zygote.h"

namespace explore {
namespace {

constexpr int kUsage = 2;
constexpr const char* kScenario = "schedules";
constexpr const char* kCases = "cases"; // among the operations that are left out
constexpr uint64_t kScenarioSeeds = 2500;

uint64_t number(const std::string& option, const char* text) {
  char* end = nullptr;
  const uint64_t value = strtoull(text, &end, 0);
  if (!*text || *text == '-' || *end) {
    usage(option + " needs a number, not '" + text + "'");
  }
  return value;
}

std::vector<std::string> split(const std::string& words) {
  std::vector<std::string> all;
  for (size_t at = 0; at <= words.size();) {
    const size_t comma = std::min(words.find(',', at), words.size());
    all.push_back(words.substr(at, comma - at));
    at = comma + 1;
  }
  return all;
}

} // namespace

void expectSetting(const std::string& name, const std::string& value) {
  const auto before = simulated_metal::settings();
  if (!simulated_metal::set_setting(name, value)) {
    usage("'" + name + "=" + value + "' is no setting of the simulated device, or not a value of it");
  }
  // tried only: this process keeps the defaults
  for (const auto& setting : before) {
    if (setting.name == name) {
      simulated_metal::set_setting(name, setting.value);
    }
  }
}

bool isCase(const std::string& name) {
  const umpatch::Scenario* scenario = umpatch::Scenarios::find(name);
  return scenario && scenario->role == umpatch::Scenario::Role::Comparison;
}

void usage(const std::string& problem) {
  fprintf(stderr,
          "explorer: %s\n"
          "usage: explorer [--seeds N] [--first SEED] [--time SECONDS] [--jobs N] [--threads N] [--set NAME=VALUE]...\n"
          "                [--cases SCENARIO,SCENARIO...] [--without VERB,VERB...]\n"
          "                [--stop-after VIOLATIONS] [--no-shrink] [--shrink-runs N] [--limit-ms N] [--keep FOLDER] "
          "[--each]\n"
          "       explorer --seed SEED [the same]      one seed, exactly as before\n"
          "       explorer --trace FILE [--no-shrink]  a kept trace\n"
          "       explorer --show SEED                 the trace that a seed stands for\n"
          "       explorer --scenario schedules --seed N [--steps SEEDS] [--set NAME=VALUE]... [--again COMMAND]\n"
          "                                           as a driver of scenarios; COMMAND is what runs a seed again\n",
          problem.c_str());
  exit(kUsage);
}

Arguments parseArguments(int count, char** values) {
  Arguments arguments;
  bool steps_given = false;
  bool without_cases = false;
  for (int i = 1; i < count; i++) {
    const std::string option = values[i];
    if (option == "--each") {
      arguments.each = true;
      continue;
    }
    if (option == "--no-shrink") {
      arguments.shrink = false;
      continue;
    }
    if (i + 1 == count) {
      usage("'" + option + "' is not an option, or lacks its value");
    }
    const char* value = values[++i];
    if (option == "--seeds") {
      arguments.seeds = number(option, value);
    } else if (option == "--first") {
      arguments.first = number(option, value);
    } else if (option == "--seed" || option == "--show") {
      arguments.first = number(option, value);
      arguments.seeds = 1;
      arguments.show = option == "--show";
    } else if (option == "--time") {
      arguments.seconds = number(option, value);
    } else if (option == "--jobs") {
      arguments.jobs = (uint32_t)number(option, value);
    } else if (option == "--threads") {
      arguments.fixed.workers = (uint32_t)number(option, value);
      if (arguments.fixed.workers < 1 || arguments.fixed.workers > kMostWorkers) {
        usage("--threads takes 1 to " + std::to_string(kMostWorkers));
      }
    } else if (option == "--without") {
      for (const std::string& word : split(value)) {
        Verb verb{};
        if (word == kCases) {
          without_cases = true;
        } else if (verbOf(word, verb)) {
          arguments.fixed.without.push_back(verb);
        } else {
          usage("'" + word + "' is not an operation");
        }
      }
    } else if (option == "--cases") {
      for (const std::string& name : split(value)) {
        if (!umpatch::Scenarios::find(name)) {
          usage("no scenario '" + name + "'");
        }
        if (isCase(name)) {
          arguments.fixed.cases.push_back(name);
        }
      }
    } else if (option == "--scenario") {
      if (std::string(value) != kScenario) {
        usage("no scenario '" + std::string(value) + "'");
      }
      arguments.is_scenario = true;
      arguments.shrink = false;
    } else if (option == "--again") {
      arguments.again = value;
    } else if (option == "--steps") {
      arguments.seeds = number(option, value);
      steps_given = true;
    } else if (option == "--stop-after") {
      arguments.stop_after = number(option, value);
    } else if (option == "--shrink-runs") {
      arguments.shrink_runs = number(option, value);
    } else if (option == "--limit-ms") {
      arguments.limit_ms = number(option, value);
    } else if (option == "--keep") {
      arguments.keep = value;
    } else if (option == "--trace") {
      arguments.trace = value;
    } else if (option == "--set") {
      const char* equals = strchr(value, '=');
      if (!equals) {
        usage("--set needs NAME=VALUE");
      }
      const std::string name(value, equals);
      expectSetting(name, equals + 1);
      arguments.fixed.settings[name] = equals + 1;
    } else {
      usage("'" + option + "' is not an option");
    }
  }
  if (without_cases) {
    arguments.fixed.cases.clear();
  }
  if (arguments.is_scenario) {
    // each pair of a comparison has seeds of its own, and runs them all: what one arm has and the other has not is told
    // by the same seeds
    arguments.seeds = steps_given ? arguments.seeds : kScenarioSeeds;
    arguments.first = 1 + (arguments.first - 1) * arguments.seeds;
  }
  if (!arguments.jobs) {
    cpu_set_t processors;
    arguments.jobs = sched_getaffinity(0, sizeof processors, &processors) == 0 ? (uint32_t)CPU_COUNT(&processors) : 1;
  }
  arguments.jobs = std::min(arguments.jobs, kMostZygotes);
  return arguments;
}

} // namespace explore
