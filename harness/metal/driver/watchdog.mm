// See watchdog.h. A deadlock of the code under test is data: it is reported as a fault, and the process ends with 0.
#include "watchdog.h"
#include <simulated_metal/control.h>
#include <chrono>
#include <thread>
#include "session.h"

namespace umpatch {

void startWatchdog(Session& session, uint64_t patience_ms) {
  std::thread([&session, patience_ms] {
    constexpr uint64_t kTick = 50;
    uint64_t last = session.heartbeat();
    uint64_t still_for = 0;
    for (;;) {
      std::this_thread::sleep_for(std::chrono::milliseconds(kTick));
      const uint64_t now = session.heartbeat();
      still_for = now == last ? still_for + kTick : 0;
      last = now;
      if (still_for >= patience_ms) {
        session.giveUp("nothing moved for " + std::to_string(patience_ms) + " ms" +
                       (simulated_metal::busy() ? ", with command buffers in flight" : ", with an idle GPU"));
      }
    }
  }).detach();
}

} // namespace umpatch
