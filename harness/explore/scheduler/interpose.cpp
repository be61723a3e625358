// The pthread functions of the whole program, its libraries included: this file's definitions come first. Outside of
// the scheduler's rule they do what they always do.
#include "threads.h"
#include "sanitizers.h"
#include <dlfcn.h>
#include <errno.h>
#include <time.h>
#include <unistd.h>
#include <cstdint>

using namespace explore::scheduler;

extern "C" {
extern char __executable_start;
extern char etext;
// a sanitizer's own, where the program has one
int __interceptor_pthread_create(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*) __attribute__((weak));
}

namespace {

template <typename F>
F real(F& kept, const char* name) {
  F found = __atomic_load_n(&kept, __ATOMIC_RELAXED);
  if (!found) {
    found = reinterpret_cast<F>(dlsym(RTLD_NEXT, name));
    __atomic_store_n(&kept, found, __ATOMIC_RELAXED);
  }
  return found;
}
// The next definition of a function of this name, found once.
#define REAL(name)                         \
  ([] {                                    \
    static decltype(&name) kept = nullptr; \
    return real(kept, #name);              \
  }())

// Threads switch where the program's own code locks, not where a library does.
bool isOurs(const void* caller) {
  return (const char*)caller >= &__executable_start && (const char*)caller < &etext;
}
#define STEP_IF_OURS(where)                    \
  do {                                         \
    if (isOurs(__builtin_return_address(0))) { \
      explore::scheduler::step(where);         \
    }                                          \
  } while (0)

bool isRecursive(const pthread_mutex_t* mutex) {
  return (mutex->__data.__kind & 3) == PTHREAD_MUTEX_RECURSIVE;
}

struct Start {
  Thread* thread;
  void* (*function)(void*);
  void* argument;
};

void* run(void* raw) {
  begin(static_cast<Start*>(raw)->thread); // before anything else: freeing memory is an event too
  const Start start = *static_cast<Start*>(raw);
  delete static_cast<Start*>(raw);
  void* result = start.function(start.argument);
  explore::sanitizers::publish(start.thread);
  end(result);
}

} // namespace

extern "C" {

int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  if (!current()) {
    return REAL(pthread_mutex_lock)(mutex);
  }
  STEP_IF_OURS("lock");
  lock(mutex, isRecursive(mutex));
  return 0;
}

int pthread_mutex_trylock(pthread_mutex_t* mutex) noexcept {
  if (!current()) {
    return REAL(pthread_mutex_trylock)(mutex);
  }
  STEP_IF_OURS("try lock");
  return tryLock(mutex, isRecursive(mutex)) ? 0 : EBUSY;
}

int pthread_mutex_unlock(pthread_mutex_t* mutex) noexcept {
  if (!current() || !unlock(mutex)) {
    return REAL(pthread_mutex_unlock)(mutex);
  }
  STEP_IF_OURS("unlock");
  return 0;
}

int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  if (!current()) {
    return REAL(pthread_cond_wait)(condition, mutex);
  }
  waitCondition(condition, mutex, false);
  return 0;
}

int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex, const struct timespec* deadline) {
  if (!current()) {
    return REAL(pthread_cond_timedwait)(condition, mutex, deadline);
  }
  return waitCondition(condition, mutex, true) ? ETIMEDOUT : 0;
}

int pthread_cond_clockwait(pthread_cond_t* condition,
                           pthread_mutex_t* mutex,
                           clockid_t clock,
                           const struct timespec* deadline) {
  if (!current()) {
    return REAL(pthread_cond_clockwait)(condition, mutex, clock, deadline);
  }
  return waitCondition(condition, mutex, true) ? ETIMEDOUT : 0;
}

int pthread_cond_signal(pthread_cond_t* condition) noexcept {
  if (!current()) {
    return REAL(pthread_cond_signal)(condition);
  }
  signalCondition(condition, false);
  return 0;
}

int pthread_cond_broadcast(pthread_cond_t* condition) noexcept {
  if (!current()) {
    return REAL(pthread_cond_broadcast)(condition);
  }
  signalCondition(condition, true);
  return 0;
}

int pthread_once(pthread_once_t* once, void (*routine)()) {
  Alone alone; // another thread that came to it would wait outside of the scheduler
  return REAL(pthread_once)(once, routine);
}

int pthread_create(pthread_t* handle,
                   const pthread_attr_t* attributes,
                   void* (*function)(void*),
                   void* argument) noexcept {
  const auto create = __interceptor_pthread_create ? &__interceptor_pthread_create : REAL(pthread_create);
  if (!current()) {
    return create(handle, attributes, function, argument);
  }
  Thread* thread = add();
  if (!thread) {
    return EAGAIN;
  }
  const int status = create(handle, attributes, run, new Start{thread, function, argument});
  thread->handle = *handle;
  return status;
}

int pthread_join(pthread_t handle, void** result) {
  if (!current()) {
    return REAL(pthread_join)(handle, result);
  }
  for (int i = 0; i < threadCount(); i++) {
    Thread* thread = byIndex(i);
    if (i && pthread_equal(thread->handle, handle)) {
      while (thread->state != State::Done) {
        block(State::WaitsForThread, thread, false);
      }
      explore::sanitizers::receive(thread);
      if (result) {
        *result = thread->result;
      }
      return 0;
    }
  }
  return ESRCH;
}

int nanosleep(const struct timespec* time, struct timespec* rest) {
  if (!current()) {
    return REAL(nanosleep)(time, rest);
  }
  step("sleep"); // time passes as the schedule says
  return 0;
}

int usleep(useconds_t time) {
  if (!current()) {
    return REAL(usleep)(time);
  }
  step("sleep");
  return 0;
}

} // extern "C"
