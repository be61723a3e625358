// MTLCommandQueue: command buffers in order of commit, executed by one thread that plays the GPU.
#pragma once
#import "object.h"
#import <Metal/Metal.h>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

@class SMDevice, SMCommandBuffer;

@interface SMCommandQueue : SMObject <MTLCommandQueue> {
 @public
  SMDevice* _device;
  std::mutex* _mutex;
  std::condition_variable* _changed;
  std::deque<SMCommandBuffer*>* _committed;
  uint64_t _uncompleted; // made and not yet completed
  BOOL _stopping;
  std::thread* _gpu;
}
- (id)initWithDevice:(SMDevice*)device;
- (void)submit:(SMCommandBuffer*)buffer;
// A command buffer of this queue completed, or was dropped without being committed.
- (void)forget;
@end
