// See worker.h: what each verb does with the tree's own allocator, stream, events and copies.
#include "worker.h"
#include <ATen/mps/MPSEvent.h>
#include <ATen/ops/empty.h>
#include <simulated_metal/control.h>
#include <simulated_metal/kernel_graph.h>
#include <cstdio>
#include <cstring>
#include "../scheduler/sanitizers.h"
#include "ledger.h"
#include "model.h"
#include "report.h"
#include "shaped.h"

namespace explore {
namespace {

using at::mps::getDefaultMPSStream;
using at::mps::getIMPSAllocator;
using at::mps::SyncType;

constexpr uint64_t kMostCopied = 2 << 20; // larger memory is only touched by kernels
constexpr uint64_t kMostFromHost = 256 << 10;
constexpr uint64_t kMostShaped = 16 << 10;

class Worker {
 public:
  Worker(World& world, uint32_t thread) : world_(world), thread_(thread), value_((uint8_t)(thread * 60)) {
  }

  void run() {
    Growth growth;
    for (uint32_t round = 0; round < world_.trace.rounds; round++) {
      for (const Operation& operation : world_.trace.threads[thread_]) {
        perform(operation);
      }
      if (world_.trace.rounds > 1) {
        for (uint32_t i = 0; i < kSlotsOfThread; i++) {
          free(thread_ * kSlotsOfThread + i);
        }
        if (world_.trace.waits) {
          letGo();
        }
        growth.endRound(round);
      }
    }
    if (!world_.may_run_out) {
      growth.end(); // near a limit buffers are released and made anew
    }
  }

 private:
  World& world_;
  const uint32_t thread_;
  uint8_t value_;

  uint8_t nextValue() {
    value_ = value_ == 0xCA ? 1 : (uint8_t)(value_ + 1); // never one of the patterns of unwritten memory
    return value_;
  }

  static void hasValue(Slot& slot, uint8_t value, bool full) {
    slot.value = value;
    slot.has_value = true;
    slot.is_full = full;
  }

  // A slot for the length of an operation; other threads leave it alone.
  class Claim {
   public:
    explicit Claim(Slot& slot) : slot_(slot), claimed_(!slot.busy) {
      if (claimed_) {
        slot_.busy = true;
        sanitizers::receive(&slot_);
      }
    }
    ~Claim() {
      if (claimed_) {
        sanitizers::publish(&slot_);
        slot_.busy = false;
      }
    }
    Claim(const Claim&) = delete;
    Claim& operator=(const Claim&) = delete;
    bool isMine() const {
      return claimed_;
    }

   private:
    Slot& slot_;
    const bool claimed_;
  };

  void perform(const Operation& operation) {
    const std::string text = print(operation);
    report::doing(text.c_str());
    report::log("%s", text.c_str());
    report::current().operations++;
    @autoreleasepool {
      try {
        if (!hasSlot(operation.verb)) {
          withoutSlot(operation);
        } else if (operation.verb == Verb::Free) {
          free(operation.slot);
        } else {
          withSlot(operation);
        }
      } catch (const c10::Error& error) {
        failed(error.what_without_backtrace()); // the other one reads the symbols of all libraries
      } catch (const std::exception& error) {
        failed(error.what());
      }
    }
    report::doing("between operations");
    checkAccess();
    checkBooks(world_.slots);
  }

  void failed(const std::string& all) {
    const std::string line = all.substr(0, all.find('\n'));
    if (world_.may_run_out && line.find("out of memory") != std::string::npos) {
      report::current().out_of_memory++;
      report::log("out of memory");
      return;
    }
    report::violation("unexpected-error", line.c_str());
  }

  void free(uint32_t index) {
    Slot& slot = world_.slots[index];
    Claim claim(slot);
    if (!claim.isMine() || slot.kind == Slot::Kind::Empty) {
      return;
    }
    slot.kind = Slot::Kind::Empty;
    at::Tensor tensor = std::move(slot.tensor);
    c10::DataPtr pointer = std::move(slot.pointer);
    slot.tensor = at::Tensor();
    tensor.reset();
    pointer.clear();
  }

  void withoutSlot(const Operation& operation) {
    switch (operation.verb) {
      case Verb::Commit:
        return synchronize(SyncType::COMMIT);
      case Verb::Wait:
        return synchronize(SyncType::COMMIT_AND_WAIT);
      case Verb::EmptyCache:
        return emptyCache();
      case Verb::FreeInactive:
        return getIMPSAllocator()->freeInactiveBuffers();
      case Verb::EventRecord:
        return recordEvent();
      default:
        for (uint64_t i = 0; i < operation.number; i++) {
          scheduler::step("pause");
        }
    }
  }

  void emptyCache() {
    getIMPSAllocator()->emptyCache();
    if (world_.workers > 1) {
      return;
    }
    if (simulated_metal::configuration().drop_order == simulated_metal::DropOrder::AfterWait) {
      // a scalar that the last command buffer's handler frees is still held at that time
      getIMPSAllocator()->emptyCache();
    }
    checkOnlyLive(world_.slots);
  }

