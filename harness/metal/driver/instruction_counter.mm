// A child process runs the program; its parent single-steps the measured part (ptrace) and counts. The count is exact
// and the same in every run of a deterministic piece. Unlike callgrind's it has each repetition of a rep-prefixed
// instruction. Other threads of the child run free.
#include "instruction_counter.h"
#include <csignal>
#include <cstdlib>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

namespace umpatch {
namespace {

// Seen by both processes.
struct Shared {
  volatile bool traced;
  volatile bool counting;
  volatile uint64_t instructions;
};
Shared* shared = nullptr;

[[noreturn]] void endLike(int status) {
  if (WIFSIGNALED(status)) {
    signal(WTERMSIG(status), SIG_DFL);
    kill(getpid(), WTERMSIG(status));
  }
  _exit(WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILURE);
}

// The next stop of the child; its end is the end of this process.
int waitForStop(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, __WALL) < 0) {
  }
  if (!WIFSTOPPED(status)) {
    endLike(status);
  }
  return WSTOPSIG(status);
}

[[noreturn]] void watch(pid_t child) {
  int pending = waitForStop(child) == SIGSTOP ? 0 : SIGKILL;
  ptrace(PTRACE_SETOPTIONS, child, nullptr, PTRACE_O_EXITKILL);
  for (;;) {
    const bool stepping = shared->counting;
    ptrace(stepping ? PTRACE_SINGLESTEP : PTRACE_CONT, child, nullptr, pending);
    const int stopped_by = waitForStop(child);
    if (stepping) {
      shared->instructions = shared->instructions + 1;
    }
    // a step's end, or the request to begin; all else is the child's own
    pending = stopped_by == SIGTRAP ? 0 : stopped_by;
  }
}

uint64_t counted(const std::function<void()>& function) {
  shared->instructions = 0;
  shared->counting = true;
  raise(SIGTRAP);
  function();
  shared->counting = false;
  return shared->instructions;
}

} // namespace

void startInstructionCounter() {
  void* memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    return;
  }
  shared = static_cast<Shared*>(memory);
  const pid_t child = fork();
  if (child < 0) {
    return;
  }
  if (child == 0) {
    shared->traced = ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) == 0;
    if (shared->traced) {
      raise(SIGSTOP);
    }
    return;
  }
  // without tracing there is no first stop, and the child just runs to its end
  watch(child);
}

std::optional<uint64_t> countInstructions(const std::function<void()>& function) {
  if (!shared || !shared->traced) {
    return std::nullopt;
  }
  const uint64_t overhead = counted([] {});
  return counted(function) - overhead;
}

} // namespace umpatch
