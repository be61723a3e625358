// For a program that decides about threads and failures itself: the runtime tells where it is. All are null unless
// such a program sets them, before the device is first used.
#pragma once
#include <cstddef>
#include <cstdint>

namespace simulated_metal::hooks {

struct Hooks {
  // Another thread may go on here: the runtime is about to look at, or has just changed, something that others see.
  void (*step)(const char* where) = nullptr;
  // The calling thread begins; its name is for people, but for "GPU".
  void (*thread)(const char* name) = nullptr;
  // The calling thread looks at a heap's room, or takes some of it.
  void (*heap)() = nullptr;
  // True when this heap cannot be made.
  bool (*refuse_heap)(uint64_t bytes) = nullptr;
  // The calling thread owns something that others wait for (a serial queue), and does so no longer.
  void (*owns)(const void* what, const char* name) = nullptr;
  void (*gives_up)(const void* what) = nullptr;
  // The calling thread is going to wait for it, and no longer does.
  void (*waits)(const void* what, const char* name) = nullptr;
  void (*goes_on)() = nullptr;
};
Hooks& all();

inline void step(const char* where) {
  if (all().step) {
    all().step(where);
  }
}
inline void thread(const char* name) {
  if (all().thread) {
    all().thread(name);
  }
}
inline void heap() {
  if (all().heap) {
    all().heap();
  }
}
inline bool refusesHeap(uint64_t bytes) {
  return all().refuse_heap && all().refuse_heap(bytes);
}

// For the length of a scope.
class Owning {
 public:
  Owning(const void* what, const char* name) : what_(what) {
    if (all().owns) {
      all().owns(what, name);
    }
  }
  ~Owning() {
    if (all().gives_up) {
      all().gives_up(what_);
    }
  }
  Owning(const Owning&) = delete;
  Owning& operator=(const Owning&) = delete;

 private:
  const void* what_;
};

class Waiting {
 public:
  Waiting(const void* what, const char* name) {
    if (all().waits) {
      all().waits(what, name);
    }
  }
  ~Waiting() {
    if (all().goes_on) {
      all().goes_on();
    }
  }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;
};

} // namespace simulated_metal::hooks
