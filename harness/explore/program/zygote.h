// A process that is copied for each run: everything is loaded and registered in it, and nothing that a run does can
// reach the next one. It allocates no memory between two copies, so that every run begins from the same addresses.
#pragma once
#include <sys/types.h>
#include <cstddef>
#include <string>
#include "../trace/trace.h"
#include "../world/report.h"

namespace explore {

// How a run ended.
struct Outcome {
  std::string kind; // empty: clean
  std::string detail;
  bool violated() const {
    return !kind.empty();
  }
};

// The most runs at a time.
constexpr uint32_t kMostZygotes = 64;

class Zygote {
 public:
  // Once, before this process does anything that depends on its arguments: all zygotes are copies of that moment.
  static void prepare();
  Zygote(uint32_t index, uint64_t limit_ms);
  Zygote(const Zygote&) = delete;
  Zygote& operator=(const Zygote&) = delete;

  // Starts a run of a trace: as text, so that a seed and a file that says the same begin from the same memory.
  void start(const Trace& trace, report::Detail detail);
  // Readable when the run has ended.
  int file() const {
    return socket_;
  }
  // Ends a run that takes too long.
  bool isLate(uint64_t now_ms) const;
  void kill();
  // The outcome of the run that has ended; its report stays until the next start.
  Outcome finish();
  const Report& report() const {
    return *report_;
  }
  // Processor time of the last run, with what it took to start it.
  uint64_t cpuMicroseconds() const;
  bool isRunning() const {
    return running_;
  }
  // The trace of the last start.
  const Trace& trace() const {
    return trace_;
  }

 private:
  struct Request;
  struct Place;
  static Place places_[kMostZygotes];
  static int nursery_; // tells the process that makes zygotes to make one
  Request* request_;
  Report* report_;
  int socket_ = -1;
  int errors_ = -1; // what a run writes to its standard error
  const uint64_t limit_ms_;
  Trace trace_;
  uint64_t started_ms_ = 0;
  bool running_ = false;
  bool killed_ = false;

  static void serve(const Place& place);
  std::string errorText() const;
};

uint64_t milliseconds();

} // namespace explore
