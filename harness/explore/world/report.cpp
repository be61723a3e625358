// See report.h.
#include "report.h"
#include <unistd.h>
#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace explore::report {
namespace {

Report* report = nullptr;
bool logging = false;

} // namespace

void begin(Report* wanted, Detail detail) {
  report = wanted;
  logging = detail == Detail::Log;
}

Report& current() {
  return *report;
}

void log(const char* format, ...) {
  if (!logging || report->log_size + 256 > kMostLog) {
    return;
  }
  char* at = report->log + report->log_size;
  int length = snprintf(at, 128, "%7llu  %-12s ", (unsigned long long)scheduler::steps(),
                        scheduler::threadName(scheduler::currentThread()));
  va_list arguments;
  va_start(arguments, format);
  length += vsnprintf(at + length, 127, format, arguments);
  va_end(arguments);
  if (length > 254) {
    length = 254;
  }
  at[length] = '\n';
  report->log_size += (uint64_t)length + 1;
}

void doing(const char* what) {
  const int thread = scheduler::currentThread();
  if (thread >= 0) {
    snprintf(report->doing[thread], sizeof report->doing[thread], "%s", what);
  }
}

void mix(uint64_t value) {
  report->fingerprint = (report->fingerprint ^ value) * 0x100000001b3ull + 0x9e37;
}

void violation(const char* kind, const char* detail) {
  snprintf(report->kind, sizeof report->kind, "%s", kind);
  snprintf(report->detail, sizeof report->detail, "%s", detail);
  log("%s: %s", kind, detail);
  report->state = Report::State::Violated;
  _exit(0);
}

void clean() {
  report->state = Report::State::Clean;
  _exit(0);
}

} // namespace explore::report
