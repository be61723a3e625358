// The GPU's time: when a committed command buffer may run.
#pragma once
#include <cstdint>
#include <functional>

namespace simulated_metal::timeline {

// When a command buffer ends in virtual time. Command buffers run one after the other, as on one hardware queue.
struct Ticket {
  uint64_t end_us = 0;
};

// A command buffer of that cost was committed.
Ticket commit(uint64_t cost_us);
// On the GPU's thread: returns when the command buffer may run (and, with the wall clock, has taken its time).
void waitUntilDue(const Ticket& ticket, uint64_t cost_us);
// It ran, with its handlers. What the caller publishes about that becomes visible together with the completion: nobody
// sees the one without the other.
void complete(const Ticket& ticket, const std::function<void()>& publish);
// Somebody is about to block until this ticket completes: virtual time passes until then.
void demand(const Ticket& ticket);
// Somebody is about to block until the oldest uncompleted command buffer completes.
void demandOldest();
// Something that happens when the program next lets time pass.
void later(std::function<void()> action);
// On the GPU's thread: with the wall clock a little time passes.
void letPass();
// Seconds, for GPUStartTime and its kin.
double seconds();

} // namespace simulated_metal::timeline
