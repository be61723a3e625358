// MTLCommandQueue. Known: command buffers of a queue execute in the order in which they are enqueued (here: committed);
// -commandBuffer blocks while maxCommandBufferCount (64) uncompleted ones exist.
// Assumed: one command buffer at a time. Real GPUs overlap independent ones, but never so that it could be observed on
// tracked resources, which is what PyTorch uses.
#import "command_queue.h"
#import "command_buffer.h"
#include "timeline.h"
#include <simulated_metal/control.h>
#include <simulated_metal/hooks.h>

using namespace simulated_metal;

@implementation SMCommandQueue

- (id)initWithDevice:(SMDevice*)device {
  self = [super init];
  _device = device;
  _mutex = new std::mutex;
  _changed = new std::condition_variable;
  _committed = new std::deque<SMCommandBuffer*>;
  SMCommandQueue* queue = self; // not retained by its own thread
  _gpu = new std::thread([queue] { [queue run]; });
  return self;
}

- (void)run {
  hooks::thread("GPU");
  GSRegisterCurrentThread();
  for (;;) {
    SMCommandBuffer* buffer = nil;
    {
      std::unique_lock<std::mutex> lock(*_mutex);
      _changed->wait(lock, [self] { return _stopping || !_committed->empty(); });
      if (_committed->empty()) {
        return;
      }
      buffer = _committed->front();
      _committed->pop_front();
    }
    @autoreleasepool {
      [buffer execute];
    }
    [buffer release];
  }
}

- (void)dealloc {
  {
    std::lock_guard<std::mutex> lock(*_mutex);
    _stopping = YES;
  }
  _changed->notify_all();
  if (_gpu->get_id() == std::this_thread::get_id()) {
    _gpu->detach();
  } else {
    _gpu->join();
  }
  delete _gpu;
  delete _committed;
  delete _changed;
  delete _mutex;
  [super dealloc];
}

- (id<MTLDevice>)device {
  return (id<MTLDevice>)_device;
}

- (id<MTLCommandBuffer>)commandBuffer {
  {
    std::unique_lock<std::mutex> lock(*_mutex);
    if (_uncompleted >= configuration().max_in_flight) {
      counters().throttled++;
      lock.unlock();
      timeline::demandOldest();
      lock.lock();
      hooks::Waiting waiting(self, "room for a command buffer");
      _changed->wait(lock, [self] { return _uncompleted < configuration().max_in_flight; });
    }
    _uncompleted++;
  }
  return (id<MTLCommandBuffer>)[[[SMCommandBuffer alloc] initWithQueue:self] autorelease];
}

- (void)submit:(SMCommandBuffer*)buffer {
  {
    std::lock_guard<std::mutex> lock(*_mutex);
    _committed->push_back([buffer retain]);
  }
  _changed->notify_all();
}

- (void)forget {
  {
    std::lock_guard<std::mutex> lock(*_mutex);
    _uncompleted--;
  }
  _changed->notify_all();
}

@end
