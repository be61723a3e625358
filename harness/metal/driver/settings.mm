// See settings.h.
#include "settings.h"
#include <simulated_metal/control.h>
#include <cstdlib>

namespace umpatch {
namespace {

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

} // namespace

std::map<std::string, std::string> applySettings(const Scenario& scenario,
                                                 const std::map<std::string, std::string>& settings,
                                                 std::string& refused) {
  auto own = driverSettings();
  auto apply = [&](const std::map<std::string, std::string>& values, bool may_add) {
    for (const auto& [name, value] : values) {
      if (simulated_metal::set_setting(name, value)) {
        continue;
      }
      if (!may_add && !own.count(name)) {
        refused = name + "=" + value;
        continue;
      }
      own[name] = value;
    }
  };
  apply(deviceDefaults(), false);
  apply(scenario.settings, true);
  apply(settings, false);
  const auto watermark = [&](const char* setting, const char* variable) {
    if (own.at(setting) != "default") {
      setenv(variable, own.at(setting).c_str(), 1);
    }
  };
  watermark("high_watermark", "PYTORCH_MPS_HIGH_WATERMARK_RATIO");
  watermark("low_watermark", "PYTORCH_MPS_LOW_WATERMARK_RATIO");
  return own;
}

std::vector<std::string> fixedBy(const Scenario& scenario) {
  std::vector<std::string> names;
  for (const auto& setting : simulated_metal::settings()) {
    if (!setting.alternatives.empty() && scenario.settings.count(setting.name)) {
      names.push_back(setting.name);
    }
  }
  return names;
}

} // namespace umpatch
