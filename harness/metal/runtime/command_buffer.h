// MTLCommandBuffer: what was encoded, the references that keep it alive, and its completion.
#pragma once
#import "object.h"
#import <Metal/Metal.h>
#include "access_guard.h"
#include "timeline.h"
#include <condition_variable>
#include <functional>
#include <mutex>
#include <unordered_set>
#include <vector>

@class SMBuffer, SMCommandQueue, SMSharedEvent;

// A range of a buffer that a command reads or writes.
struct SMAccess {
  SMBuffer* buffer;
  NSUInteger offset;
  NSUInteger length;
  simulated_metal::access_guard::Use use;
  size_t command = 0; // its place in the command buffer
};

@interface SMCommandBuffer : SMObject <MTLCommandBuffer> {
 @public
  SMCommandQueue* _queue;
  std::vector<std::function<void()>>* _commands;
  std::vector<id>* _references;
  std::unordered_set<id>* _referenced;
  std::vector<SMAccess>* _accesses;
  std::vector<std::pair<SMSharedEvent*, uint64_t>>* _signals;
  std::vector<MTLCommandBufferHandler>* _completedHandlers;
  std::vector<MTLCommandBufferHandler>* _scheduledHandlers;
  std::mutex* _mutex;
  std::condition_variable* _changed;
  MTLCommandBufferStatus _status;
  BOOL _finished; // completed, and its handlers have run
  BOOL _counted;  // in the queue's count of uncompleted command buffers
  uint64_t _commandCount;
  uint64_t _costMicroseconds;
  simulated_metal::timeline::Ticket _ticket;
  double _gpuStart, _gpuEnd, _kernelStart, _kernelEnd;
}
- (id)initWithQueue:(SMCommandQueue*)queue;
// Keeps a resource until the command buffer lets go of its references.
- (void)reference:(id)resource;
// A command that moves data: its effect is at once or late, as Mode says.
- (void)encode:(std::function<void()>)command accesses:(std::vector<SMAccess>)accesses;
// A command whose effect is always in the GPU's time.
- (void)encodeInOrder:(std::function<void()>)command;
- (void)execute;
@end
