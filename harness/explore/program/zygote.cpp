// See zygote.h.
#include "zygote.h"
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include "../world/run.h"

namespace explore {
namespace {

constexpr size_t kMostText = 1 << 20;
constexpr int kUsage = 2;

[[noreturn]] void fail(const char* what) {
  perror(what);
  exit(kUsage);
}

template <typename T>
T* share() {
  void* memory = mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    fail("explorer: memory");
  }
  return static_cast<T*>(memory);
}

uint64_t microseconds(const rusage& used) {
  const auto of = [](const timeval& time) { return (uint64_t)time.tv_sec * 1000000 + (uint64_t)time.tv_usec; };
  return of(used.ru_utime) + of(used.ru_stime);
}

// One processor for all threads of a run: they take turns, and handing the turn on is cheaper there.
void stayHere() {
  cpu_set_t here;
  CPU_ZERO(&here);
  CPU_SET(sched_getcpu(), &here);
  sched_setaffinity(0, sizeof here, &here);
}

} // namespace

struct Zygote::Request {
  report::Detail detail;
  pid_t run;
  uint64_t cpu_us;
  size_t size;
  char text[kMostText];
};

uint64_t milliseconds() {
  return (uint64_t)std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

struct Zygote::Place {
  Request* request;
  Report* report;
  int ours;   // the end of a socket that this process has
  int theirs; // and the zygote's
  int errors; // what a run writes to its standard error
};
Zygote::Place Zygote::places_[kMostZygotes];
int Zygote::nursery_ = -1;

void Zygote::prepare() {
  for (Place& place : places_) {
    int sockets[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) {
      fail("explorer: socketpair");
    }
    const int errors = memfd_create("standard error of a run", MFD_CLOEXEC);
    place = {share<Request>(), share<Report>(), sockets[0], sockets[1], errors};
  }
  int sockets[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) {
    fail("explorer: socketpair");
  }
  nursery_ = sockets[0];
  const pid_t nursery = fork();
  if (nursery != 0) {
    close(sockets[1]);
    return;
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  signal(SIGCHLD, SIG_IGN);
  uint32_t index = 0;
  while (read(sockets[1], &index, sizeof index) == sizeof index) {
    if (fork() == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      signal(SIGCHLD, SIG_DFL);
      serve(places_[index]);
      _exit(0);
    }
  }
  _exit(0);
}

Zygote::Zygote(uint32_t index, uint64_t limit_ms)
    : request_(places_[index].request),
      report_(places_[index].report),
      socket_(places_[index].ours),
      errors_(places_[index].errors),
      limit_ms_(limit_ms) {
  if (::write(nursery_, &index, sizeof index) != sizeof index) {
    fail("explorer: the process that makes others is gone");
  }
}

void Zygote::serve(const Place& place) {
  char command = 0;
  uint64_t before = 0;
  while (read(place.theirs, &command, 1) == 1) {
    const pid_t child = fork();
    if (child == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      stayHere();
      dup2(place.errors, STDERR_FILENO);
      std::string error;
      const Trace trace = parse(std::string(place.request->text, place.request->size), error);
      run(trace, place.report, place.request->detail);
    }
    place.request->run = child;
    int status = 0;
    rusage used{};
    if (child < 0 || wait4(child, &status, 0, &used) != child) {
      status = -1;
    }
    rusage own{};
    getrusage(RUSAGE_SELF, &own);
    place.request->cpu_us = microseconds(used) + microseconds(own) - before;
    before = microseconds(own);
    if (::write(place.theirs, &status, sizeof status) != sizeof status) {
      return;
    }
  }
}

void Zygote::start(const Trace& trace, report::Detail detail) {
  trace_ = trace;
  const std::string text = print(trace);
  request_->detail = detail;
  request_->size = std::min(text.size(), kMostText);
  memcpy(request_->text, text.data(), request_->size);
  // all but the large arrays, whose sizes say what of them counts
  report_->state = Report::State::Running;
  report_->kind[0] = report_->detail[0] = 0;
  memset(report_->doing, 0, sizeof report_->doing);
  report_->steps = report_->operations = report_->out_of_memory = report_->fingerprint = 0;
  report_->decision_count = report_->log_size = 0;
  request_->run = 0;
  if (ftruncate(errors_, 0) != 0 || lseek(errors_, 0, SEEK_SET) != 0) {
    fail("explorer: standard error of a run");
  }
  started_ms_ = milliseconds();
  running_ = true;
  killed_ = false;
  if (::write(socket_, "r", 1) != 1) {
    fail("explorer: the process that starts runs is gone");
  }
}

uint64_t Zygote::cpuMicroseconds() const {
  return request_->cpu_us;
}

bool Zygote::isLate(uint64_t now_ms) const {
  return running_ && !killed_ && now_ms > started_ms_ + limit_ms_;
}

void Zygote::kill() {
  if (request_->run > 0) {
    killed_ = true;
    ::kill(request_->run, SIGKILL);
  }
}

// What matters of a sanitizer's or an abort's words.
std::string Zygote::errorText() const {
  char text[1 << 14];
  const ssize_t size = pread(errors_, text, sizeof text, 0);
  std::string all(text, size > 0 ? (size_t)size : 0);
  // UndefinedBehaviorSanitizer names itself last
  const size_t sanitizer = std::min(all.find(": runtime error: "), all.find("Sanitizer:"));
  if (sanitizer != std::string::npos) {
    const size_t line = all.rfind('\n', sanitizer);
    return all.substr(line == std::string::npos ? 0 : line + 1, 2500);
  }
  return all.substr(0, 600);
}

Outcome Zygote::finish() {
  int status = 0;
  const ssize_t size = read(socket_, &status, sizeof status);
  running_ = false;
  if (size != sizeof status) {
    fail("explorer: the process that starts runs is gone");
  }
  if (report_->state == Report::State::Violated) {
    return {report_->kind, report_->detail};
  }
  if (report_->state == Report::State::Clean && WIFEXITED(status) && WEXITSTATUS(status) == 0) {
    return {};
  }
  std::string doing;
  for (int i = 0; i < kMostThreads; i++) {
    if (report_->doing[i][0]) {
      doing += std::string(doing.empty() ? "" : ", ") + report_->doing[i];
    }
  }
  if (killed_) {
    return {"hang", "no end within " + std::to_string(limit_ms_) + " ms, while: " + doing};
  }
  const std::string text = errorText();
  const bool race = text.find("ThreadSanitizer: data race") != std::string::npos;
  const std::string how = WIFSIGNALED(status) ? std::string("signal ") + strsignal(WTERMSIG(status))
                                              : "exit status " + std::to_string(WEXITSTATUS(status));
  return {race ? "race" : "crash", how + ", while: " + doing + (text.empty() ? "" : "\n" + text)};
}

} // namespace explore