  static void recordEvent() {
    auto pool = at::mps::getMPSEventPool();
    const auto event = pool->acquireEvent(false);
    pool->recordEvent(event, /*syncEvent=*/true);
    pool->synchronizeEvent(event);
    if (!pool->queryEvent(event)) {
      report::violation("wrong-order", "an event was synchronized with, and has not been reached");
    }
    pool->releaseEvent(event);
  }

  void withSlot(const Operation& operation) {
    Slot& slot = world_.slots[operation.slot];
    Claim claim(slot);
    if (!claim.isMine()) {
      return;
    }
    const bool makes = makesSlot(operation.verb);
    if (makes != (slot.kind == Slot::Kind::Empty)) {
      return; // shrinking took away what it needs
    }
    if (makes) {
      make(operation, slot);
    } else {
      use(operation, slot);
    }
  }

  void make(const Operation& operation, Slot& slot) {
    slot.bytes = operation.number;
    slot.has_value = slot.is_full = false;
    switch (operation.verb) {
      case Verb::Pinned:
        makePinned(operation, slot);
        break;
      case Verb::Scalar:
        makeScalar(operation, slot);
        break;
      case Verb::Shaped:
        makeShaped(slot, operation.slot, operation.number);
        break;
      default:
        makeTensor(operation, slot);
    }
    if (slot.kind != Slot::Kind::Empty) {
      report::mix((uint64_t)(uintptr_t)slot.buffer());
    }
  }

  void makeTensor(const Operation& operation, Slot& slot) {
    if (operation.verb != Verb::Tensor && slot.bytes > kMostFromHost) {
      slot.bytes = kMostFromHost;
    }
    slot.tensor = at::empty({(int64_t)slot.bytes}, at::TensorOptions().dtype(at::kByte).device(at::kMPS));
    slot.kind = Slot::Kind::Tensor;
    if (operation.verb != Verb::Tensor) {
      toDevice(slot, operation.verb == Verb::FromHostAsync);
    }
  }

  void makePinned(const Operation& operation, Slot& slot) {
    auto* allocator = getIMPSAllocator(/*sharedAllocator=*/true);
    if (!allocator) {
      return; // not on this device
    }
    slot.pointer = allocator->allocate(slot.bytes);
    slot.kind = Slot::Kind::Pinned;
    checkIdle(slot.pointer.get(), operation.slot);
    const auto shared = allocator->getSharedBufferPtr(slot.pointer.get());
    auto* memory = static_cast<uint8_t*>(const_cast<void*>(shared.first));
    const uint8_t value = nextValue();
    atSomeBytes(slot.bytes, [&](uint64_t offset, uint64_t length) { write(memory + offset, length, value); });
    hasValue(slot, value, slot.bytes <= kMostWhole);
  }

  void makeScalar(const Operation& operation, Slot& slot) {
    uint8_t bytes[8];
    const uint8_t value = nextValue();
    memset(bytes, value, sizeof bytes);
    slot.bytes = operation.number;
    slot.pointer = getIMPSAllocator()->allocScalarBufferWithValue(bytes, slot.bytes);
    slot.kind = Slot::Kind::Scalar;
    hasValue(slot, value, true);
  }

  void use(const Operation& operation, Slot& slot) {
    switch (operation.verb) {
      case Verb::ToDevice:
      case Verb::ToDeviceAsync:
        if (slot.kind == Slot::Kind::Tensor && slot.bytes <= kMostFromHost) {
          toDevice(slot, operation.verb == Verb::ToDeviceAsync);
        }
        return;
      case Verb::ToHost:
      case Verb::ToHostAsync:
      case Verb::ToHostDropped:
        if (slot.kind == Slot::Kind::Tensor && slot.is_full && slot.bytes <= kMostCopied) {
          toHost(operation, slot);
        }
        return;
      case Verb::ViewToDevice:
      case Verb::ViewToHost:
        if (slot.kind == Slot::Kind::Tensor && slot.bytes <= kMostShaped) {
          copyView(slot, operation.slot, operation.number,
                   operation.verb == Verb::ViewToDevice ? Direction::ToDevice : Direction::ToHost);
        }
        return;
      case Verb::Resize:
        if (slot.kind == Slot::Kind::Tensor && slot.bytes <= kMostShaped) {
          resizeView(slot, operation.slot, operation.number);
        }
        return;
      case Verb::Fill:
        if (slot.kind != Slot::Kind::Scalar && slot.bytes <= kMostCopied) {
          hasValue(slot, nextValue(), true);
          getDefaultMPSStream()->fill(slot.buffer(), slot.value, slot.bytes, 0, SyncType::NONE);
        }
        return;
      case Verb::Blit:
        return blit(operation, slot);
      case Verb::Kernel:
        return kernel(operation, slot);
      case Verb::EventWait:
        if (slot.kind == Slot::Kind::Pinned) {
          waitForEvent(operation, slot);
        }
        return;
      case Verb::Shape:
        return shape(slot);
      default:
        return;
    }
  }

