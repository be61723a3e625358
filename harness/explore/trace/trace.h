// What a run does: settings, operations by thread, and a schedule. A seed makes one; so does a file.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>
#include "../scheduler/scheduler.h"

namespace explore {

enum class Verb {
  Tensor,        // slot = a tensor of the device
  Pinned,        // slot = pinned memory, which the CPU writes at once
  Scalar,        // slot = a CPU scalar in the scalar pool
  FromHost,      // slot = a fresh tensor, copied from the host
  FromHostAsync, // the same with non_blocking; the host's tensor is gone at once
  Shaped,        // slot = a tensor of some dtype and shape, made or resized in one of several ways
  ToDevice,      // host tensor to an existing slot
  ToDeviceAsync,
  ToHost,        // slot to the host, checked
  ToHostAsync,   // the same with non_blocking, checked after a wait
  ToHostDropped, // with non_blocking, and the host's tensor is gone at once
  ViewToDevice,  // a view of some dtype, layout and lazy bits from the host into a slot's memory, all bytes checked
  ViewToHost,    // the same from a slot's memory
  Resize,        // of a view of a slot, beyond the end
  Fill,          // the GPU fills a slot
  Blit,          // the GPU copies a slot to another
  Kernel,        // the GPU reads a slot and writes another
  Commit,
  Wait, // commits and waits
  EmptyCache,
  FreeInactive,
  EventWait,   // records an event for a pinned slot, commits, waits for it, and the CPU reads the slot
  EventRecord, // records an event of the event pool, and synchronizes with it
  Shape,       // sets and reads a slot's shape
  Free,
  Pause, // time for others
};

struct Operation {
  Verb verb;
  uint32_t slot = 0;
  uint32_t other = 0;  // Blit, Kernel: the destination
  uint64_t number = 0; // bytes, how long, or what a choice is drawn from
};

// One run of a scenario of the native driver, instead of operations.
struct Case {
  std::string scenario; // empty: none
  uint64_t seed = 0;
  uint64_t steps = 0;
};

struct Trace {
  uint64_t seed = 0;
  Case scenario_case;
  std::map<std::string, std::string> settings;
  std::vector<std::vector<Operation>> threads;
  uint32_t rounds = 1;       // the operations of each thread are repeated so often; more than one: no growth is allowed
  bool waits = false;        // for the GPU after each round: then the CPU's memory must not grow either
  uint64_t refused_heap = 0; // the n-th new heap cannot be made; 0: all can
  Policy policy;             // without its list
  std::vector<Decision> decisions;

  size_t operations() const;
};

constexpr uint32_t kSlotsOfThread = 6;
constexpr uint32_t kMostWorkers = 4;

const char* wordOf(Verb verb);
// False where there is no such verb.
bool verbOf(const std::string& word, Verb& verb);
// What an operation takes.
bool hasNumber(Verb verb);
bool isChoice(Verb verb); // its number stands for many things at once
bool makesSlot(Verb verb);
bool hasSlot(Verb verb);
bool hasOther(Verb verb);

std::string slotName(uint32_t slot);
std::string print(const Operation& operation);
// A trace as text, and back. On a fault `error` says what, and the trace is empty.
std::string print(const Trace& trace);
Trace parse(const std::string& text, std::string& error);

// What is not left to the seed.
struct Fixed {
  std::map<std::string, std::string> settings;
  uint32_t workers = 0;           // 0: drawn
  std::vector<Verb> without;      // what no thread does
  std::vector<std::string> cases; // scenarios that some seeds stand for; none: all seeds stand for operations
};

// What a seed stands for.
Trace generate(uint64_t seed, const Fixed& fixed);

} // namespace explore
