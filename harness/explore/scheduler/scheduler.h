// One thread runs at a time, and a seed says which. The program's threads are real ones (so that thread-local state,
// autorelease pools and exceptions are what they always are); they hand a baton on, at every lock, condition, dispatch
// and Metal call. Nothing here allocates memory: what the program under test gets from malloc is then the same in each
// run.
#pragma once
#include <cstddef>
#include <cstdint>

namespace explore {

constexpr int kMostThreads = 64;

// Another thread than the expected one (the one that runs, or else the lowest that can) goes on at this step.
struct Decision {
  uint32_t step;
  uint32_t thread;
};

// How the next thread is chosen.
struct Policy {
  enum class Kind {
    Random,     // at each step another thread goes on with a probability; the GPU with a weight of its own
    Priorities, // threads have priorities, which change at a few steps (probabilistic concurrency testing)
    Explicit,   // as a list of decisions says
  };
  Kind kind = Kind::Random;
  uint64_t seed = 0;
  uint32_t switch_per_mille = 100; // Random
  uint32_t gpu_weight = 100;       // Random: 100 is as often as any other thread
  uint32_t changes = 3;            // Priorities
  const Decision* decisions = nullptr;
  size_t decision_count = 0;
};

namespace scheduler {

// Where the decisions that are taken go, as they are taken: a crash must not lose them.
struct Record {
  Decision* decisions;
  size_t capacity;
  uint64_t* count;
  uint64_t* steps;
};

// Takes over: the calling thread is thread 0, and the only one that runs until preempt().
void start(const Policy& policy, uint64_t most_steps, const Record& record);
// From here on threads switch.
void preempt();
// Where threads may switch. Does nothing outside of start().
void step(const char* where);
// Names the calling thread, for people and for the weight of the GPU.
void nameThread(const char* name);
int currentThread();
const char* threadName(int thread);
int threadCount();
uint64_t steps();
// True while some thread holds this mutex.
bool isLocked(const void* mutex);
// True while the calling thread does.
bool holds(const void* mutex);
// A name for a mutex, for people.
void nameMutex(const void* mutex, const char* name);

// No switch in this scope (a thread that has to wait still lets others go on).
class Alone {
 public:
  Alone();
  ~Alone();
  Alone(const Alone&) = delete;
  Alone& operator=(const Alone&) = delete;
};

// Called when no thread can go on, and when the most steps are done: they report and do not return.
struct Alarms {
  void (*deadlock)(const char* explanation) = nullptr;
  void (*endless)(const char* explanation) = nullptr;
  // Each switch of threads: from, to, at which place.
  void (*switched)(uint64_t step, int from, int to, const char* where) = nullptr;
};
Alarms& alarms();

} // namespace scheduler
} // namespace explore
