// The scheduler's own view of threads and of what they wait for; for the files of this folder.
#pragma once
#include "scheduler.h"
#include <pthread.h>

namespace explore::scheduler {

enum class State { Runnable, WaitsForMutex, WaitsForCondition, WaitsForThread, Done };

struct Thread {
  int baton = 0; // a futex word: 1 is this thread's turn
  State state = State::Runnable;
  const void* waits_for = nullptr; // the mutex, the condition or the thread
  uint64_t since = 0;              // for the order of those that wait
  bool has_deadline = false;       // a wait that ends by itself
  bool timed_out = false;
  bool is_gpu = false;
  int alone = 0; // depth of scopes without a switch
  uint64_t priority = 0;
  const char* waits_name = nullptr; // what the runtime said it waits for
  const void* waits_what = nullptr;
  char name[32] = {};
  pthread_t handle{};
  void* result = nullptr;
};

// A mutex that somebody holds.
struct Held {
  const void* mutex = nullptr;
  int owner = -1;
  int depth = 0;
};

// Null outside of the scheduler's rule.
Thread* current();
Thread* byIndex(int index);
int indexOf(const Thread* thread);
// A new thread, which waits for its first turn; null when there are too many.
Thread* add();
// On a new thread, first of all.
void begin(Thread* self);
// On a thread that ends: never returns, so that destructors of thread-local objects do not run behind our back.
[[noreturn]] void end(void* result);
// Waits until somebody makes this thread runnable again.
void block(State state, const void* what, bool has_deadline);
void wake(Thread* thread);

// Mutexes, by address; see locks.cpp.
Held* findHeld(const void* mutex);
void lock(const void* mutex, bool recursive);
bool tryLock(const void* mutex, bool recursive);
// False when the mutex is not one that was locked here.
bool unlock(const void* mutex);
// Gives up the mutex, waits, and takes it again; true when it ended by its deadline.
bool waitCondition(const void* condition, const void* mutex, bool has_deadline);
void signalCondition(const void* condition, bool all);
void nameOf(const void* mutex, char* text, size_t size);

// What the runtime told about queues and command buffers; see reasons.cpp.
void owns(const void* what, const char* name);
void givesUp(const void* what);
void waits(const void* what, const char* name);
void goesOn();
// Who holds what and waits for whom, with the cycle if there is one.
const char* explainBlocked();

} // namespace explore::scheduler
