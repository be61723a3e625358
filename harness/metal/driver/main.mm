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
#include "settings.h"
#include "watchdog.h"

namespace umpatch {
namespace {

constexpr int kUsageError = 2;

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

int run(int count, char** values) {
  const Arguments arguments = parse(count, values);
  if (arguments.list) {
    listScenarios();
    return 0;
  }
  if (arguments.scenario.empty()) {
    usage("--scenario is missing");
  }
  const Scenario* found = Scenarios::find(arguments.scenario);
  if (!found) {
    usage("no scenario '" + arguments.scenario + "'; --list names them all");
  }
  const Scenario& scenario = *found;
  std::string refused;
  auto settings = applySettings(scenario, arguments.settings, refused);
  if (!refused.empty()) {
    usage("'" + refused + "' is no setting of this scenario, or not a value of it");
  }
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

} // namespace umpatch

int main(int count, char** values) {
  @autoreleasepool {
    if (count == 2 && strcmp(values[1], "--serve") == 0) {
      return umpatch::serve(umpatch::run);
    }
    return umpatch::run(count, values);
  }
}
