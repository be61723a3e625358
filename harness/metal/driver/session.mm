// See session.h.
#include "session.h"
#include "instruction_counter.h"
#include <simulated_metal/control.h>
#include <simulated_metal/kernel_graph.h>
#include <chrono>
#include <cstring>
#include "../audit/allocator_audit.h"

namespace umpatch {

uint64_t nanoseconds() {
  return (uint64_t)std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

const char* nameOf(Fault kind) {
  switch (kind) {
    case Fault::Corruption:
      return "corruption";
    case Fault::Hazard:
      return "hazard";
    case Fault::Accounting:
      return "accounting";
    case Fault::Deadlock:
      return "deadlock";
    case Fault::OutOfMemory:
      return "out-of-memory";
    case Fault::WrongData:
      return "wrong-data";
    case Fault::UnexpectedError:
      return "unexpected-error";
    case Fault::State:
      return "state";
  }
  return "state";
}

namespace {

using simulated_metal::counters;

constexpr uint64_t kMostSamples = 500;

std::string firstLine(const char* text) {
  const std::string all = text;
  return all.substr(0, all.find('\n'));
}

} // namespace

uint8_t* bytesOf(const c10::DataPtr& pointer) {
  return static_cast<uint8_t*>(simulated_metal::hostPointer((id<MTLBuffer>)pointer.get()));
}

id<MTLBuffer> bufferOf(const c10::DataPtr& pointer) {
  return (id<MTLBuffer>)pointer.get();
}

Session::Session(const Scenario& scenario, uint64_t seed, uint64_t steps, std::map<std::string, std::string> settings)
    : scenario_(scenario),
      seed_(seed),
      steps_(steps),
      settings_(std::move(settings)),
      random_(seed),
      sample_every_(std::max<uint64_t>(1, (steps + kMostSamples - 1) / kMostSamples)),
      started_ns_(nanoseconds()) {
}

uint64_t Session::number(const std::string& setting) const {
  return strtoull(settings_.at(setting).c_str(), nullptr, 0);
}

at::mps::IMPSAllocator* Session::tensors() const {
  return at::mps::getIMPSAllocator();
}
at::mps::IMPSAllocator* Session::pinned() const {
  return at::mps::getIMPSAllocator(true);
}
at::mps::MPSStream* Session::stream() const {
  return at::mps::getDefaultMPSStream();
}

c10::DataPtr Session::allocate(at::mps::IMPSAllocator* allocator, size_t bytes) {
  heartbeat_++;
  const uint64_t start = nanoseconds();
  auto pointer = allocator->allocate(bytes);
  allocation_ns_ += nanoseconds() - start;
  measured_allocations_++;
  peak_current_ = std::max<uint64_t>(peak_current_, allocator->getCurrentAllocatedMemory());
  return pointer;
}

void Session::release(c10::DataPtr& pointer) {
  heartbeat_++;
  const uint64_t start = nanoseconds();
  pointer.clear();
  allocation_ns_ += nanoseconds() - start;
}

void Session::countAllocationInstructions(const std::function<void()>& function) {
  heartbeat_++;
  if (const auto instructions = countInstructions(function)) {
    allocation_instructions_ += *instructions;
    counted_allocations_++;
  }
}

void Session::operation(const std::vector<id<MTLBuffer>>& reads,
                        const std::vector<id<MTLBuffer>>& writes,
                        std::function<void()> kernel) {
  heartbeat_++;
  @autoreleasepool {
    SMKernelGraph* graph = [[SMKernelGraph new] autorelease];
    graph->_reads.assign(reads.begin(), reads.end());
    graph->_writes.assign(writes.begin(), writes.end());
    graph->_function = std::move(kernel);
    stream()->executeMPSGraph(graph, nil, nil, at::mps::SyncType::COMMIT_ADAPTIVE);
  }
}

void Session::fill(const c10::DataPtr& target, uint8_t value, size_t bytes) {
  heartbeat_++;
  stream()->fill(bufferOf(target), value, bytes, 0, at::mps::SyncType::NONE);
}

void Session::synchronize(at::mps::SyncType type) {
  heartbeat_++;
  auto* current = stream();
  @autoreleasepool {
    dispatch_sync(current->queue(), ^() {
      current->synchronize(type);
    });
  }
  heartbeat_++;
}

void Session::pass(uint64_t microseconds) {
  heartbeat_++;
  simulated_metal::advance(microseconds);
}

void Session::pass() {
  pass(number("cpu_us_per_operation"));
}

void Session::endStep() {
  heartbeat_++;
  if (step_ % sample_every_ == 0 || step_ + 1 == steps_) {
    sample();
  }
  step_++;
}

bool Session::expectBytes(Fault kind, const void* actual, const void* expected, size_t bytes, const std::string& what) {
  if (memcmp(actual, expected, bytes) == 0) {
    return true;
  }
  const auto* a = static_cast<const uint8_t*>(actual);
  const auto* b = static_cast<const uint8_t*>(expected);
  uint64_t differing = 0;
  size_t first = bytes;
  for (size_t i = 0; i < bytes; i++) {
    if (a[i] != b[i]) {
      first = std::min(first, i);
      differing++;
    }
  }
  fault(kind,
        what + ": " + std::to_string(differing) + " of " + std::to_string(bytes) + " bytes differ, the first at " +
            std::to_string(first),
        differing);
  return false;
}

bool Session::expectFilled(Fault kind, const void* actual, uint8_t expected, size_t bytes, const std::string& what) {
  const std::vector<uint8_t> pattern(bytes, expected);
  return expectBytes(kind, actual, pattern.data(), bytes, what);
}

void Session::audit() {
  for (const auto& violation : audit::check()) {
    fault(violation.kind == audit::Violation::Kind::Accounting ? Fault::Accounting : Fault::State, violation.detail,
          violation.bytes);
  }
  heartbeat_++;
}

void Session::countEligibleCopy(const std::function<void()>& copy) {
  const uint64_t before = counters().blit_copies;
  const uint64_t waits_before = counters().blocking_waits;
  copy();
  copies_.waits += counters().blocking_waits - waits_before;
  copies_.eligible++;
  (counters().blit_copies == before ? copies_.by_memcpy : copies_.by_blit)++;
}

void Session::count(const std::string& name, uint64_t value) {
  own_counters_[name] += value;
}

// The scenario has freed all that it held: what is left is the allocator's own.
void Session::settleAndMeasureResidual() {
  simulated_metal::resumeGPU();
  synchronize(at::mps::SyncType::COMMIT_AND_WAIT);
  simulated_metal::waitIdle();
  pass(1);
  audit();
  tensors()->emptyCache();
  simulated_metal::waitIdle();
  pass(1);
  audit();
  residual_current_ = tensors()->getCurrentAllocatedMemory();
  residual_driver_ = tensors()->getDriverAllocatedMemory();
  if (residual_current_) {
    fault(Fault::Accounting, "everything was freed, and current allocated memory is not zero", residual_current_);
  }
  if (residual_driver_) {
    fault(Fault::State, "everything was freed, and empty_cache kept memory", residual_driver_);
  }
}

const char* Session::perform() {
  try {
    scenario_.run(*this);
    settleAndMeasureResidual();
    if (const auto access = simulated_metal::first_cpu_access_hazard(); !access.empty()) {
      fault(Fault::Hazard, access);
    }
    if (const uint64_t invalid = counters().invalid_commands) {
      count("invalid_commands", invalid);
      fault(Fault::UnexpectedError,
            std::to_string(invalid) + " commands were encoded with a range outside their buffer");
    }
    return faults_ ? "faulted" : "ok";
  } catch (const std::exception& error) {
    const std::string text = firstLine(error.what());
    const bool is_out_of_memory = text.find("out of memory") != std::string::npos;
    fault(is_out_of_memory ? Fault::OutOfMemory : Fault::UnexpectedError, text);
    return is_out_of_memory ? "out-of-memory" : "error";
  }
}

} // namespace umpatch
