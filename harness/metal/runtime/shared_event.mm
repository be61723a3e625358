// MTLSharedEvent. Known: a monotonic value, set by the CPU or by the GPU at an encoded signal; a listener's block runs
// on another thread once the value is reached. Assumed, with a setting: blocks of all listeners run one after the other
// in the order of their signals (notification_order); nothing promises it, and a program that needs it has a race. A
// notification for a value that nobody has committed yet waits for the commit, as on a real GPU. With the virtual clock a listener's wait lets time pass until the signal: the
// program has no other way to block for an event on the CPU.
#import "shared_event.h"
#include <Block.h>
#include <simulated_metal/control.h>
#include <simulated_metal/hooks.h>
#include <algorithm>
#include <deque>
#include <functional>
#include <thread>
#include <vector>

using namespace simulated_metal;

// Runs blocks one after the other on a thread of its own.
struct SMListenerThread {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::pair<MTLSharedEventListener*, std::function<void()>>> blocks;
  MTLSharedEventListener* running = nullptr;
  bool stopping = false;
  std::thread thread{[this] { run(); }};

  void run() {
    hooks::thread("listener");
    GSRegisterCurrentThread();
    std::unique_lock<std::mutex> lock(mutex);
    for (;;) {
      changed.wait(lock, [this] { return stopping || !blocks.empty(); });
      if (blocks.empty()) {
        return;
      }
      auto [listener, block] = std::move(blocks.front());
      blocks.pop_front();
      running = listener;
      lock.unlock();
      @autoreleasepool {
        block();
      }
      block = nullptr;
      lock.lock();
      running = nullptr;
      changed.notify_all();
    }
  }

  void post(MTLSharedEventListener* listener, std::function<void()> block) {
    {
      std::lock_guard<std::mutex> lock(mutex);
      blocks.emplace_back(listener, std::move(block));
    }
    changed.notify_all();
  }

  bool isCurrent() const {
    return thread.get_id() == std::this_thread::get_id();
  }

  // Returns once no block of this listener waits or runs.
  void drain(MTLSharedEventListener* listener) {
    std::unique_lock<std::mutex> lock(mutex);
    changed.wait(lock, [&] {
      const bool waits =
          std::any_of(blocks.begin(), blocks.end(), [&](const auto& entry) { return entry.first == listener; });
      return !waits && running != listener;
    });
  }

  void stop() {
    {
      std::lock_guard<std::mutex> lock(mutex);
      stopping = true;
    }
    changed.notify_all();
    thread.join();
  }

  // The one that all listeners share when their order is kept.
  static SMListenerThread* shared() {
    static auto* thread = new SMListenerThread; // lives as long as the process: events may outlive any other object
    return thread;
  }
};

@implementation MTLSharedEventListener
- (id)init {
  self = [super init];
  const bool in_order = configuration().notification_order == NotificationOrder::InOrder;
  _thread = in_order ? SMListenerThread::shared() : new SMListenerThread;
  return self;
}
- (void)dealloc {
  const bool own = _thread != SMListenerThread::shared();
  if (_thread->isCurrent()) { // released by its own last block
    if (own) {
      std::lock_guard<std::mutex> lock(_thread->mutex);
      _thread->stopping = true;
      _thread->thread.detach(); // the few bytes are leaked
    }
  } else if (own) {
    _thread->stop();
    delete _thread;
  } else {
    _thread->drain(self);
  }
  [super dealloc];
}
@end

@implementation SMSharedEvent

- (id)init {
  self = [super init];
  _mutex = new std::mutex;
  _changed = new std::condition_variable;
  _committed = new std::map<uint64_t, timeline::Ticket>;
  _notifications = new std::multimap<uint64_t, MTLSharedEventNotificationBlock>;
  return self;
}

- (void)dealloc {
  for (const auto& [value, block] : *_notifications) {
    Block_release(block);
  }
  delete _notifications;
  delete _committed;
  delete _changed;
  delete _mutex;
  [super dealloc];
}

- (uint64_t)signaledValue {
  std::lock_guard<std::mutex> lock(*_mutex);
  return _signaledValue;
}

- (void)setSignaledValue:(uint64_t)value {
  std::vector<MTLSharedEventNotificationBlock> due;
  {
    std::lock_guard<std::mutex> lock(*_mutex);
    _signaledValue = value;
    const auto end = _notifications->upper_bound(value);
    for (auto it = _notifications->begin(); it != end; ++it) {
      due.push_back(it->second);
    }
    _notifications->erase(_notifications->begin(), end);
    _committed->erase(_committed->begin(), _committed->upper_bound(value));
    _changed->notify_all();
  }
  for (auto block : due) {
    block((id<MTLSharedEvent>)self, value);
    Block_release(block);
  }
}

- (void)didEncodeSignal:(uint64_t)value {
  std::lock_guard<std::mutex> lock(*_mutex);
  _encodedValue = std::max(_encodedValue, value);
}

- (void)willSignal:(uint64_t)value at:(timeline::Ticket)ticket {
  bool awaited = false;
  {
    std::lock_guard<std::mutex> lock(*_mutex);
    _committed->emplace(value, ticket);
    awaited = _awaitedValue >= value;
  }
  if (awaited) {
    timeline::demand(ticket);
  }
}

- (void)waitOnGPU:(uint64_t)value {
  std::unique_lock<std::mutex> lock(*_mutex);
  _changed->wait(lock, [self, value] { return _signaledValue >= value; });
}

- (void)notifyListener:(MTLSharedEventListener*)listener
               atValue:(uint64_t)value
                 block:(MTLSharedEventNotificationBlock)block {
  MTLSharedEventNotificationBlock kept = Block_copy(block);
  SMListenerThread* thread = listener->_thread;
  MTLSharedEventNotificationBlock post = Block_copy(^(id<MTLSharedEvent> event, uint64_t reached) {
    [(id)event retain];
    thread->post(listener, [kept, event, reached] {
      kept(event, reached);
      Block_release(kept);
      [(id)event release];
    });
  });
  bool reached = false;
  bool committed = false;
  timeline::Ticket ticket;
  {
    std::lock_guard<std::mutex> lock(*_mutex);
    reached = _signaledValue >= value;
    if (!reached) {
      _notifications->emplace(value, post);
      if (_encodedValue >= value) { // the CPU blocks for it; a timing record asks before it encodes the signal
        counters().waits++;
        counters().blocking_waits++;
        _awaitedValue = std::max(_awaitedValue, value);
        const auto signal = _committed->lower_bound(value);
        committed = signal != _committed->end();
        ticket = committed ? signal->second : ticket;
      }
    }
  }
  if (committed) {
    timeline::demand(ticket);
  }
  if (reached) {
    post((id<MTLSharedEvent>)self, value);
    Block_release(post);
  }
}

@end
