// See scheduler.h: the baton, and the choice of the next thread.
#include "threads.h"
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <climits>
#include <cstdio>
#include <cstring>

namespace explore::scheduler {
namespace {

constexpr uint64_t kExpectedSteps = 4000; // where priorities change, at random

Thread threads[kMostThreads];
int thread_count = 0;
__thread Thread* self = nullptr;
bool preempting = false;
Policy policy;
uint64_t step_count = 0;
uint64_t most_steps = 0;
uint64_t order = 0;
Record record;
size_t next_decision = 0;
uint64_t random_state = 0;
uint64_t changes[16];

uint64_t random64() { // splitmix64
  uint64_t z = (random_state += 0x9e3779b97f4a7c15ull);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

void wait(Thread* thread) {
  while (__atomic_load_n(&thread->baton, __ATOMIC_ACQUIRE) == 0) {
    syscall(SYS_futex, &thread->baton, FUTEX_WAIT_PRIVATE, 0, nullptr, nullptr, 0);
  }
  __atomic_store_n(&thread->baton, 0, __ATOMIC_RELAXED);
}

void give(Thread* thread) {
  __atomic_store_n(&thread->baton, 1, __ATOMIC_RELEASE);
  syscall(SYS_futex, &thread->baton, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

// Who goes on without a decision: whoever runs, else the lowest that can.
Thread* expected() {
  if (self->state == State::Runnable) {
    return self;
  }
  for (int i = 0; i < thread_count; i++) {
    if (threads[i].state == State::Runnable) {
      return &threads[i];
    }
  }
  return nullptr;
}

Thread* byWeight() {
  uint64_t total = 0;
  for (int i = 0; i < thread_count; i++) {
    if (threads[i].state == State::Runnable) {
      total += threads[i].is_gpu ? policy.gpu_weight : 100;
    }
  }
  if (!total) {
    return expected();
  }
  uint64_t at = random64() % total;
  for (int i = 0; i < thread_count; i++) {
    if (threads[i].state == State::Runnable) {
      const uint64_t weight = threads[i].is_gpu ? policy.gpu_weight : 100;
      if (at < weight) {
        return &threads[i];
      }
      at -= weight;
    }
  }
  return expected();
}

Thread* byPriority() {
  for (uint32_t i = 0; i < policy.changes; i++) {
    if (changes[i] == step_count) {
      self->priority = i; // below all that nobody lowered
    }
  }
  Thread* best = nullptr;
  for (int i = 0; i < thread_count; i++) {
    if (threads[i].state == State::Runnable && (!best || threads[i].priority > best->priority)) {
      best = &threads[i];
    }
  }
  return best;
}

Thread* byList() {
  while (next_decision < policy.decision_count && policy.decisions[next_decision].step < step_count) {
    next_decision++;
  }
  if (next_decision < policy.decision_count && policy.decisions[next_decision].step == step_count) {
    Thread* thread = byIndex((int)policy.decisions[next_decision++].thread);
    if (thread && thread->state == State::Runnable) {
      return thread;
    }
  }
  return expected();
}

Thread* choose() {
  if (!preempting) {
    return expected();
  }
  Thread* next = nullptr;
  switch (policy.kind) {
    case Policy::Kind::Random: {
      const bool stays = self->state == State::Runnable && random64() % 1000 >= policy.switch_per_mille;
      next = stays ? self : byWeight();
      break;
    }
    case Policy::Kind::Priorities:
      next = byPriority();
      break;
    case Policy::Kind::Explicit:
      next = byList();
      break;
  }
  if (next != expected() && *record.count < record.capacity) {
    record.decisions[(*record.count)++] = {(uint32_t)step_count, (uint32_t)indexOf(next)};
  }
  return next;
}

// The wait with the oldest deadline ends when nothing else can go on.
bool endOneDeadline() {
  Thread* oldest = nullptr;
  for (int i = 0; i < thread_count; i++) {
    Thread& thread = threads[i];
    if (thread.state == State::WaitsForCondition && thread.has_deadline && (!oldest || thread.since < oldest->since)) {
      oldest = &thread;
    }
  }
  if (!oldest) {
    return false;
  }
  oldest->timed_out = true;
  wake(oldest);
  return true;
}

void switchTo(Thread* next, const char* where) {
  if (next == self) {
    return;
  }
  if (alarms().switched) {
    alarms().switched(step_count, indexOf(self), indexOf(next), where);
  }
  give(next);
  wait(self);
}

void count() {
  *record.steps = ++step_count;
  if (step_count == most_steps && alarms().endless) {
    char text[96];
    snprintf(text, sizeof text, "no end after %llu steps", (unsigned long long)step_count);
    alarms().endless(text);
  }
}

} // namespace

Thread* current() {
  return self;
}

Thread* byIndex(int index) {
  return index >= 0 && index < thread_count ? &threads[index] : nullptr;
}

int indexOf(const Thread* thread) {
  return thread ? (int)(thread - threads) : -1;
}

Thread* add() {
  if (thread_count == kMostThreads) {
    return nullptr;
  }
  Thread* thread = &threads[thread_count++];
  *thread = Thread{};
  thread->priority = 1000 + random64() % 1000000;
  snprintf(thread->name, sizeof thread->name, "thread %d", thread_count - 1);
  return thread;
}

void begin(Thread* thread) {
  self = thread;
  wait(thread);
}

void end(void* result) {
  self->result = result;
  for (int i = 0; i < thread_count; i++) {
    if (threads[i].state == State::WaitsForThread && threads[i].waits_for == self) {
      wake(&threads[i]);
    }
  }
  block(State::Done, nullptr, false);
  for (;;) {
    pause();
  }
}

void block(State state, const void* what, bool has_deadline) {
  self->state = state;
  self->waits_for = what;
  self->since = ++order;
  self->has_deadline = has_deadline;
  self->timed_out = false;
  count();
  Thread* next = choose();
  if (!next && endOneDeadline()) {
    next = choose();
  }
  if (!next) {
    if (alarms().deadlock) {
      alarms().deadlock(explainBlocked());
    }
    _exit(97);
  }
  switchTo(next, "waits");
}

void wake(Thread* thread) {
  thread->state = State::Runnable;
  thread->waits_for = nullptr;
}

void start(const Policy& wanted, uint64_t most, const Record& kept) {
  policy = wanted;
  record = kept;
  most_steps = most;
  random_state = policy.seed;
  if (policy.changes > 16) {
    policy.changes = 16;
  }
  for (uint32_t i = 0; i < policy.changes; i++) {
    changes[i] = random64() % kExpectedSteps;
  }
  self = add();
  snprintf(self->name, sizeof self->name, "main");
}

void preempt() {
  preempting = true;
  step_count = 0;
}

void step(const char* where) {
  if (!self || !preempting || self->alone) {
    return;
  }
  count();
  switchTo(choose(), where);
}

void nameThread(const char* name) {
  if (self) {
    snprintf(self->name, sizeof self->name, "%s", name);
    self->is_gpu = strcmp(name, "GPU") == 0;
  }
}

int currentThread() {
  return indexOf(self);
}

const char* threadName(int index) {
  Thread* thread = byIndex(index);
  return thread ? thread->name : "nobody";
}

int threadCount() {
  return thread_count;
}

uint64_t steps() {
  return step_count;
}

Alone::Alone() {
  if (self) {
    self->alone++;
  }
}
Alone::~Alone() {
  if (self) {
    self->alone--;
  }
}

Alarms& alarms() {
  static Alarms all;
  return all;
}

} // namespace explore::scheduler
