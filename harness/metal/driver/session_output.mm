// What a session writes: a line when it begins, for each sample and each fault, and when it ends.
#include "session.h"
#include <simulated_metal/control.h>
#include <unistd.h>
#include "../audit/allocator_audit.h"
#include "output.h"

namespace umpatch {

using simulated_metal::counters;

void Session::sample() {
  const auto held = audit::holdings();
  const uint64_t current = tensors()->getCurrentAllocatedMemory();
  peak_current_ = std::max(peak_current_, current);
  peak_pending_ = std::max(peak_pending_, held.pending_bytes);
  auto& count = counters();
  writeLine(Json()
                .field("event", "sample")
                .field("step", step_)
                .field("current_bytes", current)
                .field("driver_bytes", tensors()->getDriverAllocatedMemory())
                .field("pending_bytes", held.pending_bytes)
                .field("time_ns", nanoseconds() - started_ns_)
                .field("allocations", count.size_queries.load())
                .field("new_buffers", count.heap_buffers_created.load())
                .field("commits", count.command_buffers_committed.load())
                .field("blocking_waits", count.blocking_waits.load()));
}

void Session::fault(Fault kind, const std::string& detail, uint64_t bytes) {
  heartbeat_++;
  faults_++;
  const uint64_t of_kind = ++faults_by_kind_[(int)kind];
  if (kind == Fault::Corruption || kind == Fault::WrongData || kind == Fault::Hazard) {
    corrupted_bytes_ += bytes;
  }
  constexpr uint64_t kMostOfAKind = 50; // the counters know them all
  if (of_kind <= kMostOfAKind) {
    writeLine(Json()
                  .field("event", "fault")
                  .field("kind", nameOf(kind))
                  .field("step", step_)
                  .field("detail", detail)
                  .field("bytes", bytes));
  }
}

void Session::begin() {
  Json settings;
  for (const auto& setting : simulated_metal::settings()) {
    settings.field(setting.name.c_str(), setting.value);
  }
  for (const auto& [name, value] : settings_) {
    settings.field(name.c_str(), value);
  }
  writeLine(Json()
                .field("event", "begin")
                .field("schema", "umpatch.driver/1")
                .field("scenario", scenario_.id)
                .field("seed", seed_)
                .field("steps", steps_)
                .object("settings", settings));
}

void Session::end(const char* outcome) {
  if (const uint64_t accesses = counters().cpu_access_hazards) {
    own_counters_["cpu_access_hazards"] = accesses;
  }
  auto& device = counters();
  const uint64_t allocations = device.size_queries;
  const uint64_t new_buffers = device.heap_buffers_created;
  Json all;
  all.field("allocations", allocations)
      .field("new_buffers", new_buffers)
      .field("reused", allocations > new_buffers ? allocations - new_buffers : 0)
      .field("heaps_created", device.heaps_created.load())
      .field("commits", device.command_buffers_committed.load())
      .field("blocking_waits", device.blocking_waits.load())
      .field("waits", device.waits.load())
      .field("throttled", device.throttled.load())
      .field("hazards", faults_by_kind_[(int)Fault::Hazard] + faults_by_kind_[(int)Fault::Corruption])
      .field("corrupted_bytes", corrupted_bytes_)
      .field("accounting_errors", faults_by_kind_[(int)Fault::Accounting] + faults_by_kind_[(int)Fault::State])
      .field("faults", faults_)
      .field("eligible_copies", copies_.eligible)
      .field("memcpy_copies", copies_.by_memcpy)
      .field("blit_copies", copies_.by_blit)
      .field("blocking_copy_waits", copies_.waits);
  if (measured_allocations_) {
    all.field("alloc_free_ns", allocation_ns_ / measured_allocations_);
  } else {
    all.null("alloc_free_ns");
  }
  if (counted_allocations_) {
    all.field("alloc_free_instructions", allocation_instructions_ / counted_allocations_);
  } else {
    all.null("alloc_free_instructions");
  }
  for (const auto& [name, value] : own_counters_) {
    all.field(name.c_str(), value);
  }
  writeLine(Json()
                .field("event", "end")
                .field("outcome", outcome)
                .field("peak_driver_bytes", device.peak_allocated_bytes.load())
                .field("peak_current_bytes", peak_current_)
                .field("peak_pending_bytes", peak_pending_)
                .field("residual_current_bytes", residual_current_)
                .field("residual_driver_bytes", residual_driver_)
                .object("counters", all));
}

int Session::run() {
  begin();
  end(perform());
  return 0;
}

void Session::giveUp(const std::string& why) {
  fault(Fault::Deadlock, why);
  end("faulted");
  _exit(0);
}

} // namespace umpatch
