// MTLCommandBuffer. Known: resources are retained from encoding until the command buffer has completed, also before it
// is committed; completed handlers run before waitUntilCompleted returns; encoding or adding handlers after commit, and
// waiting before it, are programming errors (Metal's validation aborts; so does this).
// Assumed, with a setting: when the references go (drop_order), one reference per buffer and command buffer
// (retain_rule), the effect of commands (mode), the time that they take (gpu_us_per_*).
#import "command_buffer.h"
#import "buffer.h"
#import "command_queue.h"
#import "encoders.h"
#import "shared_event.h"
#include <Block.h>
#include <simulated_metal/control.h>
#include <simulated_metal/hooks.h>
#include <cstdio>
#include <cstdlib>

using namespace simulated_metal;

namespace {

[[noreturn]] void refuse(const char* what) {
  fprintf(stderr, "simulated Metal: %s\n", what);
  abort();
}

} // namespace

@implementation SMCommandBuffer

- (id)initWithQueue:(SMCommandQueue*)queue {
  self = [super init];
  _queue = [queue retain];
  _counted = YES;
  _commands = new std::vector<std::function<void()>>;
  _references = new std::vector<id>;
  _referenced = new std::unordered_set<id>;
  _accesses = new std::vector<SMAccess>;
  _signals = new std::vector<std::pair<SMSharedEvent*, uint64_t>>;
  _completedHandlers = new std::vector<MTLCommandBufferHandler>;
  _scheduledHandlers = new std::vector<MTLCommandBufferHandler>;
  _mutex = new std::mutex;
  _changed = new std::condition_variable;
  return self;
}

- (void)dealloc {
  [self dropReferences];
  for (auto handler : *_completedHandlers) {
    Block_release(handler);
  }
  for (auto handler : *_scheduledHandlers) {
    Block_release(handler);
  }
  if (_counted) {
    [_queue forget];
  }
  delete _commands;
  delete _references;
  delete _referenced;
  delete _accesses;
  delete _signals;
  delete _completedHandlers;
  delete _scheduledHandlers;
  delete _changed;
  delete _mutex;
  [_queue release];
  [super dealloc];
}

// These commands are done, or never will be: the CPU may have the memory (an event may have told it so), whenever the
// command buffer completes and its references go.
- (void)endAccessesOfCommandsBefore:(size_t)end {
  auto access = _accesses->begin();
  for (; access != _accesses->end() && access->command < end; ++access) {
    access_guard::end(access->buffer->_cpuPointer + access->offset, access->length, access->use);
  }
  _accesses->erase(_accesses->begin(), access);
}

- (void)dropReferences {
  [self endAccessesOfCommandsBefore:SIZE_MAX];
  _commands->clear();
  for (id reference : *_references) {
    [reference release];
  }
  _references->clear();
  _referenced->clear();
}

- (void)reference:(id)resource {
  if (!resource) {
    return;
  }
  const bool is_new = _referenced->insert(resource).second;
  if (is_new || configuration().retain_rule == RetainRule::PerCommand) {
    _references->push_back([resource retain]);
  }
}

- (void)encode:(std::function<void()>)command accesses:(std::vector<SMAccess>)accesses {
  for (const auto& access : accesses) {
    [self reference:access.buffer];
  }
  if (configuration().mode == Mode::EagerRetire) {
    if (_status >= MTLCommandBufferStatusCommitted) {
      refuse("encoding into a committed command buffer");
    }
    command();
    counters().commands++;
    _commandCount++;
    return;
  }
  if (configuration().cpu_access == CpuAccess::Checked) {
    for (const auto& access : accesses) {
      access_guard::begin(access.buffer->_cpuPointer + access.offset, access.length, access.use);
      _accesses->push_back(access);
      _accesses->back().command = _commands->size();
    }
  }
  [self encodeInOrder:std::move(command)];
}

- (void)encodeInOrder:(std::function<void()>)command {
  hooks::step("encode");
  if (_status >= MTLCommandBufferStatusCommitted) {
    refuse("encoding into a committed command buffer");
  }
  counters().commands++;
  _commandCount++;
  _commands->push_back(std::move(command));
}

- (MTLCommandBufferStatus)status {
  std::lock_guard<std::mutex> lock(*_mutex);
  return _status;
}
- (NSError*)error {
  return nil;
}
- (CFTimeInterval)GPUStartTime {
  return _gpuStart;
}
- (CFTimeInterval)GPUEndTime {
  return _gpuEnd;
}
- (CFTimeInterval)kernelStartTime {
  return _kernelStart;
}
- (CFTimeInterval)kernelEndTime {
  return _kernelEnd;
}
- (void)enqueue {
}

