// What is logged: by MPSProfiler of a copy (the way that it went, its two ends, its length), and by the allocator of
// what is left when its cache was emptied.
#include <ATen/mps/MPSProfiler.h>
#include <fcntl.h>
#include <unistd.h>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include "../tensors.h"

namespace umpatch {
namespace {

using at::mps::SyncType;

// Catches what is written to standard error as long as it lives.
class Caught {
 public:
  Caught() : file_(std::tmpfile()), before_(dup(STDERR_FILENO)) {
    fflush(stderr);
    TORCH_CHECK(file_ && before_ >= 0, "cannot catch standard error");
    dup2(fileno(file_), STDERR_FILENO);
  }
  ~Caught() {
    fflush(stderr);
    dup2(before_, STDERR_FILENO);
    close(before_);
    fclose(file_);
  }
  Caught(const Caught&) = delete;
  Caught& operator=(const Caught&) = delete;

  std::string text() {
    fflush(stderr);
    std::string all((size_t)lseek(fileno(file_), 0, SEEK_END), ' ');
    all.resize((size_t)std::max<ssize_t>(0, pread(fileno(file_), all.data(), all.size(), 0)));
    return all;
  }

 private:
  FILE* file_;
  int before_;
};

// The lines about copies, without what differs from run to run: the copy's number, its times and what follows.
std::string copiesIn(const std::string& text) {
  std::string lines;
  size_t start = 0;
  while (start < text.size()) {
    const size_t end = std::min(text.find('\n', start), text.size());
    std::string line = text.substr(start, end - start);
    start = end + 1;
    if (line.find("Copy") == std::string::npos) {
      continue;
    }
    const size_t number = line.find('#');
    const size_t colon = line.find(':', number);
    const size_t times = line.find(", gpu=");
    const size_t cpu = line.find(", cpu=");
    line.erase(std::min({times, cpu, line.size()}));
    if (line.back() == ')') {
      line.pop_back(); // there are no times if they are zero
    }
    if (number != std::string::npos && colon != std::string::npos) {
      line.erase(number, colon - number);
    }
    lines += lines.empty() ? line : "; " + line;
  }
  return lines;
}

void expectLogged(Session& session, const char* what, const std::string& expected, const std::function<void()>& copy) {
  std::string logged;
  {
    Caught caught;
    copy();
    session.synchronize(SyncType::COMMIT_AND_WAIT);
    session.pass(1000);
    logged = copiesIn(caught.text());
  }
  if (logged != expected) {
    session.fault(Fault::State, std::string(what) + " is logged as \"" + logged + "\" instead of \"" + expected + "\"");
  }
}

void copiesLogged(Session& session) {
  // copies, and their times: logged when they have ended. Read when the profiler is first used
  setenv("PYTORCH_MPS_LOG_PROFILE_INFO", "130", 1);
  constexpr int64_t kElements = 100;
  const Tensor host = at::empty({kElements}, at::TensorOptions().dtype(at::kShort)).fill_(1);
  const Tensor host_int = at::empty({kElements}, at::TensorOptions().dtype(at::kInt)).fill_(1);
  while (session.step() < session.steps()) {
    const Tensor device = at::empty({kElements}, host.options().device(at::kMPS));
    const auto busy = [&](const Tensor& tensor) { session.operation({}, {bufferOf(tensor)}); };
    expectLogged(session, "a copy to an idle tensor", "MemCopySync: CPU:Short[100] --> MPS:Short[100] (len=200 bytes",
                 [&] { device.copy_(host); });
    expectLogged(session, "a non_blocking copy to an idle tensor",
                 "MemCopy: CPU:Short[100] --> MPS:Short[100] (len=200 bytes", [&] { device.copy_(host, true); });
    expectLogged(session, "a copy to a busy tensor with a view",
                 "BlitCopy: CPU:Short[100] --> MPS:Short[100] (len=200 bytes", [&] {
                   const Tensor view = device.slice(0, 1);
                   busy(device);
                   device.copy_(host);
                 });
    expectLogged(session, "a copy from an idle tensor", "MemCopySync: MPS:Short[100] --> CPU:Short[100] (len=200 bytes",
                 [&] { host.copy_(device); });
    expectLogged(session, "a copy from a busy tensor", "MemCopySync: MPS:Short[100] --> CPU:Short[100] (len=200 bytes",
                 [&] {
                   busy(device);
                   host.copy_(device);
                 });
    expectLogged(session, "a cast from an idle tensor", "MemCopySync: MPS:Short[100] --> CPU:Int[100] (len=200 bytes",
                 [&] { host_int.copy_(device); });
    expectLogged(session, "a non_blocking copy from an idle tensor",
                 "BlitCopy: MPS:Short[100] --> CPU:Short[100] (len=200 bytes", [&] { host.copy_(device, true); });
    session.pass();
    session.endStep();
  }
}

// How often each buffer that is recycled was used.
std::string usesIn(const std::string& text) {
  std::string uses;
  for (size_t at = text.find("use#: "); at != std::string::npos; at = text.find("use#: ", at + 1)) {
    uses += (uses.empty() ? "" : "; ") + text.substr(at, text.find(',', at) - at);
  }
  return uses;
}

// A buffer is used by a tensor, by a copy and by a tensor again.
void recyclingLogged(Session& session) {
  // read when the allocator is first used
  setenv("PYTORCH_DEBUG_MPS_ALLOCATOR", "4", 1);
  constexpr size_t kBytes = 1 << 16;
  while (session.step() < session.steps()) {
    session.synchronize(SyncType::COMMIT_AND_WAIT);
    session.pass(1000);
    session.tensors()->emptyCache();
    const Tensor target = emptyBytes(kBytes, at::kMPS);
    const Tensor view = target.slice(0, 1);
    emptyBytes(kBytes, at::kMPS);
    session.operation({}, {bufferOf(target)});
    std::string uses;
    {
      Caught caught;
      Tensor(target).copy_(filledOnHost(kBytes, 1));
      session.synchronize(SyncType::COMMIT_AND_WAIT);
      session.pass(1000);
      emptyBytes(kBytes, at::kMPS);
      uses = usesIn(caught.text());
    }
    if (uses != "use#: 2; use#: 3") {
      session.fault(Fault::State, "a buffer that a tensor, a copy and a tensor use is logged with \"" + uses + "\"");
    }
    session.pass();
    session.endStep();
  }
}

// The end of each line that says what is left.
std::string leftIn(const std::string& text) {
  std::string lines;
  for (size_t at = text.find("pending buffers: "); at != std::string::npos;
       at = text.find("pending buffers: ", at + 1)) {
    lines += (lines.empty() ? "" : "; ") + text.substr(at, text.find(')', at) - at);
  }
  return lines;
}

void expectLeft(Session& session, const char* what, const std::string& expected) {
  std::string left;
  {
    Caught caught;
    session.tensors()->emptyCache();
    left = leftIn(caught.text());
  }
  if (left != expected) {
    session.fault(Fault::State, std::string(what) + ": \"" + left + "\" is logged instead of \"" + expected + "\"");
  }
}

void emptyCacheLogged(Session& session) {
  // read when the allocator is first used
  setenv("PYTORCH_DEBUG_MPS_ALLOCATOR", "8", 1);
  constexpr size_t kBytes = 1 << 16;
  while (session.step() < session.steps()) {
    auto buffer = session.allocate(session.tensors(), kBytes);
    session.operation({}, {bufferOf(buffer)});
    session.release(buffer);
    expectLeft(session, "what was freed before", "pending buffers: 0");
    // one more before, and one freed while the allocator waits for the command buffer, which lets go of it after the
    // wait only
    buffer = session.allocate(session.tensors(), kBytes);
    session.operation({}, {bufferOf(buffer)});
    session.release(buffer);
    auto late = std::make_shared<c10::DataPtr>(session.allocate(session.tensors(), 2 * kBytes));
    session.operation({}, {bufferOf(*late)});
    session.stream()->addCompletedHandler(^(id<MTLCommandBuffer>) {
      late->clear();
    });
    expectLeft(session, "what was freed meanwhile", "pending buffers: 1");
    session.pass(1);
    expectLeft(session, "the same once more", "pending buffers: 0");
    session.audit();
    session.endStep();
  }
}

using Settings = std::map<std::string, std::string>;

const Scenarios added({
    {"copies-logged",
     "what the profiler logs of copies",
     "ours",
     "copy",
     {"memcpy-copy"},
     3,
     10,
     true,
     Settings{},
     copiesLogged},
    {"recycling-logged",
     "how often a buffer is logged to be used",
     "ours",
     "copy",
     {"memcpy-copy"},
     3,
     20,
     true,
     Settings{},
     recyclingLogged},
    {"empty-cache-logged",
     "what the allocator logs when its cache was emptied",
     "ours",
     "correctness",
     {"empty-cache"},
     5,
     50,
     true,
     Settings{{"execute", "0"}, {"drop_order", "after-wait"}},
     emptyCacheLogged},
});

} // namespace
} // namespace umpatch
