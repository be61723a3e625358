// What the plug-in itself counts; the simulated Metal counts the rest.
#pragma once

#include <atomic>
#include <cstdint>

namespace umpatch_device {

struct Statistics {
  // asynchronous mode: kernels that run on the simulated GPU, kernels that had to wait for it
  std::atomic<uint64_t> kernels_deferred{0};
  std::atomic<uint64_t> kernels_waited{0};
  // asynchronous mode: operators that meta tensors could not describe, so that they waited
  std::atomic<uint64_t> shapes_unknown{0};
  // asynchronous mode: kernels that threw on the GPU's thread, where nobody can catch it
  std::atomic<uint64_t> kernels_failed{0};

  // host-to-device copies that a memcpy could serve (same dtype, both dense), and how they went
  std::atomic<uint64_t> eligible_copies{0};
  std::atomic<uint64_t> memcpy_copies{0};
  std::atomic<uint64_t> blit_copies{0};
};

Statistics& statistics();

} // namespace umpatch_device
