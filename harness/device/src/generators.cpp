#include "generators.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/mps/MPSGeneratorImpl.h>

#include <mutex>

namespace umpatch_device {
namespace {

uint64_t next_seed(at::MPSGeneratorImpl& generator) {
  std::lock_guard lock(generator.mutex_);
  generator.update_philox_counters();
  // words 1 to 4 are the Philox counters that upstream's kernels would be given
  const uint32_t* state = generator.state_data();
  return (uint64_t{state[1]} << 32 | state[2]) ^ (uint64_t{state[3]} << 16) ^ state[4];
}

} // namespace

at::Generator host_generator(const c10::IValue& argument) {
  const at::Generator& generator =
      argument.isNone() ? at::mps::detail::getDefaultMPSGenerator() : argument.toGenerator();
  TORCH_CHECK(generator.device().is_mps(), "Expected a 'mps' device type for generator but found '",
              generator.device().type(), "'");
  auto* impl = static_cast<at::MPSGeneratorImpl*>(generator.unsafeGetGeneratorImpl());
  return at::detail::createCPUGenerator(next_seed(*impl));
}

} // namespace umpatch_device
