// MTLHeap of automatic type: sub-allocation from one block of memory.
#pragma once
#import "object.h"
#import <Metal/Metal.h>
#include <map>
#include <mutex>

@class SMDevice;

@interface SMHeap : SMObject <MTLHeap> {
 @public
  SMDevice* _device;
  uint8_t* _gpuBase;
  uint8_t* _cpuBase; // the same memory; a mapping of its own when CPU access is checked
  NSUInteger _size;
  NSUInteger _used;
  MTLStorageMode _storageMode;
  std::mutex* _mutex;
  std::map<NSUInteger, NSUInteger>* _freeRanges; // offset to length
}
// nil when the system has no memory left.
- (id)initWithDevice:(SMDevice*)device size:(NSUInteger)size storageMode:(MTLStorageMode)mode;
- (void)giveBackOffset:(NSUInteger)offset length:(NSUInteger)length;
@end
