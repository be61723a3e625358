// See run.h.
#include "run.h"
#include <ATen/Parallel.h>
#include <ATen/mps/MPSEvent.h>
#include <ATen/ops/empty.h>
#include <simulated_metal/control.h>
#include <simulated_metal/hooks.h>
#include <cstdlib>
#include <thread>
#include "../../metal/audit/allocator_audit.h"
#include "../scheduler/threads.h"
#include "ledger.h"
#include "model.h"
#include "scenario_case.h"
#include "worker.h"

extern "C" BOOL GSRegisterCurrentThread(void);

namespace explore {
namespace {

constexpr uint64_t kMostSteps = 1000000;
uint64_t heaps_made = 0;
uint64_t refused_heap = 0;

// Where the heaps are in the allocator's sets decides what happens next: no look at them without its mutex.
void lookAtHeap() {
  if (!scheduler::holds(umpatch::audit::mutex())) {
    report::violation("unlocked", "a heap's room is asked for, or taken, without the allocator's mutex");
  }
}

bool refuse(uint64_t) {
  return ++heaps_made == refused_heap;
}

void onDeadlock(const char* explanation) {
  report::violation("deadlock", explanation);
}
void onEndless(const char* explanation) {
  report::violation("endless", explanation);
}
void onSwitch(uint64_t, int from, int to, const char* where) {
  report::log("%s: on to %s", where, scheduler::threadName(to));
  (void)from;
}

void setHooks() {
  auto& hooks = simulated_metal::hooks::all();
  hooks.step = scheduler::step;
  hooks.thread = scheduler::nameThread;
  hooks.heap = lookAtHeap;
  hooks.refuse_heap = refuse;
  hooks.owns = scheduler::owns;
  hooks.gives_up = scheduler::givesUp;
  hooks.waits = scheduler::waits;
  hooks.goes_on = scheduler::goesOn;
  scheduler::alarms() = {onDeadlock, onEndless, onSwitch};
}

void applySettings(const Trace& trace) {
  simulated_metal::set_setting("clock", "wall"); // time is what the schedule says
  for (const auto& [name, value] : trace.settings) {
    if (name == "high_watermark" || name == "low_watermark") {
      setenv(name == "high_watermark" ? "PYTORCH_MPS_HIGH_WATERMARK_RATIO" : "PYTORCH_MPS_LOW_WATERMARK_RATIO",
             value.c_str(), 1);
    } else if (!simulated_metal::set_setting(name, value)) {
      report::violation("usage", ("no setting " + name + "=" + value).c_str());
    }
  }
}

bool mayRunOut(const Trace& trace) {
  return trace.settings.count("recommended_max_bytes") || trace.settings.count("hard_limit_bytes") ||
         trace.settings.count("high_watermark");
}

// What is made on first use is made by one thread; first use by several is another question.
void touchEverything() {
  at::mps::getIMPSAllocator();
  auto* pinned = at::mps::getIMPSAllocator(true);
  auto tensor = at::empty({16}, at::TensorOptions().dtype(at::kByte).device(at::kMPS));
  at::mps::getDefaultMPSStream()->fill((id<MTLBuffer>)const_cast<void*>(tensor.storage().data()), 1, 16, 0,
                                       at::mps::SyncType::NONE);
  auto pool = at::mps::getMPSEventPool();
  const auto event = pool->acquireEvent(false);
  pool->recordEvent(event, true);
  pool->synchronizeEvent(event);
  pool->releaseEvent(event);
  tensor.reset();
  if (pinned) {
    pinned->allocate(16).clear();
  }
  synchronize(at::mps::SyncType::COMMIT_AND_WAIT);
  simulated_metal::waitIdle();
  at::mps::getIMPSAllocator()->emptyCache();
  scheduler::nameMutex(umpatch::audit::mutex(), "of the allocator");
}

void settle(World& world) {
  report::doing("the end: everything is freed");
  for (Slot& slot : world.slots) {
    slot.tensor = at::Tensor();
    slot.pointer.clear();
    slot.kind = Slot::Kind::Empty;
  }
  synchronize(at::mps::SyncType::COMMIT_AND_WAIT);
  simulated_metal::waitIdle();
  checkBooks(world.slots);
  report::doing("the end: the cache is emptied");
  at::mps::getIMPSAllocator()->emptyCache();
  letGo();
  checkBooks(world.slots);
  checkAccess();
  checkNothingLeft();
  checkGivenUp();
}

} // namespace

void warmUp() {
  at::set_num_threads(1);
  at::Tensor a = at::empty({16}, at::TensorOptions().dtype(at::kByte));
  at::Tensor b = at::empty({16}, at::TensorOptions().dtype(at::kByte));
  a.copy_(b);
  @autoreleasepool {
    // Foundation looks at dozens of character sets when it is first used
    [NSString availableStringEncodings];
    [[NSProcessInfo processInfo] processName];
    NSString* text = [NSString stringWithUTF8String:"first use"];
    [NSString stringWithCString:[text UTF8String] encoding:NSASCIIStringEncoding];
    [NSArray arrayWithObject:text];
    [NSDictionary dictionaryWithObject:text forKey:text];
    [NSThread currentThread];
    [MTLCreateSystemDefaultDevice() release];
  }
}

void run(const Trace& trace, Report* report, report::Detail detail) {
  report::begin(report, detail);
  setHooks();
  const bool is_case = !trace.scenario_case.scenario.empty();
  if (!is_case) {
    applySettings(trace);
  }
  Policy policy = trace.policy;
  policy.decisions = trace.decisions.data();
  policy.decision_count = trace.decisions.size();
  scheduler::start(policy, kMostSteps, {report->decisions, kMostKept, &report->decision_count, &report->steps});
  if (is_case) {
    runCase(trace);
    report::mix(scheduler::steps());
    report::clean();
  }
  @autoreleasepool {
    touchEverything();
    ledger::begin();
    refused_heap = trace.refused_heap;
    const uint32_t workers = (uint32_t)trace.threads.size();
    World world{trace, std::vector<Slot>(workers * kSlotsOfThread), workers, mayRunOut(trace)};
    std::vector<std::thread> threads;
    for (uint32_t i = 0; i < workers; i++) {
      threads.emplace_back([&world, i] {
        scheduler::nameThread(("T" + std::to_string(i + 1)).c_str());
        GSRegisterCurrentThread();
        work(world, i);
      });
    }
    scheduler::preempt();
    for (auto& thread : threads) {
      thread.join();
    }
    settle(world);
  }
  report::mix(scheduler::steps());
  report::clean();
}

} // namespace explore
