// MTLSharedEvent. Known: a monotonic value, set by the CPU or by the GPU at an encoded signal; a listener's block runs
// on the listener's own thread once the value is reached. A notification for a value that nobody has committed yet
// waits for the commit, as on a real GPU. With the virtual clock a listener's wait lets time pass until the signal: the
// program has no other way to block for an event on the CPU.
#import "shared_event.h"
#include <Block.h>
#include <simulated_metal/control.h>
#include <deque>
#include <functional>
#include <thread>
#include <vector>

using namespace simulated_metal;

struct SMListenerThread {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<void()>> blocks;
  bool stopping = false;
  std::thread thread;

  void run() {
    GSRegisterCurrentThread();
    for (;;) {
      std::function<void()> block;
      {
        std::unique_lock<std::mutex> lock(mutex);
        changed.wait(lock, [this] { return stopping || !blocks.empty(); });
        if (blocks.empty()) {
          return;
        }
        block = std::move(blocks.front());
        blocks.pop_front();
      }
      @autoreleasepool {
        block();
      }
    }
  }

  void post(std::function<void()> block) {
    {
      std::lock_guard<std::mutex> lock(mutex);
      blocks.push_back(std::move(block));
    }
    changed.notify_one();
  }
};

@implementation MTLSharedEventListener
- (id)init {
  self = [super init];
  auto* thread = _thread = new SMListenerThread;
  thread->thread = std::thread([thread] { thread->run(); });
  return self;
}
- (void)dealloc {
  {
    std::lock_guard<std::mutex> lock(_thread->mutex);
    _thread->stopping = true;
  }
  _thread->changed.notify_all();
  if (_thread->thread.get_id() == std::this_thread::get_id()) {
    _thread->thread.detach(); // released by its own last block: the few bytes are leaked
  } else {
    _thread->thread.join();
    delete _thread;
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
    thread->post([kept, event, reached] {
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
