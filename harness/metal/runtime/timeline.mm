// See timeline.h. With the virtual clock nothing completes between two calls of advance() unless somebody blocks for
// it, which makes every retain count that a single-threaded program reads the same in each run.
#include "timeline.h"
#include "dispatch_queue.h"
#include <simulated_metal/control.h>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

namespace simulated_metal {
namespace timeline {
namespace {

struct State {
  std::mutex mutex;
  std::condition_variable changed;
  uint64_t now_us = 0;
  uint64_t last_end_us = 0;
  std::deque<uint64_t> uncompleted; // end times, in order of commit
  std::deque<std::function<void()>> postponed;
  bool paused = false;
};

State& state() {
  static State* only = new State; // the GPU's thread may outlive static destructors
  return *only;
}

bool isVirtual() {
  return configuration().clock == Clock::Virtual;
}

void runPostponed() {
  std::deque<std::function<void()>> actions;
  {
    std::lock_guard<std::mutex> lock(state().mutex);
    actions.swap(state().postponed);
  }
  for (auto& action : actions) {
    action();
  }
}

void passUntil(uint64_t time_us) {
  {
    std::lock_guard<std::mutex> lock(state().mutex);
    state().now_us = std::max(state().now_us, time_us);
  }
  state().changed.notify_all();
}

} // namespace

Ticket commit(uint64_t cost_us) {
  auto& s = state();
  std::lock_guard<std::mutex> lock(s.mutex);
  // at least 1 us, so that a commit alone never lets its command buffer complete
  s.last_end_us = std::max(s.now_us, s.last_end_us) + std::max<uint64_t>(cost_us, 1);
  s.uncompleted.push_back(s.last_end_us);
  return {s.last_end_us};
}

void waitUntilDue(const Ticket& ticket, uint64_t cost_us) {
  auto& s = state();
  {
    std::unique_lock<std::mutex> lock(s.mutex);
    s.changed.wait(lock, [&] { return !s.paused && (!isVirtual() || s.now_us >= ticket.end_us); });
  }
  if (!isVirtual() && cost_us) {
    std::this_thread::sleep_for(std::chrono::microseconds(cost_us));
  }
}

void complete(const Ticket&, const std::function<void()>& publish) {
  {
    std::lock_guard<std::mutex> lock(state().mutex);
    publish();
    state().uncompleted.pop_front();
  }
  state().changed.notify_all();
}

void demand(const Ticket& ticket) {
  if (isVirtual()) {
    passUntil(ticket.end_us);
  }
}

void demandOldest() {
  auto& s = state();
  uint64_t end_us = 0;
  {
    std::lock_guard<std::mutex> lock(s.mutex);
    end_us = s.uncompleted.empty() ? 0 : s.uncompleted.front();
  }
  demand({end_us});
}

void later(std::function<void()> action) {
  std::lock_guard<std::mutex> lock(state().mutex);
  state().postponed.push_back(std::move(action));
}

void letPass() {
  if (!isVirtual()) {
    std::this_thread::sleep_for(std::chrono::microseconds(200));
    runPostponed();
  }
}

double seconds() {
  if (isVirtual()) {
    std::lock_guard<std::mutex> lock(state().mutex);
    return (double)state().now_us * 1e-6;
  }
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

} // namespace timeline

using timeline::isVirtual;
using timeline::state;

void pauseGPU() {
  std::lock_guard<std::mutex> lock(state().mutex);
  state().paused = true;
}

void resumeGPU() {
  {
    std::lock_guard<std::mutex> lock(state().mutex);
    state().paused = false;
  }
  state().changed.notify_all();
}

void waitIdle() {
  timeline::runPostponed();
  dispatch_queue::waitUntilDrained();
  auto& s = state();
  std::unique_lock<std::mutex> lock(s.mutex);
  s.now_us = std::max(s.now_us, s.last_end_us);
  s.changed.notify_all();
  s.changed.wait(lock, [&] { return s.uncompleted.empty(); });
  lock.unlock();
  timeline::runPostponed();
}

void advance(uint64_t microseconds) {
  if (!isVirtual()) {
    return;
  }
  timeline::runPostponed();
  dispatch_queue::waitUntilDrained();
  auto& s = state();
  std::unique_lock<std::mutex> lock(s.mutex);
  s.now_us += microseconds;
  s.changed.notify_all();
  s.changed.wait(lock, [&] { return s.paused || s.uncompleted.empty() || s.uncompleted.front() > s.now_us; });
}

bool busy() {
  std::lock_guard<std::mutex> lock(state().mutex);
  return !state().uncompleted.empty();
}

} // namespace simulated_metal
