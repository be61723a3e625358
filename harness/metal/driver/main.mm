// The native driver: runs one scenario over the tree's own allocator, stream and copies, and reports in JSON lines.
#include <ATen/Parallel.h>
#include <c10/core/Allocator.h>
#include <simulated_metal/control.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include "instruction_counter.h"
#include "output.h"
#include "serve.h"
#include "session.h"
#include "watchdog.h"

namespace umpatch {
namespace {

constexpr int kUsageError = 2;

// Settings of the driver, besides those of the simulated device and of each scenario.
const std::map<std::string, std::string>& driverSettings() {
  static const std::map<std::string, std::string> settings{
      {"low_watermark", "default"},  // PYTORCH_MPS_LOW_WATERMARK_RATIO
      {"high_watermark", "default"}, // PYTORCH_MPS_HIGH_WATERMARK_RATIO
      {"cpu_us_per_operation", "5"}, // virtual time between two operations of the CPU
      {"watchdog_ms", "10000"},      // real time without progress that counts as a deadlock
  };
  return settings;
}

// How the driver changes the device's defaults: everything late, and the same in every run.
const std::map<std::string, std::string>& deviceDefaults() {
  static const std::map<std::string, std::string> settings{
      {"clock", "virtual"},         {"mode", "asynchronous"},
      {"validation", "skip"},       {"gpu_us_per_command_buffer", "100"},
      {"gpu_us_per_command", "10"},
  };
  return settings;
}

struct Arguments {
  bool list = false;
  std::string scenario;
  uint64_t seed = 1;
  uint64_t steps = 0; // 0: the scenario's quick_steps
  std::map<std::string, std::string> settings;
};

[[noreturn]] void usage(const std::string& problem) {
  fprintf(stderr,
          "driver: %s\n"
          "usage: driver --list\n"
          "       driver --settings\n"
          "       driver --serve\n"
          "       driver --scenario ID --seed N [--steps N] [--set KEY=VALUE]...\n",
          problem.c_str());
  exit(kUsageError);
}

uint64_t parseNumber(const std::string& option, const char* text) {
  char* end = nullptr;
  const uint64_t value = strtoull(text, &end, 0);
  if (!*text || *text == '-' || *end) {
    usage(option + " needs a number, not '" + text + "'");
  }
  return value;
}

// What a scenario assumes about Metal by itself: under another assumption it would be another scenario.
std::vector<std::string> fixedBy(const Scenario& scenario) {
  std::vector<std::string> names;
  for (const auto& setting : simulated_metal::settings()) {
    if (!setting.alternatives.empty() && scenario.settings.count(setting.name)) {
      names.push_back(setting.name);
    }
  }
  return names;
}

void listScenarios() {
  for (const auto& scenario : Scenarios::all()) {
    writeLine(Json()
                  .field("id", scenario.id)
                  .field("title", scenario.title)
                  .field("reproduces", scenario.reproduces)
                  .field("class", scenario.scenario_class)
                  .field("patches", scenario.patches)
                  .field("quick_steps", scenario.quick_steps)
                  .field("full_steps", scenario.full_steps)
                  .field("quick", scenario.quick)
                  .field("positive_control", scenario.role == Scenario::Role::PositiveControl)
                  .field("deterministic", scenario.role != Scenario::Role::Threads)
                  .field("fixes", fixedBy(scenario)));
  }
}

void listSettings() {
  for (const auto& setting : simulated_metal::settings()) {
    writeLine(Json()
                  .field("name", setting.name)
                  .field("default", setting.value)
                  .field("meaning", setting.meaning)
                  .field("alternatives", setting.alternatives));
  }
}

Arguments parse(int count, char** values) {
  Arguments arguments;
  for (int i = 1; i < count; i++) {
    const std::string option = values[i];
    if (option == "--list") {
      arguments.list = true;
      continue;
    }
    if (option == "--settings") {
      listSettings();
      exit(0);
    }
    if (i + 1 == count) {
      usage(option + " is not an option, or lacks its value");
    }
    const char* value = values[++i];
    if (option == "--scenario") {
      arguments.scenario = value;
    } else if (option == "--seed") {
      arguments.seed = parseNumber(option, value);
    } else if (option == "--steps") {
      arguments.steps = parseNumber(option, value);
    } else if (option == "--set") {
      const char* equals = strchr(value, '=');
      if (!equals) {
        usage("--set needs KEY=VALUE");
      }
      arguments.settings[std::string(value, equals)] = equals + 1;
    } else {
      usage(option + " is not an option");
    }
  }
  return arguments;
}

const Scenario& find(const std::string& id) {
  for (const auto& scenario : Scenarios::all()) {
    if (id == scenario.id) {
      return scenario;
    }
  }
  usage("no scenario '" + id + "'; --list names them all");
}

// Applies what concerns the device, and returns the rest: the driver's and the scenario's own.
std::map<std::string, std::string> applySettings(const Scenario& scenario, const Arguments& arguments) {
  auto own = driverSettings();
  auto apply = [&](const std::map<std::string, std::string>& settings, bool may_add) {
    for (const auto& [name, value] : settings) {
      if (simulated_metal::set_setting(name, value)) {
        continue;
      }
      if (!may_add && !own.count(name)) {
        usage("'" + name + "=" + value + "' is no setting of this scenario, or not a value of it");
      }
      own[name] = value;
    }
  };
  apply(deviceDefaults(), false);
  apply(scenario.settings, true);
  apply(arguments.settings, false);
  const auto watermark = [&](const char* setting, const char* variable) {
    if (own.at(setting) != "default") {
      setenv(variable, own.at(setting).c_str(), 1);
    }
  };
  watermark("high_watermark", "PYTORCH_MPS_HIGH_WATERMARK_RATIO");
  watermark("low_watermark", "PYTORCH_MPS_LOW_WATERMARK_RATIO");
  return own;
}

int run(int count, char** values) {
  const Arguments arguments = parse(count, values);
  if (arguments.list) {
    listScenarios();
    return 0;
  }
  if (arguments.scenario.empty()) {
    usage("--scenario is missing");
  }
  const Scenario& scenario = find(arguments.scenario);
  auto settings = applySettings(scenario, arguments);
  if (scenario.role == Scenario::Role::Cost) {
    startInstructionCounter();
  }
  at::set_num_threads(1);
  // leaked: the watchdog may look at it until the very end
  auto* session = new Session(scenario, arguments.seed, arguments.steps ? arguments.steps : scenario.quick_steps,
                              std::move(settings));
  startWatchdog(*session, session->number("watchdog_ms"));
  const int status = session->run();
  if (strcmp(scenario.id, "clean-exit") == 0) {
    return status; // by way of every static destructor
  }
  fflush(nullptr);
  _exit(status);
}

} // namespace

std::vector<Scenario>& Scenarios::all() {
  static auto* all = new std::vector<Scenario>;
  return *all;
}

Scenarios::Scenarios(std::vector<Scenario> scenarios) {
  all().insert(all().end(), scenarios.begin(), scenarios.end());
}

} // namespace umpatch

int main(int count, char** values) {
  @autoreleasepool {
    if (count == 2 && strcmp(values[1], "--serve") == 0) {
      return umpatch::serve(umpatch::run);
    }
    return umpatch::run(count, values);
  }
}