  void toDevice(Slot& slot, bool non_blocking) {
    hasValue(slot, nextValue(), true);
    at::Tensor host = hostTensor(slot.bytes, slot.value);
    const uint64_t waits = simulated_metal::counters().blocking_waits;
    slot.tensor.copy_(host, non_blocking);
    // others may have waited meanwhile, or somebody for memory
    if (non_blocking && world_.workers == 1 && !world_.may_run_out &&
        simulated_metal::counters().blocking_waits != waits) {
      report::violation("needless-wait", "a non_blocking copy to the device waited for the GPU");
    }
  }

  void toHost(const Operation& operation, Slot& slot) {
    at::Tensor host = hostTensor(slot.bytes, 0);
    host.copy_(slot.tensor, operation.verb != Verb::ToHost);
    if (operation.verb == Verb::ToHostDropped) {
      return;
    }
    if (operation.verb == Verb::ToHostAsync) {
      synchronize(SyncType::COMMIT_AND_WAIT);
    }
    expect(static_cast<const uint8_t*>(host.const_data_ptr()), slot.bytes, slot.value, "a copy to the host",
           operation.slot);
  }

  void blit(const Operation& operation, Slot& from) {
    Slot& to = world_.slots[operation.other];
    Claim claim(to);
    if (!claim.isMine() || to.kind == Slot::Kind::Empty || to.kind == Slot::Kind::Scalar || !from.is_full ||
        to.bytes > kMostCopied || from.bytes < to.bytes) {
      return;
    }
    getDefaultMPSStream()->copy(from.buffer(), to.buffer(), to.bytes, 0, 0, 0, SyncType::NONE);
    hasValue(to, from.value, true);
  }

  // As PyTorch encodes one: through executeMPSGraph, which commits under memory pressure.
  void kernel(const Operation& operation, Slot& from) {
    Slot& to = world_.slots[operation.other];
    Claim claim(to);
    const bool writes = claim.isMine() && to.kind != Slot::Kind::Empty && to.kind != Slot::Kind::Scalar;
    @autoreleasepool {
      SMKernelGraph* graph = [[SMKernelGraph new] autorelease];
      graph->_reads.push_back(from.buffer());
      const auto* read = static_cast<const uint8_t*>(simulated_metal::hostPointer(from.buffer()));
      const uint64_t read_bytes = from.has_value ? from.bytes : 0;
      const uint8_t read_value = from.value;
      uint8_t* written = nullptr;
      uint64_t written_bytes = 0;
      uint8_t written_value = 0;
      if (writes) {
        graph->_writes.push_back(to.buffer());
        written = static_cast<uint8_t*>(simulated_metal::hostPointer(to.buffer()));
        written_bytes = to.bytes;
        written_value = nextValue();
      }
      const uint32_t slot = operation.slot;
      graph->_function = [=] {
        expect(read, read_bytes, read_value, "a kernel", slot);
        atSomeBytes(written_bytes,
                    [&](uint64_t offset, uint64_t length) { write(written + offset, length, written_value); });
      };
      getDefaultMPSStream()->executeMPSGraph(graph, nil, nil, SyncType::COMMIT_ADAPTIVE);
      if (writes) {
        hasValue(to, written_value, to.bytes <= kMostWhole);
      }
    }
  }

  void waitForEvent(const Operation& operation, Slot& slot) {
    auto* allocator = getIMPSAllocator(/*sharedAllocator=*/true);
    const void* pointers[] = {slot.pointer.get()};
    const void* const* list = pointers;
    const ledger::Aside events;
    dispatch_sync(getDefaultMPSStream()->queue(), ^() {
      allocator->recordEvents(c10::ArrayRef<const void*>(list, 1));
    });
    synchronize(SyncType::COMMIT);
    allocator->waitForEvents(c10::ArrayRef<const void*>(list, 1));
    if (slot.has_value) {
      const auto shared = allocator->getSharedBufferPtr(slot.pointer.get());
      expect(static_cast<const uint8_t*>(shared.first), slot.bytes, slot.value, "the CPU, after the event,",
             operation.slot);
    }
  }

  static void shape(const Slot& slot) {
    const int64_t sizes[] = {(int64_t)slot.bytes, 1};
    auto* allocator = getIMPSAllocator();
    allocator->setBufferShape(slot.buffer(), at::IntArrayRef(sizes, 2));
    const auto read = allocator->getBufferShape(slot.buffer());
    if (read.size() != 2 || read[0] != sizes[0]) {
      report::violation("state", "a shape was set, and is not there");
    }
  }
};

} // namespace

void synchronize(SyncType type) {
  @autoreleasepool {
    auto* stream = getDefaultMPSStream();
    dispatch_sync(stream->queue(), ^() {
      stream->synchronize(type);
    });
  }
}

void letGo() {
  synchronize(SyncType::COMMIT_AND_WAIT);
  auto* stream = getDefaultMPSStream();
  dispatch_sync(stream->queue(), ^() {
    stream->commandBuffer();
  });
  synchronize(SyncType::COMMIT_AND_WAIT);
  simulated_metal::waitIdle();
}

void work(World& world, uint32_t thread) {
  Worker(world, thread).run();
}

} // namespace explore
