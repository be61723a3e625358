// Which way a copy to the device goes.
// Each case is one that the contents cannot tell apart. What is expected is what can be had on unified memory; stock
// does not.
#include <c10/core/impl/PyInterpreter.h>
#include <algorithm>
#include "../copy_way.h"

namespace umpatch {
namespace {

// A buffer of that size is in the cache, and the GPU does not use it.
void cacheIdle(size_t bytes) {
  emptyBytes(bytes, at::kMPS);
}

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

// A buffer that was made for a copy is as large as any other of its size: it is used again.
void madeForCopy(Session& session, size_t bytes) {
  settle(session);
  const Tensor target = emptyBytes(bytes, at::kMPS);
  const Tensor view = target.slice(0, 1);
  fillLate(session, target, kOld);
  const Tensor host = filledOnHost(bytes, kNew);
  copyBy(session, "into a tensor that the GPU uses", {.commits = 1, .blits = 1, .heap_buffers = 1},
         [&] { Tensor(target).copy_(host, true); });
  expectValue(session, target, kNew, "a copy by a new buffer");
  session.pass(1000);
  const uint64_t before = simulated_metal::counters().heap_buffers_created;
  const Tensor again = emptyBytes(bytes, at::kMPS);
  if (simulated_metal::counters().heap_buffers_created != before) {
    session.fault(Fault::State, "the buffer that was made for a copy does not fit an allocation of the same size");
  }
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

// Above the low watermark a pool of large buffers does not grow for a copy, 1 MiB below it it may; one of small
// buffers always may.
void underPressure(Session& session) {
  while (session.step() < session.steps()) {
    for (const size_t bytes : {kMiB / 2, 2 * kMiB}) {
      settle(session);
      const Tensor others = emptyBytes(2 * kMiB, at::kMPS);
      Tensor target = emptyBytes(bytes, at::kMPS);
      const Tensor view = target.slice(0, 1);
      fillLate(session, target, kOld);
      const Tensor host = filledOnHost(bytes, kNew);
      const bool may_grow = bytes <= kMiB || session.number("large_may_grow");
      copyBy(session, bytes <= kMiB ? "into a small busy tensor" : "into a large busy tensor",
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
    settle(session); // of the small pool too
    const size_t rounded = std::max<size_t>(16384, simulated_metal::configuration().heap_alignment);
    growth(session, rounded - 255, 4 * kMiB / rounded);
    madeForCopy(session, rounded - 255);
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
     Settings{{"large_bytes", "20971520"}, {"max_in_flight", "512"}},
     toDevice},
    {"ways-under-pressure",
     "whether a pool grows for a copy above the low watermark",
     "ours",
     "copy",
     {"memcpy-copy"},
     10,
     100,
     true,
     Settings{{"recommended_max_bytes", "67108864"},
              {"low_watermark", "0.1"},
              {"allocated_size_rule", "whole-heaps"},
              {"large_may_grow", "0"}},
     underPressure},
    {"ways-below-pressure",
     "whether a pool grows for a copy 1 MiB below the low watermark",
     "ours",
     "copy",
     {"memcpy-copy"},
     10,
     100,
     true,
     Settings{{"recommended_max_bytes", "69206016"}, // twice a heap of large buffers and 1 MiB
              {"low_watermark", "0.5"},
              {"allocated_size_rule", "whole-heaps"},
              {"large_may_grow", "1"}},
     underPressure},
});

} // namespace
} // namespace umpatch
