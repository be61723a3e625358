// Why nobody can go on: who holds what, who waits for whom, and the cycle.
#include "threads.h"
#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace explore::scheduler {
namespace {

struct Owned {
  const void* what = nullptr;
  const char* name = nullptr;
  int owner = -1;
};
constexpr int kMostOwned = 128;
Owned owned[kMostOwned];

char explanation[4096];
size_t written = 0;

__attribute__((format(printf, 1, 2))) void say(const char* format, ...) {
  if (written >= sizeof explanation) {
    return;
  }
  va_list arguments;
  va_start(arguments, format);
  const int length = vsnprintf(explanation + written, sizeof explanation - written, format, arguments);
  va_end(arguments);
  written += length > 0 ? (size_t)length : 0;
}

// The thread that has what this one waits for, or -1; and what that is, in words.
int awaited(const Thread* thread, char* words, size_t size) {
  char name[96];
  if (thread->state == State::WaitsForMutex) {
    const Held* mutex = findHeld(thread->waits_for);
    nameOf(thread->waits_for, name, sizeof name);
    snprintf(words, size, "the mutex %s", name);
    return mutex ? mutex->owner : -1;
  }
  if (thread->state == State::WaitsForThread) {
    snprintf(words, size, "the end of %s", static_cast<const Thread*>(thread->waits_for)->name);
    return indexOf(static_cast<const Thread*>(thread->waits_for));
  }
  if (thread->waits_what) {
    snprintf(words, size, "'%s'", thread->waits_name);
    for (const Owned& entry : owned) {
      if (entry.what == thread->waits_what) {
        return entry.owner;
      }
    }
    return -1;
  }
  snprintf(words, size, "a condition");
  return -1;
}

bool isIdle(const Thread* thread) {
  return thread->state == State::WaitsForCondition && !thread->waits_what;
}

void sayCycle() {
  for (int first = 0; first < threadCount(); first++) {
    int at = first;
    for (int i = 0; i <= threadCount() && at >= 0; i++) {
      char words[160];
      at = byIndex(at)->state == State::Done ? -1 : awaited(byIndex(at), words, sizeof words);
      if (at == first) {
        say("the cycle: ");
        do {
          const int next = awaited(byIndex(at), words, sizeof words);
          say("%s waits for %s, which %s has; ", threadName(at), words, threadName(next));
          at = next;
        } while (at != first);
        return;
      }
    }
  }
  say("no cycle among the threads: what they wait for never comes; ");
}

} // namespace

void owns(const void* what, const char* name) {
  for (Owned& entry : owned) {
    if (!entry.what) {
      entry = {what, name, indexOf(current())};
      return;
    }
  }
}

void givesUp(const void* what) {
  for (Owned& entry : owned) {
    if (entry.what == what && entry.owner == indexOf(current())) {
      entry = {};
      return;
    }
  }
}

void waits(const void* what, const char* name) {
  if (Thread* thread = current()) {
    thread->waits_what = what;
    thread->waits_name = name;
  }
}

void goesOn() {
  if (Thread* thread = current()) {
    thread->waits_what = nullptr;
    thread->waits_name = nullptr;
  }
}

const char* explainBlocked() {
  written = 0;
  explanation[0] = 0;
  sayCycle();
  for (int i = 0; i < threadCount(); i++) {
    const Thread* thread = byIndex(i);
    if (thread->state == State::Done || isIdle(thread)) {
      continue;
    }
    char words[160];
    awaited(thread, words, sizeof words);
    say("%s waits for %s; ", thread->name, words);
  }
  return explanation;
}

} // namespace explore::scheduler
