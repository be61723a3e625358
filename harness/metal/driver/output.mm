// See output.h.
#include "output.h"
#include <mutex>
#include <unistd.h>

namespace umpatch {

void writeLine(const Json& object) {
  static auto* mutex = new std::mutex;
  const std::string line = object.text() + "\n";
  std::lock_guard<std::mutex> lock(*mutex);
  size_t written = 0;
  while (written < line.size()) {
    const ssize_t count = write(STDOUT_FILENO, line.data() + written, line.size() - written);
    if (count <= 0) {
      _exit(1); // nobody reads any more
    }
    written += (size_t)count;
  }
}

} // namespace umpatch
