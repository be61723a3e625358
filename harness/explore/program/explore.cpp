// See explore.h.
#include "explore.h"
#include <poll.h>
#include <algorithm>
#include <fstream>
#include <memory>
#include <sstream>
#include "../../metal/driver/json.h"
#include "../../metal/driver/output.h"
#include "scenario.h"
#include "shrink.h"

namespace explore {
namespace {

using umpatch::Json;
using umpatch::writeLine;

constexpr int kViolations = 1;
constexpr int kNothingRan = 5;

class Exploration {
 public:
  explicit Exploration(const Arguments& arguments) : arguments_(arguments), next_(arguments.first) {
    const uint64_t jobs = std::min<uint64_t>(arguments.jobs, std::max<uint64_t>(1, arguments.seeds));
    for (uint64_t i = 0; i < jobs; i++) {
      zygotes_.push_back(std::make_unique<Zygote>((uint32_t)i, arguments.limit_ms));
    }
  }

  int run() {
    started_ms_ = milliseconds();
    if (arguments_.is_scenario) {
      scenario::begin(arguments_);
    }
    if (!arguments_.trace.empty()) {
      runTrace();
    } else {
      runSeeds();
    }
    if (arguments_.is_scenario) {
      scenario::end(violations_, {{"seeds", seeds_}, {"operations", operations_}, {"schedule_points", steps_}});
      return 0;
    }
    writeEnd();
    return !seeds_ ? kNothingRan : violations_ ? kViolations : 0;
  }

 private:
  const Arguments& arguments_;
  std::vector<std::unique_ptr<Zygote>> zygotes_;
  uint64_t next_;
  uint64_t started_ms_ = 0;
  uint64_t told_ms_ = 0;
  uint64_t seeds_ = 0;
  uint64_t steps_ = 0;
  uint64_t cpu_us_ = 0;
  uint64_t operations_ = 0;
  uint64_t out_of_memory_ = 0;
  uint64_t violations_ = 0;
  std::map<std::string, uint64_t> kinds_;

  bool mayStart() const {
    if (next_ - arguments_.first >= arguments_.seeds ||
        (arguments_.stop_after && violations_ >= arguments_.stop_after)) {
      return false;
    }
    return !arguments_.seconds || milliseconds() < started_ms_ + arguments_.seconds * 1000;
  }

  void runSeeds() {
    for (;;) {
      bool running = false;
      for (auto& zygote : zygotes_) {
        if (!zygote->isRunning() && mayStart()) {
          zygote->start(generate(next_++, arguments_.fixed), report::Detail::Verdict);
        }
        running |= zygote->isRunning();
      }
      if (!running) {
        return;
      }
      std::vector<pollfd> files;
      for (auto& zygote : zygotes_) {
        files.push_back({zygote->isRunning() ? zygote->file() : -1, POLLIN, 0});
      }
      poll(files.data(), files.size(), 100);
      for (size_t i = 0; i < zygotes_.size(); i++) {
        if (files[i].revents) {
          finish(*zygotes_[i]);
        } else if (zygotes_[i]->isLate(milliseconds())) {
          zygotes_[i]->kill();
        }
      }
      tell();
    }
  }

  void runTrace() {
    std::ifstream file(arguments_.trace);
    std::ostringstream text;
    text << file.rdbuf();
    if (!file) {
      usage(arguments_.trace + ": cannot be read");
    }
    std::string error;
    Trace trace = parse(text.str(), error);
    if (!error.empty()) {
      usage(arguments_.trace + ": " + error);
    }
    for (const auto& [name, value] : trace.settings) {
      expectSetting(name, value);
    }
    const std::string& scenario = trace.scenario_case.scenario;
    if (!scenario.empty() && !isCase(scenario)) {
      usage(arguments_.trace + ": '" + scenario + "' is no scenario, or not one that a seed can stand for");
    }
    for (const auto& [name, value] : arguments_.fixed.settings) {
      trace.settings[name] = value;
    }
    Zygote& zygote = *zygotes_.front();
    zygote.start(trace, report::Detail::Verdict);
    for (pollfd ready{zygote.file(), POLLIN, 0}; poll(&ready, 1, 100) <= 0;) {
      if (zygote.isLate(milliseconds())) {
        zygote.kill();
      }
    }
    const Outcome outcome = zygote.finish();
    count(zygote);
    if (outcome.violated()) {
      violated(zygote, trace, outcome);
    }
  }

