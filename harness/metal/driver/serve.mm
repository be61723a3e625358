#include "serve.h"
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <iostream>
#include <sstream>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

// A program with mutants reads its environment before main(), and once more here.
extern "C" __attribute__((weak)) void umpatch_begin_again();

namespace umpatch {
namespace {

constexpr size_t kSeconds = 0, kOutput = 1, kErrors = 2, kVariables = 3, kFirst = 4;

std::vector<std::string> split(const std::string& line) {
  std::vector<std::string> fields;
  std::istringstream stream(line);
  for (std::string field; std::getline(stream, field, '\t');) {
    fields.push_back(field);
  }
  return fields;
}

void redirect(const std::string& path, int to) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (file < 0 || dup2(file, to) < 0) {
    _exit(EXIT_FAILURE);
  }
  close(file);
}

[[noreturn]] void child(const std::vector<std::string>& fields, int (*run)(int, char**)) {
  setpgid(0, 0);
  const int nothing = open("/dev/null", O_RDONLY);
  dup2(nothing, STDIN_FILENO);
  redirect(fields[kOutput], STDOUT_FILENO);
  redirect(fields[kErrors], STDERR_FILENO);
  alarm((unsigned)atoi(fields[kSeconds].c_str()));
  size_t next = kFirst;
  for (int variables = atoi(fields[kVariables].c_str()); variables > 0 && next < fields.size(); variables--) {
    putenv(strdup(fields[next++].c_str()));
  }
  if (umpatch_begin_again) {
    umpatch_begin_again();
  }
  std::vector<char*> values{strdup("driver")};
  for (; next < fields.size(); next++) {
    values.push_back(strdup(fields[next].c_str()));
  }
  const int count = (int)values.size();
  values.push_back(nullptr);
  exit(run(count, values.data()));
}

} // namespace

int serve(int (*run)(int count, char** values)) {
  for (std::string line; std::getline(std::cin, line);) {
    const auto fields = split(line);
    if (fields.size() <= kFirst) {
      fprintf(stderr, "driver: a request lacks fields\n");
      return EXIT_FAILURE;
    }
    const pid_t pid = fork();
    if (pid == 0) {
      child(fields, run);
    }
    if (pid < 0) {
      perror("driver: fork");
      return EXIT_FAILURE;
    }
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    // what it has started ends with it
    kill(-pid, SIGKILL);
    printf("%d\n", status);
    fflush(stdout);
  }
  return EXIT_SUCCESS;
}

} // namespace umpatch
