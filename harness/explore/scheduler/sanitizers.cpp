// See sanitizers.h. This file is compiled without instrumentation, as the whole folder; the interface is there when the
// program is linked with ThreadSanitizer.
#include "sanitizers.h"

extern "C" {
void __tsan_mutex_pre_lock(void* address, unsigned flags) __attribute__((weak));
void __tsan_mutex_post_lock(void* address, unsigned flags, int recursion) __attribute__((weak));
int __tsan_mutex_pre_unlock(void* address, unsigned flags) __attribute__((weak));
void __tsan_mutex_post_unlock(void* address, unsigned flags) __attribute__((weak));
void __tsan_acquire(void* address) __attribute__((weak));
void __tsan_release(void* address) __attribute__((weak));
}

namespace explore::sanitizers {
namespace {

// from sanitizer/tsan_interface.h
constexpr unsigned kWriteReentrant = 1 << 1;
constexpr unsigned kTryLock = 1 << 4;
constexpr unsigned kTryLockFailed = 1 << 5;

unsigned flags(bool recursive) {
  return recursive ? kWriteReentrant : 0;
}

} // namespace

void beforeLock(const void* mutex, bool recursive) {
  if (__tsan_mutex_pre_lock) {
    __tsan_mutex_pre_lock((void*)mutex, flags(recursive));
  }
}
void afterLock(const void* mutex, bool recursive) {
  if (__tsan_mutex_post_lock) {
    __tsan_mutex_post_lock((void*)mutex, flags(recursive), 0);
  }
}
void beforeTryLock(const void* mutex, bool recursive) {
  if (__tsan_mutex_pre_lock) {
    __tsan_mutex_pre_lock((void*)mutex, flags(recursive) | kTryLock);
  }
}
void afterTryLock(const void* mutex, bool recursive, bool locked) {
  if (__tsan_mutex_post_lock) {
    __tsan_mutex_post_lock((void*)mutex, flags(recursive) | kTryLock | (locked ? 0 : kTryLockFailed), 0);
  }
}
void beforeUnlock(const void* mutex) {
  if (__tsan_mutex_pre_unlock) {
    __tsan_mutex_pre_unlock((void*)mutex, 0);
  }
}
void afterUnlock(const void* mutex) {
  if (__tsan_mutex_post_unlock) {
    __tsan_mutex_post_unlock((void*)mutex, 0);
  }
}
void publish(const void* what) {
  if (__tsan_release) {
    __tsan_release((void*)what);
  }
}
void receive(const void* what) {
  if (__tsan_acquire) {
    __tsan_acquire((void*)what);
  }
}

} // namespace explore::sanitizers