  void count(const Zygote& zygote) {
    seeds_++;
    steps_ += zygote.report().steps;
    cpu_us_ += zygote.cpuMicroseconds();
    operations_ += zygote.report().operations;
    out_of_memory_ += zygote.report().out_of_memory;
  }

  void finish(Zygote& zygote) {
    const Outcome outcome = zygote.finish();
    count(zygote);
    if (arguments_.each) {
      writeLine(Json()
                    .field("event", "seed")
                    .field("seed", zygote.trace().seed)
                    .field("kind", outcome.kind)
                    .field("steps", zygote.report().steps)
                    .field("fingerprint", zygote.report().fingerprint));
    }
    if (outcome.violated()) {
      violated(zygote, Trace(zygote.trace()), outcome);
    }
  }

  // The first of each kind is shrunk; the others are told by their seeds.
  void violated(Zygote& zygote, const Trace& trace, const Outcome& outcome) {
    violations_++;
    const bool first = kinds_[outcome.kind]++ == 0;
    if (arguments_.is_scenario) {
      scenario::fault(arguments_, trace.seed, outcome);
      return;
    }
    Json json;
    json.field("event", "violation")
        .field("seed", trace.seed)
        .field("kind", outcome.kind)
        .field("detail", outcome.detail)
        .field("fingerprint", zygote.report().fingerprint)
        .field("operations", trace.operations());
    if (!first || !arguments_.shrink) {
      writeLine(json);
      return;
    }
    const Shrunk shrunk = shrink(zygote, trace, outcome, zygote.report().fingerprint, arguments_.shrink_runs);
    const std::string text = print(shrunk.trace);
    json.field("replays", shrunk.replays)
        .field("shrunk_operations", shrunk.trace.operations())
        .field("shrunk_detail", shrunk.outcome.detail)
        .field("shrink_runs", shrunk.runs)
        .field("trace", text)
        .field("log", shrunk.log);
    if (!arguments_.keep.empty()) {
      const std::string path = arguments_.keep + "/" + outcome.kind + "-" + std::to_string(trace.seed) + ".trace";
      std::ofstream file(path);
      file << "# " << outcome.kind << ": " << shrunk.outcome.detail.substr(0, shrunk.outcome.detail.find('\n')) << '\n'
           << text;
      if (!file) {
        usage(path + " cannot be written");
      }
      json.field("kept", path);
    }
    writeLine(json);
  }

  Json counts() const {
    Json json;
    const uint64_t elapsed = milliseconds() - started_ms_;
    json.field("seeds", seeds_)
        .field("violations", violations_)
        .field("elapsed_ms", elapsed)
        .field("seeds_per_second", elapsed ? seeds_ * 1000 / elapsed : 0);
    return json;
  }

  void tell() {
    constexpr uint64_t kEvery = 1000;
    if (!arguments_.is_scenario && milliseconds() >= told_ms_ + kEvery) {
      told_ms_ = milliseconds();
      writeLine(Json().field("event", "progress").object("so_far", counts()));
    }
  }

  void writeEnd() const {
    Json kinds;
    for (const auto& [kind, number] : kinds_) {
      kinds.field(kind.c_str(), number);
    }
    writeLine(Json()
                  .field("event", "end")
                  .object("total", counts())
                  .field("first", arguments_.first)
                  .field("next", next_)
                  .field("steps", steps_)
                  .field("operations", operations_)
                  .field("out_of_memory", out_of_memory_)
                  .field("cpu_ms", cpu_us_ / 1000)
                  .object("kinds", kinds));
  }
};

} // namespace

int explore(const Arguments& arguments) {
  return Exploration(arguments).run();
}

} // namespace explore