- (void)commit {
  hooks::step("commit");
  {
    std::lock_guard<std::mutex> lock(*_mutex);
    if (_status >= MTLCommandBufferStatusCommitted) {
      refuse("commit of an already committed command buffer");
    }
    _status = MTLCommandBufferStatusCommitted;
  }
  counters().command_buffers_committed++;
  const auto& settings = configuration();
  _costMicroseconds = settings.gpu_us_per_command_buffer + settings.gpu_us_per_command * _commandCount;
  _ticket = timeline::commit(_costMicroseconds);
  for (const auto& [event, value] : *_signals) {
    [event willSignal:value at:_ticket];
  }
  [_queue submit:self];
}

- (void)waitUntilCompleted {
  counters().waits++;
  std::unique_lock<std::mutex> lock(*_mutex);
  if (_status < MTLCommandBufferStatusCommitted) {
    refuse("waitUntilCompleted on an uncommitted command buffer");
  }
  if (_finished) {
    return;
  }
  counters().blocking_waits++;
  lock.unlock();
  timeline::demand(_ticket);
  lock.lock();
  hooks::Waiting waiting(self, "the completion of a command buffer");
  _changed->wait(lock, [self] { return _finished; });
}

- (void)addCompletedHandler:(MTLCommandBufferHandler)block {
  std::lock_guard<std::mutex> lock(*_mutex);
  if (_status >= MTLCommandBufferStatusCommitted) {
    refuse("addCompletedHandler after commit");
  }
  _completedHandlers->push_back(Block_copy(block));
}

- (void)addScheduledHandler:(MTLCommandBufferHandler)block {
  std::lock_guard<std::mutex> lock(*_mutex);
  if (_status >= MTLCommandBufferStatusCommitted) {
    refuse("addScheduledHandler after commit");
  }
  _scheduledHandlers->push_back(Block_copy(block));
}

- (id<MTLBlitCommandEncoder>)blitCommandEncoder {
  return (id<MTLBlitCommandEncoder>)[[[SMBlitCommandEncoder alloc] initWithCommandBuffer:self] autorelease];
}

- (id<MTLComputeCommandEncoder>)computeCommandEncoder {
  return (id<MTLComputeCommandEncoder>)[[[SMComputeCommandEncoder alloc] initWithCommandBuffer:self] autorelease];
}

- (void)encodeSignalEvent:(id<MTLEvent>)event value:(uint64_t)value {
  SMSharedEvent* shared = (SMSharedEvent*)event;
  [self reference:shared];
  [shared didEncodeSignal:value];
  _signals->emplace_back(shared, value);
  [self encodeInOrder:[shared, value] { [shared setSignaledValue:value]; }];
}

- (void)encodeWaitForEvent:(id<MTLEvent>)event value:(uint64_t)value {
  SMSharedEvent* shared = (SMSharedEvent*)event;
  [self reference:shared];
  [self encodeInOrder:[shared, value] { [shared waitOnGPU:value]; }];
}

- (void)execute {
  hooks::Owning owning(self, "the completion of a command buffer");
  hooks::step("a command buffer starts");
  _kernelStart = timeline::seconds();
  for (auto handler : *_scheduledHandlers) {
    handler((id<MTLCommandBuffer>)self);
  }
  _kernelEnd = _gpuStart = timeline::seconds();
  timeline::waitUntilDue(_ticket, _costMicroseconds);
  for (size_t i = 0; i < _commands->size(); i++) {
    [self endAccessesOfCommandsBefore:i];
    (*_commands)[i]();
    hooks::step("a command ran");
  }
  [self endAccessesOfCommandsBefore:SIZE_MAX];
  _gpuEnd = timeline::seconds();
  {
    std::lock_guard<std::mutex> lock(*_mutex);
    _status = MTLCommandBufferStatusCompleted;
  }
  hooks::step("a command buffer ran");
  const DropOrder order = configuration().drop_order;
  if (order == DropOrder::BeforeHandlers) {
    [self dropReferences];
  }
  for (auto handler : *_completedHandlers) {
    handler((id<MTLCommandBuffer>)self);
  }
  if (order == DropOrder::AfterHandlers) {
    [self dropReferences];
  }
  if (order == DropOrder::AfterWait) {
    SMCommandBuffer* buffer = [self retain];
    timeline::later([buffer] {
      [buffer dropReferences];
      [buffer release];
    });
  }
  timeline::complete(_ticket, [self] {
    counters().command_buffers_completed++;
    _counted = NO;
    [_queue forget];
    std::lock_guard<std::mutex> lock(*_mutex);
    _finished = YES;
    _changed->notify_all();
  });
  if (order == DropOrder::AfterWait) {
    timeline::letPass();
  }
}

@end
