// Mutexes and conditions as the scheduler keeps them: by address, and only while somebody holds or awaits them.
#include "threads.h"
#include "sanitizers.h"
#include <cstdio>
#include <cstring>

namespace explore::scheduler {
namespace {

constexpr int kMostHeld = 256;
constexpr int kMostNames = 16;

Held held[kMostHeld];
int held_count = 0; // entries beyond it were never used

struct Name {
  const void* mutex;
  const char* name;
};
Name names[kMostNames];
int name_count = 0;

Held* slot() {
  for (int i = 0; i < held_count; i++) {
    if (!held[i].mutex) {
      return &held[i];
    }
  }
  return held_count < kMostHeld ? &held[held_count++] : nullptr;
}

bool take(const void* mutex, bool recursive) {
  Held* found = findHeld(mutex);
  if (found) {
    if (found->owner != indexOf(current()) || !recursive) {
      return false;
    }
    found->depth++;
    return true;
  }
  found = slot();
  if (!found) {
    return false;
  }
  *found = {mutex, indexOf(current()), 1};
  return true;
}

void wakeWaiting(const void* mutex) {
  for (int i = 0; i < threadCount(); i++) {
    Thread* thread = byIndex(i);
    if (thread->state == State::WaitsForMutex && thread->waits_for == mutex) {
      wake(thread);
    }
  }
}

void lockQuietly(const void* mutex, bool recursive) {
  while (!take(mutex, recursive)) {
    block(State::WaitsForMutex, mutex, false);
  }
}

} // namespace

Held* findHeld(const void* mutex) {
  for (int i = 0; i < held_count; i++) {
    if (held[i].mutex == mutex) {
      return &held[i];
    }
  }
  return nullptr;
}

void lock(const void* mutex, bool recursive) {
  sanitizers::beforeLock(mutex, recursive);
  lockQuietly(mutex, recursive);
  sanitizers::afterLock(mutex, recursive);
}

bool tryLock(const void* mutex, bool recursive) {
  sanitizers::beforeTryLock(mutex, recursive);
  const bool locked = take(mutex, recursive);
  sanitizers::afterTryLock(mutex, recursive, locked);
  return locked;
}

bool unlock(const void* mutex) {
  Held* found = findHeld(mutex);
  if (!found) {
    return false;
  }
  sanitizers::beforeUnlock(mutex);
  if (--found->depth == 0) {
    found->mutex = nullptr;
    wakeWaiting(mutex);
  }
  sanitizers::afterUnlock(mutex);
  return true;
}

bool waitCondition(const void* condition, const void* mutex, bool has_deadline) {
  unlock(mutex);
  block(State::WaitsForCondition, condition, has_deadline);
  const bool timed_out = current()->timed_out;
  lock(mutex, false);
  return timed_out;
}

void signalCondition(const void* condition, bool all) {
  for (;;) {
    Thread* oldest = nullptr;
    for (int i = 0; i < threadCount(); i++) {
      Thread* thread = byIndex(i);
      if (thread->state == State::WaitsForCondition && thread->waits_for == condition &&
          (!oldest || thread->since < oldest->since)) {
        oldest = thread;
      }
    }
    if (!oldest) {
      return;
    }
    wake(oldest);
    if (!all) {
      return;
    }
  }
}

bool isLocked(const void* mutex) {
  return findHeld(mutex) != nullptr;
}

bool holds(const void* mutex) {
  const Held* found = findHeld(mutex);
  return found && found->owner == indexOf(current());
}

void nameMutex(const void* mutex, const char* name) {
  if (name_count < kMostNames) {
    names[name_count++] = {mutex, name};
  }
}

void nameOf(const void* mutex, char* text, size_t size) {
  for (int i = 0; i < name_count; i++) {
    if (names[i].mutex == mutex) {
      snprintf(text, size, "%s", names[i].name);
      return;
    }
  }
  snprintf(text, size, "a mutex of the runtime");
}

} // namespace explore::scheduler
