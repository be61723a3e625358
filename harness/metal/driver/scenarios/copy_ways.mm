// Which way a copy goes: whether the CPU writes or the GPU copies, who waits for whom, what is allocated for it. Each
// case is one that the contents cannot tell apart. What is expected is what can be had on unified memory; stock does
// not.
#include <ATen/ops/from_blob.h>
#include <c10/core/impl/PyInterpreter.h>
#include <cstdlib>
#include <sstream>
#include "../tensors.h"

#pragma clang diagnostic ignored "-Wc++20-designator"

namespace umpatch {
namespace {

using at::mps::SyncType;
using simulated_metal::counters;

// What a copy made the device do.
struct Way {
  uint64_t waits = 0;
  uint64_t commits = 0;
  uint64_t blits = 0;
  uint64_t kernels = 0;
  uint64_t host_buffers = 0; // made around the host's memory
  uint64_t heap_buffers = 0;

  static Way soFar() {
    const auto& now = counters();
    return {now.waits,  now.command_buffers_committed, now.blit_copies,
            now.graphs, now.no_copy_buffers_created,   now.heap_buffers_created};
  }
  Way since(const Way& before) const {
    return {waits - before.waits,     commits - before.commits,           blits - before.blits,
            kernels - before.kernels, host_buffers - before.host_buffers, heap_buffers - before.heap_buffers};
  }
  bool operator==(const Way& other) const {
    return waits == other.waits && commits == other.commits && blits == other.blits && kernels == other.kernels &&
           host_buffers == other.host_buffers && heap_buffers == other.heap_buffers;
  }
  std::string text() const {
    std::ostringstream words;
    words << waits << " waits, " << commits << " commits, " << blits << " blits, " << kernels << " kernels, "
          << host_buffers << " buffers around host memory, " << heap_buffers << " new buffers";
    return words.str();
  }
};

void copyBy(Session& session, const char* what, const Way& expected, const std::function<void()>& copy) {
  const Way before = Way::soFar();
  copy();
  const Way way = Way::soFar().since(before);
  if (!(way == expected)) {
    session.fault(Fault::State, std::string(what) + ": " + way.text() + " (" + expected.text() + " would do)");
  }
}

// Everything that the GPU had to do is done, and nothing is cached.
void settle(Session& session) {
  session.synchronize(SyncType::COMMIT_AND_WAIT);
  session.pass(1000);
  session.tensors()->emptyCache();
}

// A buffer of that size is in the cache, and the GPU does not use it.
void cacheIdle(size_t bytes) {
  emptyBytes(bytes, at::kMPS);
}

// Work that is encoded, and not committed, fills the tensor.
void fillLate(Session& session, const Tensor& tensor, uint8_t value) {
  uint8_t* memory = deviceBytes(tensor);
  const size_t bytes = tensor.nbytes();
  session.operation({}, {bufferOf(tensor)}, [memory, bytes, value] { memset(memory, value, bytes); });
}

void expectValue(Session& session, const Tensor& tensor, uint8_t value, const char* what) {
  session.synchronize(SyncType::COMMIT_AND_WAIT);
  session.expectFilled(Fault::WrongData, deviceBytes(tensor), value, tensor.nbytes(), what);
}

constexpr size_t kMiB = 1 << 20;
constexpr uint8_t kOld = 0xEE;
constexpr uint8_t kNew = 0x11;

// Nobody uses the destination; other work waits, and goes on waiting.
void toIdle(Session& session, size_t bytes, bool non_blocking) {
  settle(session);
  const Tensor other = emptyBytes(bytes, at::kMPS);
  const Tensor target = emptyBytes(bytes, at::kMPS);
  const Tensor host = filledOnHost(bytes, kNew);
  fillLate(session, other, kOld);
  const void* buffer = target.storage().data();
  copyBy(session, "into a tensor that nobody uses", {}, [&] { target.copy_(host, non_blocking); });
  if (target.storage().data() != buffer) {
    session.fault(Fault::State, "an idle tensor has another buffer after a copy into it");
  }
  expectValue(session, target, kNew, "a copy into an idle tensor");
}

// The GPU is to write the destination, which nobody else can have seen.
void toBusyFresh(Session& session, size_t bytes, bool non_blocking) {
  settle(session);
  const Tensor target = emptyBytes(bytes, at::kMPS);
  cacheIdle(bytes);
  fillLate(session, target, kOld);
  const Tensor host = filledOnHost(bytes, kNew);
  const void* buffer = target.storage().data();
  copyBy(session, "into a fresh tensor that the GPU uses", {.commits = 1}, [&] { target.copy_(host, non_blocking); });
  if (target.storage().data() == buffer) {
    session.fault(Fault::State, "a fresh tensor keeps the buffer that the GPU uses");
  }
  if (target.storage().data_ptr().device() != at::Device(at::kMPS, 0)) {
    session.fault(Fault::State, "the storage of a fresh tensor is on another device after a copy into it");
  }
  if (session.tensors()->getUnalignedBufferSize(target.storage().data()) != (ssize_t)bytes) {
    session.fault(Fault::State,
                  "the buffer of a fresh tensor has another size than was asked for after a copy into it");
  }
  expectValue(session, target, kNew, "a copy into a fresh tensor");
}

enum class Seen { View, Part, Python, Fixed };

const char* nameOf(Seen seen) {
  return seen == Seen::View     ? "a tensor with a view"
         : seen == Seen::Part   ? "a part of a storage"
         : seen == Seen::Python ? "a tensor that Python has"
                                : "a storage that cannot be resized";
}

// A Python that owns nothing and does nothing.
c10::impl::PyInterpreter* python() {
  static c10::impl::PyInterpreter interpreter(nullptr);
  static const bool disarmed = [] {
    interpreter.disarm();
    return true;
  }();
  (void)disarmed;
  return &interpreter;
}

// The GPU is to write the destination, and its buffer may be known elsewhere: the GPU copies when its turn comes.
void toBusySeen(Session& session, size_t bytes, bool non_blocking, Seen seen) {
  settle(session);
  const size_t room = seen == Seen::Part ? 2 * bytes : bytes;
  Tensor whole = emptyBytes(room, at::kMPS);
  fillLate(session, whole, kOld);
  const void* buffer = whole.storage().data();
  const Tensor view = seen == Seen::View ? whole.slice(0, 1) : Tensor();
  Tensor target = whole;
  if (seen == Seen::Part) {
    // a slice would keep the whole tensor
    target = at::empty({0}, whole.options()).set_(whole.storage(), 0, {(int64_t)bytes}, {1});
  }
  whole = Tensor();
  if (seen == Seen::Fixed) {
    target.storage().unsafeGetStorageImpl()->set_resizable(false);
  }
  auto* slot = target.unsafeGetTensorImpl()->pyobj_slot();
  if (seen == Seen::Python) {
    static int object = 0;
    slot->init_pyobj(python(), reinterpret_cast<PyObject*>(&object),
                     c10::impl::PyInterpreterStatus::DEFINITELY_UNINITIALIZED);
  }
  cacheIdle(bytes);
  const Tensor host = filledOnHost(bytes, kNew);
  copyBy(session, nameOf(seen), {.commits = 1, .blits = 1}, [&] { target.copy_(host, non_blocking); });
  if (seen == Seen::Python) {
    slot->unchecked_clear_pyobj(python());
  }
  if (target.storage().data() != buffer) {
    session.fault(Fault::State, std::string(nameOf(seen)) + " has another buffer after a copy into it");
  }
  expectValue(session, target, kNew, nameOf(seen));
}

// No idle buffer is to be had for that much: the GPU copies from the host's memory, and a blocking copy waits.
void toBusyLarge(Session& session, bool non_blocking) {
  settle(session);
  const size_t bytes = session.number("large_bytes");
  const Tensor target = emptyBytes(bytes, at::kMPS);
  fillLate(session, target, kOld);
  const Tensor host = filledOnHost(bytes, kNew);
  copyBy(session, "into a large tensor that the GPU uses",
         {.waits = non_blocking ? 0u : 1u, .commits = 1, .blits = 1, .host_buffers = 1},
         [&] { target.copy_(host, non_blocking); });
  expectValue(session, target, kNew, "a copy into a large tensor");
}

// How much a pool may grow so that the CPU does not wait: 4 MiB of small buffers, 16 MiB of large ones. The GPU does
// not move on meanwhile.
void growth(Session& session, size_t bytes, uint64_t most) {
  if (session.step() > 0) {
    settle(session); // before that the pool has not grown yet
  }
  Tensor target = emptyBytes(bytes, at::kMPS);
  const Tensor view = target.slice(0, 1);
  fillLate(session, target, kOld);
  const Tensor host = filledOnHost(bytes, kNew);
  for (uint64_t i = 0; i < most; i++) {
    copyBy(session, "into a tensor that the GPU uses, with room in the heap",
           {.commits = 1, .blits = 1, .heap_buffers = 1}, [&] { target.copy_(host, true); });
  }
  copyBy(session, "the same when the pool has grown enough", {.commits = 1, .blits = 1, .host_buffers = 1},
         [&] { target.copy_(host, true); });
  expectValue(session, target, kNew, "the last of many copies");
}

// The only heap is full, and a new one for a copy would be too much.
void toFullHeap(Session& session) {
  settle(session);
  constexpr size_t kHeap = 8 * kMiB;
  std::vector<Tensor> all;
  for (size_t i = 0; i < kHeap / kMiB; i++) {
    all.push_back(emptyBytes(kMiB, at::kMPS));
  }
  const Tensor view = all[0].slice(0, 1);
  fillLate(session, all[0], kOld);
  const Tensor host = filledOnHost(kMiB, kNew);
  copyBy(session, "into a tensor that the GPU uses, in a full heap", {.commits = 1, .blits = 1, .host_buffers = 1},
         [&] { all[0].copy_(host, true); });
  expectValue(session, all[0], kNew, "a copy with a full heap");
}

// Above the low watermark a pool of large buffers does not grow for a copy; one of small buffers may.
void underPressure(Session& session) {
  while (session.step() < session.steps()) {
    for (const size_t bytes : {kMiB / 2, 2 * kMiB}) {
      settle(session);
      const Tensor others = emptyBytes(2 * kMiB, at::kMPS);
      Tensor target = emptyBytes(bytes, at::kMPS);
      const Tensor view = target.slice(0, 1);
      fillLate(session, target, kOld);
      const Tensor host = filledOnHost(bytes, kNew);
      const bool may_grow = bytes <= kMiB;
      copyBy(session, may_grow ? "into a small busy tensor" : "into a large busy tensor",
             {.commits = 1, .blits = 1, .host_buffers = may_grow ? 0u : 1u, .heap_buffers = may_grow ? 1u : 0u},
             [&] { target.copy_(host, true); });
      expectValue(session, target, kNew, "a copy above the low watermark");
    }
    session.pass();
    session.endStep();
  }
}

void toDevice(Session& session) {
  while (session.step() < session.steps()) {
    growth(session, kMiB, 4);
    growth(session, 4 * kMiB, 4);
    toFullHeap(session);
    const size_t bytes = 64 + session.random()() % 100000;
    for (const bool non_blocking : {false, true}) {
      toIdle(session, bytes, non_blocking);
      toBusyFresh(session, bytes, non_blocking);
      for (const Seen seen : {Seen::View, Seen::Part, Seen::Python, Seen::Fixed}) {
        toBusySeen(session, bytes, non_blocking, seen);
      }
      toBusyLarge(session, non_blocking);
    }
    session.pass();
    session.endStep();
  }
}

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
    {"ways-to-device",
     "who copies and who waits when the host's data goes to the device",
     "ours",
     "copy",
     {"memcpy-copy"},
     4,
     40,
     true,
     Settings{{"large_bytes", "20971520"}, {"max_in_flight", "64"}},
     toDevice},
    {"ways-under-pressure",
     "whether a pool grows for a copy above the low watermark",
     "ours",
     "copy",
     {"memcpy-copy"},
     10,
     100,
     true,
     Settings{{"recommended_max_bytes", "67108864"}, {"low_watermark", "0.1"}, {"allocated_size_rule", "whole-heaps"}},
     underPressure},
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
