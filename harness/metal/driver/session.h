// One run of one scenario: the device and the allocator under test, what is measured, and what was found.
#pragma once
#include <ATen/mps/MPSAllocatorInterface.h>
#include <ATen/mps/MPSStream.h>
#include <functional>
#include <random>
#include "scenario.h"

namespace umpatch {

enum class Fault { Corruption, Hazard, Accounting, Deadlock, OutOfMemory, WrongData, UnexpectedError, State };

const char* nameOf(Fault kind);

// Host-to-device copies that could have been a memcpy: contiguous, same dtype, into unified memory.
struct CopyCounts {
  uint64_t eligible = 0;
  uint64_t by_memcpy = 0;
  uint64_t by_blit = 0;
  uint64_t waits = 0;
};

class Session {
 public:
  Session(const Scenario& scenario, uint64_t seed, uint64_t steps, std::map<std::string, std::string> settings);

  uint64_t seed() const {
    return seed_;
  }
  uint64_t steps() const {
    return steps_;
  }
  // The value of one of the scenario's own settings.
  uint64_t number(const std::string& setting) const;
  std::mt19937_64& random() {
    return random_;
  }

  // The allocator that tensors come from, the one of pinned memory (null on a discrete device), and the stream.
  at::mps::IMPSAllocator* tensors() const;
  at::mps::IMPSAllocator* pinned() const;
  at::mps::MPSStream* stream() const;

  // Allocates and frees, and measures the time of both.
  c10::DataPtr allocate(at::mps::IMPSAllocator* allocator, size_t bytes);
  void release(c10::DataPtr& pointer);

  // Runs a function that allocates and frees once, and counts its instructions; the mean is reported.
  void countAllocationInstructions(const std::function<void()>& function);

  // A kernel as PyTorch encodes one: through MPSStream::executeMPSGraph, which commits under memory pressure. The
  // function, if any, runs when the GPU comes to it.
  void operation(const std::vector<id<MTLBuffer>>& reads,
                 const std::vector<id<MTLBuffer>>& writes,
                 std::function<void()> kernel = {});
  void fill(const c10::DataPtr& target, uint8_t value, size_t bytes);
  void synchronize(at::mps::SyncType type);

  // Time passes on the CPU, and so on the GPU.
  void pass(uint64_t microseconds);
  void pass(); // the time of one operation of the CPU
  // A step is over: samples if this one is sampled.
  void endStep();
  uint64_t step() const {
    return step_;
  }

  void fault(Fault kind, const std::string& detail, uint64_t bytes = 0);
  // Compares, and reports the bytes that differ as a fault of that kind.
  bool expectBytes(Fault kind, const void* actual, const void* expected, size_t bytes, const std::string& what);
  bool expectFilled(Fault kind, const void* actual, uint8_t expected, size_t bytes, const std::string& what);
  // Checks the allocator's books.
  void audit();
  // Counts a copy of this kind: by_memcpy when no blit was encoded during the call.
  void countEligibleCopy(const std::function<void()>& copy);
  // A scenario's own counter, reported with the others.
  void count(const std::string& name, uint64_t value);

  // Runs the scenario, lets everything end, and says how it went.
  const char* perform();
  // The same with all that is written about it; returns the process's exit status.
  int run();
  // From another thread, when nothing moves any more: reports a deadlock and ends the process.
  [[noreturn]] void giveUp(const std::string& why);
  // For threads that use the allocator by themselves, without the session's counters: they are alive.
  void beat() {
    heartbeat_++;
  }
  uint64_t heartbeat() const {
    return heartbeat_.load();
  }

 private:
  const Scenario& scenario_;
  const uint64_t seed_;
  const uint64_t steps_;
  const std::map<std::string, std::string> settings_;
  std::mt19937_64 random_;
  std::atomic<uint64_t> heartbeat_{0};
  uint64_t step_ = 0;
  uint64_t sample_every_ = 1;
  uint64_t started_ns_ = 0;
  uint64_t faults_ = 0;
  uint64_t faults_by_kind_[8] = {};
  uint64_t corrupted_bytes_ = 0;
  uint64_t allocation_ns_ = 0;
  uint64_t measured_allocations_ = 0;
  uint64_t allocation_instructions_ = 0;
  uint64_t counted_allocations_ = 0;
  uint64_t peak_current_ = 0;
  uint64_t peak_pending_ = 0;
  uint64_t residual_current_ = 0;
  uint64_t residual_driver_ = 0;
  CopyCounts copies_;
  std::map<std::string, uint64_t> own_counters_;

  void begin();
  void sample();
  void settleAndMeasureResidual();
  void end(const char* outcome);
};

uint64_t nanoseconds();

// The bytes behind an allocation as the GPU sees them.
uint8_t* bytesOf(const c10::DataPtr& pointer);
id<MTLBuffer> bufferOf(const c10::DataPtr& pointer);

} // namespace umpatch
