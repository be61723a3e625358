// Makes a failing trace small: fewer operations, default settings, fewer decisions, as long as it fails the same way.
#pragma once
#include "../trace/trace.h"
#include "zygote.h"

namespace explore {

struct Shrunk {
  Trace trace;
  Outcome outcome;
  std::string log; // the interleaving, a line for each operation and switch
  uint64_t runs = 0;
  bool replays = false; // the original failed the same way again, with the same fingerprint
};

// `most_runs` bounds the work.
Shrunk shrink(Zygote& zygote, const Trace& failing, const Outcome& outcome, uint64_t fingerprint, uint64_t most_runs);

} // namespace explore
