// Which way a copy from the device goes.
// Each case is one that the contents cannot tell apart. What is expected is what can be had on unified memory; stock
// does not.
#include <ATen/ops/from_blob.h>
#include <cstdlib>
#include "../copy_way.h"

namespace umpatch {
namespace {

using at::mps::SyncType;

// A host tensor of zeros that begins with a page.
Tensor onPages(int64_t elements, at::ScalarType type) {
  constexpr size_t kPage = 16384;
  const size_t bytes = (size_t)elements * elementSize(type);
  void* memory = std::aligned_alloc(kPage, (bytes + kPage - 1) / kPage * kPage);
  memset(memory, 0, bytes);
  return at::from_blob(memory, {elements}, free, at::TensorOptions().dtype(type));
}

struct FromDevice {
  const char* what;
  bool is_busy;
  bool non_blocking;
  int64_t stride;      // of the source, in elements
  int64_t to_stride;   // of the destination
  int64_t to_offset;   // of the destination, in elements
  at::ScalarType type; // of the destination
  Way way;
};

// From an offset: one blit, and no kernel, if nothing is cast.
void fromOffset(Session& session) {
  settle(session);
  constexpr int64_t kElements = 500;
  constexpr int64_t kOffset = 40;
  const Tensor whole = emptyBytes(kOffset + kElements, at::kMPS);
  memset(deviceBytes(whole), kOld, whole.nbytes());
  const Tensor source = whole.as_strided({kElements}, {1}, kOffset);
  memset(deviceBytes(source), kNew, source.nbytes());
  const Tensor target = onPages(kElements, at::kByte);
  copyBy(session, "non_blocking from an offset", {.commits = 1, .blits = 1, .host_buffers = 1},
         [&] { target.copy_(source, true); });
  session.synchronize(SyncType::COMMIT_AND_WAIT);
  if (!target.eq(kNew).all().item<bool>()) {
    session.fault(Fault::WrongData, "a non_blocking copy from an offset", target.nbytes());
  }
}

// A matrix that is dense and transposed: into one with the same strides as it is, else the GPU gathers it.
void fromTransposed(Session& session, bool same_strides) {
  settle(session);
  constexpr int64_t kRows = 30;
  constexpr int64_t kColumns = 70;
  const Tensor whole = emptyBytes(kRows * kColumns, at::kMPS);
  memset(deviceBytes(whole), kNew, whole.nbytes());
  const Tensor source = whole.as_strided({kRows, kColumns}, {1, kRows}, 0);
  const Tensor host = onPages(kRows * kColumns, at::kByte);
  const Tensor target = same_strides ? host.as_strided({kRows, kColumns}, {1, kRows}, 0)
                                     : host.as_strided({kRows, kColumns}, {kColumns, 1}, 0);
  const Way gathered{.waits = 1, .commits = 1, .kernels = 1, .heap_buffers = 1};
  copyBy(session, same_strides ? "from a transposed tensor into a transposed one" : "from a transposed tensor",
         same_strides ? Way{} : gathered, [&] { target.copy_(source); });
  if (same_strides) {
    copyBy(session, "the same, non_blocking", {.commits = 1, .blits = 1, .host_buffers = 1},
           [&] { target.copy_(source, true); });
    session.synchronize(SyncType::COMMIT_AND_WAIT);
  }
  if (!target.eq(kNew).all().item<bool>()) {
    session.fault(Fault::WrongData, "a copy from a transposed tensor", target.nbytes());
  }
}

void fromDevice(Session& session) {
  const FromDevice all[] = {
      {"from an idle tensor", false, false, 1, 1, 0, at::kByte, {}},
      {"from a tensor that the GPU writes", true, false, 1, 1, 0, at::kByte, {.waits = 1, .commits = 1}},
      {"a cast from an idle tensor", false, false, 1, 1, 0, at::kInt, {}},
      {"from an idle view with gaps",
       false,
       false,
       2,
       1,
       0,
       at::kByte,
       {.waits = 1, .commits = 1, .kernels = 1, .heap_buffers = 1}},
      {"from an idle tensor to an odd address", false, true, 1, 1, 1, at::kByte, {}},
      {"from an idle tensor into a view with gaps", false, true, 1, 2, 0, at::kByte, {}},
      {"non_blocking from an idle tensor",
       false,
       true,
       1,
       1,
       0,
       at::kByte,
       {.commits = 1, .blits = 1, .host_buffers = 1}},
      {"non_blocking from a tensor that the GPU writes",
       true,
       true,
       1,
       1,
       0,
       at::kByte,
       {.commits = 1, .blits = 1, .host_buffers = 1}},
      {"non_blocking from a view with gaps",
       true,
       true,
       2,
       1,
       0,
       at::kByte,
       {.commits = 1, .blits = 1, .kernels = 1, .host_buffers = 1, .heap_buffers = 1}},
      {"a non_blocking cast to whole pages", true, true, 1, 1, 0, at::kInt, {.kernels = 1, .host_buffers = 1}},
      {"a non_blocking cast to an address inside a page",
       true,
       true,
       1,
       1,
       1,
       at::kInt,
       {.commits = 1, .blits = 1, .kernels = 1, .host_buffers = 1, .heap_buffers = 1}},
  };
  while (session.step() < session.steps()) {
    const int64_t elements = 64 + (int64_t)(session.random()() % 30000);
    for (const FromDevice& one : all) {
      settle(session);
      const Tensor other = emptyBytes(64, at::kMPS);
      fillLate(session, other, kOld);
      const Tensor whole = emptyBytes(elements * one.stride, at::kMPS);
      const Tensor source = whole.as_strided({elements}, {one.stride}, 0);
      if (one.is_busy) {
        fillLate(session, whole, kNew);
      } else {
        memset(deviceBytes(whole), kNew, whole.nbytes());
      }
      const Tensor host = onPages(elements * one.to_stride + one.to_offset, one.type);
      const Tensor target = host.as_strided({elements}, {one.to_stride}, one.to_offset);
      copyBy(session, one.what, one.way, [&] { target.copy_(source, one.non_blocking); });
      session.synchronize(SyncType::COMMIT_AND_WAIT);
      if (!target.eq(kNew).all().item<bool>()) {
        session.fault(Fault::WrongData, one.what, target.nbytes());
      }
    }
    fromOffset(session);
    fromTransposed(session, false);
    fromTransposed(session, true);
    session.pass();
    session.endStep();
  }
}

using Settings = std::map<std::string, std::string>;

const Scenarios added({
    {"ways-to-host",
     "who copies and who waits when the device's data comes to the host",
     "ours",
     "copy",
     {"memcpy-copy"},
     10,
     100,
     true,
     Settings{{"graph_commit_every", "0"}},
     fromDevice},
});

} // namespace
} // namespace umpatch
