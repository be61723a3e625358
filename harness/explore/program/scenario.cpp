// See scenario.h.
#include "scenario.h"
#include "../../metal/driver/json.h"
#include "../../metal/driver/output.h"

namespace explore::scenario {

using umpatch::Json;
using umpatch::writeLine;

void begin(const Arguments& arguments) {
  Json settings;
  for (const auto& [name, value] : arguments.fixed.settings) {
    settings.field(name.c_str(), value);
  }
  writeLine(Json()
                .field("event", "begin")
                .field("schema", "umpatch.driver/1")
                .field("scenario", "schedules")
                .field("seed", arguments.first)
                .field("steps", arguments.seeds)
                .object("settings", settings));
}

void fault(const Arguments& arguments, uint64_t seed, const Outcome& outcome) {
  std::string again = arguments.again + " --seed " + std::to_string(seed);
  for (const auto& [name, value] : arguments.fixed.settings) {
    again += " --set " + name + "=" + value;
  }
  writeLine(Json()
                .field("event", "fault")
                .field("kind", outcome.kind)
                .field("count", 1)
                .field("detail", again + ": " + outcome.detail));
}

void end(uint64_t violations, const std::map<std::string, uint64_t>& counters) {
  Json all;
  for (const auto& [name, value] : counters) {
    all.field(name.c_str(), value);
  }
  all.field("faults", violations);
  writeLine(Json().field("event", "end").field("outcome", violations ? "faulted" : "ok").object("counters", all));
}

} // namespace explore::scenario
