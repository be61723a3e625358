// Which mutant runs: UMPATCH_MUTANT names it by number, none without it. UMPATCH_MUTANTS_REACHED names a file in which a byte
// for each number says whether its place was reached.
#ifndef UMPATCH_MUTANTS_PRELUDE
#define UMPATCH_MUTANTS_PRELUDE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
namespace umpatch_mutants {
constexpr unsigned kMost = 1 << 16;
inline unsigned chosen = 0;
inline unsigned char* reached = nullptr;

inline bool is(unsigned number) {
  if (__builtin_expect(reached != nullptr, 0)) {
    reached[number % kMost] = 1;
  }
  return __builtin_expect(chosen == number, 0);
}

// before anything else of the program: places in static initialisers count too
__attribute__((constructor(101))) static void choose() {
  if (const char* number = getenv("UMPATCH_MUTANT")) {
    chosen = (unsigned)strtoul(number, nullptr, 10);
  }
  const char* path = getenv("UMPATCH_MUTANTS_REACHED");
  if (!path || reached) {
    return;
  }
  const int file = open(path, O_RDWR | O_CREAT, 0600);
  if (file >= 0 && ftruncate(file, kMost) == 0) {
    void* memory = mmap(nullptr, kMost, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    reached = memory == MAP_FAILED ? nullptr : (unsigned char*)memory;
  }
  close(file);
}
} // namespace umpatch_mutants

// for a process that was forked from one in which no mutant was chosen
extern "C" __attribute__((weak)) void umpatch_begin_again() {
  umpatch_mutants::choose();
}
#endif
