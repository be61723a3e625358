// See copy_way.h.
#include "copy_way.h"
#include <sstream>

namespace umpatch {

using at::mps::SyncType;
using simulated_metal::counters;

Way Way::soFar() {
  const auto& now = counters();
  return {now.waits,  now.command_buffers_committed, now.blit_copies,
          now.graphs, now.no_copy_buffers_created,   now.heap_buffers_created};
}

Way Way::since(const Way& before) const {
  return {waits - before.waits,     commits - before.commits,           blits - before.blits,
          kernels - before.kernels, host_buffers - before.host_buffers, heap_buffers - before.heap_buffers};
}

bool Way::operator==(const Way& other) const {
  return waits == other.waits && commits == other.commits && blits == other.blits && kernels == other.kernels &&
         host_buffers == other.host_buffers && heap_buffers == other.heap_buffers;
}

std::string Way::text() const {
  std::ostringstream words;
  words << waits << " waits, " << commits << " commits, " << blits << " blits, " << kernels << " kernels, "
        << host_buffers << " buffers around host memory, " << heap_buffers << " new buffers";
  return words.str();
}

void copyBy(Session& session, const char* what, const Way& expected, const std::function<void()>& copy) {
  const Way before = Way::soFar();
  try {
    copy();
  } catch (const std::exception& error) {
    // the other cases are to be seen too
    const std::string text = error.what();
    session.fault(Fault::UnexpectedError, std::string(what) + ": " + text.substr(0, text.find('\n')));
    return;
  }
  const Way way = Way::soFar().since(before);
  if (!(way == expected)) {
    session.fault(Fault::State, std::string(what) + ": " + way.text() + " (" + expected.text() + " would do)");
  }
}

void settle(Session& session) {
  session.synchronize(SyncType::COMMIT_AND_WAIT);
  session.pass(1000);
  session.tensors()->emptyCache();
}

void fillLate(Session& session, const Tensor& tensor, uint8_t value) {
  uint8_t* memory = deviceBytes(tensor);
  const size_t bytes = tensor.nbytes();
  session.operation({}, {bufferOf(tensor)}, [memory, bytes, value] { memset(memory, value, bytes); });
}

void expectValue(Session& session, const Tensor& tensor, uint8_t value, const char* what) {
  session.synchronize(SyncType::COMMIT_AND_WAIT);
  session.expectFilled(Fault::WrongData, deviceBytes(tensor), value, tensor.nbytes(), what);
}

} // namespace umpatch
