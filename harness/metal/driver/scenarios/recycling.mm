// CPU writes into memory that the GPU may still use. Each round holds the GPU back, lets go of a buffer that it still
// reads or writes, writes into what the allocator gives next, lets the GPU run, and compares bytes.
#include "../tensors.h"

namespace umpatch {
namespace {

using at::mps::SyncType;

constexpr uint8_t kGpuByte = 0xEE;
constexpr uint8_t kCpuByte = 0x11;

void gpuFill(Session& session, const Tensor& tensor, uint8_t value) {
  session.stream()->fill(bufferOf(tensor), value, tensor.nbytes(), tensor.storage_offset() * tensor.element_size(),
                         SyncType::NONE);
}

void gpuCopy(Session& session, const Tensor& from, const Tensor& to) {
  session.stream()->copy(bufferOf(from), bufferOf(to), from.nbytes(), from.storage_offset() * from.element_size(),
                         to.storage_offset() * to.element_size(), 0, SyncType::NONE);
}

// The work of a round is committed, left uncommitted, or both, by turns: either way a command buffer holds the memory.
void maybeCommit(Session& session) {
  if (session.random()() % 2) {
    session.synchronize(SyncType::COMMIT);
  }
}

void finishRound(Session& session) {
  simulated_metal::resumeGPU();
  session.synchronize(SyncType::COMMIT_AND_WAIT);
  session.pass(1000);
}

// P:193819. A tensor is filled on the GPU and deleted; pinned memory of the same size is allocated and written at once.
// With "shared" the tensor comes from the pinned pool itself, so that the two share a pool in stock too.
void pinAfterDelete(Session& session) {
  const size_t bytes = session.number("bytes");
  while (session.step() < session.steps()) {
    simulated_metal::pauseGPU();
    auto* from = session.number("same_pool") ? session.pinned() : session.tensors();
    auto tensor = session.allocate(from, bytes);
    const void* old = tensor.get();
    session.fill(tensor, kGpuByte, bytes);
    maybeCommit(session);
    session.release(tensor);
    auto pinned = session.allocate(session.pinned(), bytes);
    session.count("recycled_at_once", pinned.get() == old);
    memset([bufferOf(pinned) contents], kCpuByte, bytes);
    finishRound(session);
    session.expectFilled(Fault::Corruption, bytesOf(pinned), kCpuByte, bytes,
                         "pinned memory after the GPU's late fill");
    session.release(pinned);
    session.endStep();
  }
}

// P:188804. Pinned memory is read by many kernels, dropped while they wait, and pinned again with other contents.
void repinUnderLoad(Session& session) {
  const size_t bytes = session.number("bytes");
  constexpr size_t kReaders = 8;
  while (session.step() < session.steps()) {
    simulated_metal::pauseGPU();
    auto pinned = session.allocate(session.pinned(), bytes);
    memset([bufferOf(pinned) contents], kCpuByte, bytes);
    std::vector<c10::DataPtr> outputs;
    for (size_t i = 0; i < kReaders; i++) {
      outputs.push_back(session.allocate(session.tensors(), bytes));
      session.stream()->copy(bufferOf(pinned), bufferOf(outputs.back()), bytes, 0, 0, 0, SyncType::NONE);
    }
    maybeCommit(session);
    session.release(pinned);
    auto again = session.allocate(session.pinned(), bytes);
    memset([bufferOf(again) contents], kGpuByte, bytes);
    finishRound(session);
    for (const auto& output : outputs) {
      session.expectFilled(Fault::Corruption, bytesOf(output), kCpuByte, bytes,
                           "what the GPU read of the first pinning");
    }
    session.expectFilled(Fault::Corruption, bytesOf(again), kGpuByte, bytes, "the second pinning");
    session.endStep();
  }
}

// A host tensor is copied into a fresh tensor whose memory the GPU still writes (it was just freed).
void copyIntoFresh(Session& session) {
  while (session.step() < session.steps()) {
    const size_t bytes = session.random()() % 2 ? session.number("bytes") : 4 + session.random()() % 4;
    const Tensor host = filledOnHost(bytes, kCpuByte);
    simulated_metal::pauseGPU();
    {
      Tensor old = emptyBytes(bytes, at::kMPS);
      gpuFill(session, old, kGpuByte);
      maybeCommit(session);
    }
    Tensor fresh = emptyBytes(bytes, at::kMPS);
    fresh.copy_(host, /*non_blocking=*/true);
    finishRound(session);
    session.expectFilled(Fault::Corruption, deviceBytes(fresh), kCpuByte, bytes, "a fresh tensor after a copy into it");
    session.endStep();
  }
}

// A host tensor is copied into a tensor that earlier work, still waiting, reads and writes: that work has to see the
// old contents, and the copy has to be what is there in the end.
void copyIntoBusy(Session& session) {
  const size_t bytes = session.number("bytes");
  Tensor target = emptyBytes(bytes, at::kMPS);
  while (session.step() < session.steps()) {
    const uint8_t before = (uint8_t)(session.step() * 2 + 1);
    const uint8_t after = (uint8_t)(session.step() * 2 + 2);
    const Tensor host = filledOnHost(bytes, after);
    const bool is_view = session.random()() % 2;
    Tensor written = is_view ? target.slice(0, 256, (int64_t)bytes) : target;
    const Tensor source = is_view ? host.slice(0, 256, (int64_t)bytes) : host;
    gpuFill(session, target, before);
    if (session.random()() % 2) {
      session.synchronize(SyncType::COMMIT_AND_WAIT); // only the read below is still waiting then
      session.pass(1);
    }
    simulated_metal::pauseGPU();
    Tensor seen = emptyBytes(bytes, at::kMPS);
    gpuCopy(session, target, seen);
    maybeCommit(session);
    written.copy_(source, /*non_blocking=*/true);
    finishRound(session);
    session.expectFilled(Fault::Corruption, deviceBytes(seen), before, bytes,
                         "what earlier work read of a busy tensor");
    session.expectFilled(Fault::Corruption, deviceBytes(written), after, written.nbytes(),
                         "a busy tensor after a copy into it");
    if (is_view) {
      session.expectFilled(Fault::Corruption, deviceBytes(target), before, 256, "the part that the copy did not name");
    }
    session.endStep();
  }
}

// A tensor that waiting work produces is copied to the host, and the GPU goes on with it at once.
void copyOfPending(Session& session) {
  const size_t bytes = session.number("bytes");
  Tensor source = emptyBytes(bytes, at::kMPS);
  Tensor host = emptyBytes(bytes, at::kCPU);
  while (session.step() < session.steps()) {
    const uint8_t value = (uint8_t)(session.step() + 1);
    gpuFill(session, source, value);
    maybeCommit(session);
    if (session.random()() % 2) {
      const int64_t offset = 256;
      Tensor part = host.slice(0, offset, (int64_t)bytes);
      part.copy_(source.slice(0, offset, (int64_t)bytes));
      session.expectFilled(Fault::Corruption, part.data_ptr(), value, part.nbytes(), "a host copy of a part");
    } else {
      host.copy_(source);
      session.expectFilled(Fault::Corruption, host.data_ptr(), value, bytes, "a host copy of pending work");
    }
    gpuFill(session, source, kGpuByte);
    session.pass(1000);
    session.endStep();
  }
}

// Scalars go through a pool that the CPU writes each time; late kernels have to see the value that they were given.
void scalars(Session& session) {
  constexpr size_t kOutputs = 64;
  auto output = session.allocate(session.tensors(), kOutputs * sizeof(int64_t));
  while (session.step() < session.steps()) {
    for (size_t i = 0; i < kOutputs; i++) {
      int64_t value = (int64_t)(session.step() * kOutputs + i);
      auto scalar = session.tensors()->allocScalarBufferWithValue(&value, sizeof value);
      session.stream()->copy(bufferOf(scalar), bufferOf(output), sizeof value, 0, i * sizeof value, 0, SyncType::NONE);
    }
    maybeCommit(session);
    session.pass();
    if (session.step() % 10 == 9) {
      session.synchronize(SyncType::COMMIT_AND_WAIT);
      session.pass(1);
      for (size_t i = 0; i < kOutputs; i++) {
        const int64_t expected = (int64_t)(session.step() * kOutputs + i);
        session.expectBytes(Fault::Corruption, bytesOf(output) + i * sizeof expected, &expected, sizeof expected,
                            "a scalar that a kernel read");
      }
    }
    session.endStep();
  }
}

// P:189690. Three pageable scalars are copied non_blocking and their sources dropped at once.
void scalarsNonBlocking(Session& session) {
  while (session.step() < session.steps()) {
    simulated_metal::pauseGPU();
    std::vector<Tensor> copies;
    for (int i = 0; i < 3; i++) {
      Tensor host = at::empty({}, at::TensorOptions().dtype(at::kFloat));
      *host.data_ptr<float>() = (float)(session.step() * 3 + i);
      copies.push_back(at::empty({}, at::TensorOptions().dtype(at::kFloat).device(at::kMPS)));
      copies.back().copy_(host, /*non_blocking=*/true);
      host = Tensor();
    }
    std::vector<Tensor> others; // take over the freed host memory
    for (int i = 0; i < 8; i++) {
      others.push_back(at::empty({}, at::TensorOptions().dtype(at::kFloat)));
      *others.back().data_ptr<float>() = -1;
    }
    finishRound(session);
    for (int i = 0; i < 3; i++) {
      // what stands there instead is whatever the host memory holds by then: the whole scalar counts as wrong
      const float expected = (float)(session.step() * 3 + i);
      if (memcmp(deviceBytes(copies[i]), &expected, sizeof expected) != 0) {
        session.fault(Fault::WrongData, "a scalar copied non_blocking is not what it was", sizeof expected);
      }
    }
    session.endStep();
  }
}

using Settings = std::map<std::string, std::string>;

const Scenarios added({
    {"pin-after-delete",
     "fill on the GPU, delete, pin memory and write it",
     "pytorch/pytorch#193819",
     "cpu-write",
     {"pending-free", "shared-default"},
     60,
     400,
     true,
     Settings{{"bytes", "1048576"}, {"same_pool", "0"}},
     pinAfterDelete},
    {"recycled-pinned",
     "pinned memory filled by the GPU, freed, pinned again and written",
     "ours",
     "cpu-write",
     {"pending-free"},
     100,
     1000,
     true,
     Settings{{"bytes", "65536"}, {"same_pool", "1"}},
     pinAfterDelete},
    {"repin-under-load",
     "pinned memory dropped while kernels wait to read it, pinned again",
     "pytorch/pytorch#188804",
     "cpu-write",
     {"pending-free"},
     20,
     200,
     true,
     Settings{{"bytes", "1048576"}},
     repinUnderLoad},
    {"copy-into-fresh",
     "host to device into a fresh tensor whose memory is busy",
     "ours",
     "cpu-write",
     {"memcpy-copy", "pending-free", "shared-default"},
     150,
     2000,
     true,
     Settings{{"bytes", "65536"}},
     copyIntoFresh},
    {"copy-into-busy",
     "host to device into a tensor that waiting work reads and writes",
     "ours",
     "cpu-write",
     {"memcpy-copy"},
     150,
     2000,
     true,
     Settings{{"bytes", "65536"}},
     copyIntoBusy},
    {"copy-of-pending",
     "device to host of what waiting work produces",
     "ours",
     "cpu-write",
     {"memcpy-copy"},
     150,
     2000,
     true,
     Settings{{"bytes", "65536"}},
     copyOfPending},
    {"scalars",
     "scalars through their pool, 64 per step",
     "ours",
     "cpu-write",
     {"pending-free"},
     100,
     2000,
     true,
     Settings{},
     scalars},
    {"scalars-non-blocking",
     "three pageable scalars copied non_blocking, sources dropped at once",
     "pytorch/pytorch#189690",
     "cpu-write",
     {"copy-values"},
     30,
     300,
     true,
     Settings{},
     scalarsNonBlocking},
});

} // namespace
} // namespace umpatch
