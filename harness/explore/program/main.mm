// The explorer: a seed decides everything, and one that fails is made small.
#import <Foundation/Foundation.h>
#include <sys/personality.h>
#include <unistd.h>
#include <cstdio>
#include <cstdlib>
#include <malloc.h>
#include "../trace/trace.h"
#include "../world/run.h"
#include "explore.h"
#include "zygote.h"

namespace {

// The same addresses in each run: pools are ordered by them.
void fixAddresses(char** values) {
  const int before = personality(0xffffffff);
  if (before == -1 || before & ADDR_NO_RANDOMIZE || getenv("UMPATCH_EXPLORER_STARTED")) {
    return;
  }
  setenv("UMPATCH_EXPLORER_STARTED", "1", 1); // once, even where it has no effect
  setenv("LD_BIND_NOW", "1", 1);              // once, and not again in each copy of this process
  if (personality((unsigned long)before | ADDR_NO_RANDOMIZE) != -1) {
    execv("/proc/self/exe", values);
  }
}

} // namespace

int main(int count, char** values) {
  fixAddresses(values);
  mallopt(M_ARENA_MAX, 1); // one order of allocations, whichever thread makes them
  explore::warmUp();
  explore::Zygote::prepare();
  @autoreleasepool {
    const explore::Arguments arguments = explore::parseArguments(count, values);
    if (arguments.show) {
      fputs(print(explore::generate(arguments.first, arguments.fixed)).c_str(), stdout);
      return 0;
    }
    return explore::explore(arguments);
  }
}
