// The table of settings: what each assumes about Metal, its values, and where it comes from.
#include <simulated_metal/control.h>
#include <cctype>
#include <cstdlib>
#include <functional>

namespace simulated_metal {
namespace {

struct Entry {
  const char* name;
  const char* meaning;
  std::function<std::string(const Configuration&)> get;
  std::function<bool(Configuration&, const std::string&)> set;
  // What an assumption could be instead, to find out whether a verdict hangs on it; empty for what is no assumption.
  std::vector<std::string> alternatives;
};

Entry number(const char* name,
             uint64_t Configuration::*field,
             const char* meaning,
             std::vector<std::string> alternatives = {}) {
  return {name, meaning, [field](const Configuration& c) { return std::to_string(c.*field); },
          [field](Configuration& c, const std::string& text) {
            char* end = nullptr;
            const uint64_t value = strtoull(text.c_str(), &end, 0);
            if (text.empty() || text[0] == '-' || *end) {
              return false;
            }
            c.*field = value;
            return true;
          },
          std::move(alternatives)};
}

Entry flag(const char* name, bool Configuration::*field, const char* meaning) {
  return {name, meaning, [field](const Configuration& c) { return std::string(c.*field ? "1" : "0"); },
          [field](Configuration& c, const std::string& text) {
            if (text != "0" && text != "1") {
              return false;
            }
            c.*field = text == "1";
            return true;
          },
          {}};
}

template <typename T>
Entry choice(const char* name,
             T Configuration::*field,
             std::vector<std::pair<const char*, T>> values,
             const char* meaning,
             std::vector<std::string> alternatives = {}) {
  return {name, meaning,
          [field, values](const Configuration& c) {
            for (const auto& [word, value] : values) {
              if (c.*field == value) {
                return std::string(word);
              }
            }
            return std::string();
          },
          [field, values](Configuration& c, const std::string& text) {
            for (const auto& [word, value] : values) {
              if (text == word) {
                c.*field = value;
                return true;
              }
            }
            return false;
          },
          std::move(alternatives)};
}

const std::vector<Entry>& table() {
  using C = Configuration;
  static const std::vector<Entry>* entries = new std::vector<Entry>{
      number("recommended_max_bytes", &C::recommended_max_bytes,
             "recommendedMaxWorkingSetSize; on a Mac about three quarters of its memory"),
      number("max_buffer_bytes", &C::max_buffer_bytes, "maxBufferLength"),
      number("hard_limit_bytes", &C::hard_limit_bytes,
             "a heap that would exceed it cannot be made; 0: the system never refuses"),
      number("gpu_us_per_command_buffer", &C::gpu_us_per_command_buffer, "GPU time of a command buffer"),
      number("gpu_us_per_command", &C::gpu_us_per_command, "GPU time of each command in it"),
      number("max_in_flight", &C::max_in_flight,
             "uncompleted command buffers of a queue before asking for one more blocks; documented default 64",
             {"4"}),
      number("heap_alignment", &C::heap_alignment, "size and alignment of sub-allocations of a heap; assumed",
             {"65536"}),
      number("graph_commit_every", &C::graph_commit_every,
             "MPSGraph commits and continues by itself after so many encodings; Apple's rule is not known",
             {"1", "32"}),
      number("macos_major", &C::macos_major, "the macOS version that the program sees"),
      number("macos_minor", &C::macos_minor, "its minor version"),
      flag("unified", &C::unified, "hasUnifiedMemory: 1 Apple Silicon, 0 a discrete GPU"),
      flag("execute", &C::execute, "0: commands move no bytes"),
      flag("guard_pages", &C::guard_pages, "1: an access outside of a heap's buffer ends the process"),
      flag("poison", &C::poison, "1: new buffers and the memory of released ones are filled with a pattern"),
      choice<DropOrder>("drop_order", &C::drop_order,
                        {{"before-handlers", DropOrder::BeforeHandlers},
                         {"after-handlers", DropOrder::AfterHandlers},
                         {"after-wait", DropOrder::AfterWait}},
                        "when a finished command buffer drops its references; not documented",
                        {"before-handlers", "after-wait"}),
      choice<NotificationOrder>(
          "notification_order", &C::notification_order,
          {{"in-order", NotificationOrder::InOrder}, {"any-order", NotificationOrder::AnyOrder}},
          "whether shared events' listeners are told in the order of the signals; not documented",
          {"any-order"}),
      choice<Mode>("mode", &C::mode, {{"eager-retire", Mode::EagerRetire}, {"asynchronous", Mode::Asynchronous}},
                   "when an encoded command takes effect; real GPUs are asynchronous", {"eager-retire"}),
      choice<Clock>("clock", &C::clock, {{"wall", Clock::Wall}, {"virtual", Clock::Virtual}},
                    "virtual: GPU time passes only where the program advances it or blocks"),
      choice<RetainRule>(
          "retain_rule", &C::retain_rule,
          {{"per-command-buffer", RetainRule::PerCommandBuffer}, {"per-command", RetainRule::PerCommand}},
          "references of a command buffer to a buffer used twice; not documented",
          {"per-command"}),
      choice<AllocatedSizeRule>(
          "allocated_size_rule", &C::allocated_size_rule,
          {{"whole-heaps", AllocatedSizeRule::WholeHeaps}, {"used-bytes", AllocatedSizeRule::UsedBytes}},
          "what currentAllocatedSize counts for a heap; whole heaps is assumed",
          {"used-bytes"}),
      choice<Validation>("validation", &C::validation, {{"abort", Validation::Abort}, {"skip", Validation::Skip}},
                         "what becomes of a command outside its buffer: undefined without Metal's validation layer"),
      choice<CpuAccess>("cpu_access", &C::cpu_access,
                        {{"unchecked", CpuAccess::Unchecked}, {"checked", CpuAccess::Checked}},
                        "checked: CPU access to what the GPU still uses is recorded as a hazard"),
  };
  return *entries;
}

Configuration fromEnvironment() {
  Configuration configuration;
  for (const auto& entry : table()) {
    std::string name = std::string("SIMULATED_METAL_") + entry.name;
    for (auto& letter : name) {
      letter = (char)toupper((unsigned char)letter);
    }
    const char* value = getenv(name.c_str());
    if (value && !entry.set(configuration, value)) {
      fprintf(stderr, "simulated Metal: %s=%s is not a value of %s\n", name.c_str(), value, entry.name);
      exit(2);
    }
  }
  return configuration;
}

} // namespace

Configuration& configuration() {
  static Configuration* current = new Configuration(fromEnvironment());
  return *current;
}

std::vector<Setting> settings() {
  std::vector<Setting> lines;
  for (const auto& entry : table()) {
    lines.push_back({entry.name, entry.get(configuration()), entry.meaning, entry.alternatives});
  }
  return lines;
}

bool set_setting(const std::string& name, const std::string& value) {
  for (const auto& entry : table()) {
    if (name == entry.name) {
      return entry.set(configuration(), value);
    }
  }
  return false;
}

} // namespace simulated_metal
