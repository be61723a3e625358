// Counts the instructions of a piece of the program, on machines without a performance counter too.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>

namespace umpatch {

// Call it before there are threads: goes on in a child process, which the first process watches and ends like.
void startInstructionCounter();

// Runs the function on this thread, instruction by instruction, and returns how many there were: tens of thousands of
// times slower than plain. Nothing where the counter was not started or the system allows no tracing.
std::optional<uint64_t> countInstructions(const std::function<void()>& function);

} // namespace umpatch
