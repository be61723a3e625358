// MTLBuffer: a range of a heap, memory of its own, or host memory that is not copied.
#pragma once
#import "object.h"
#import <Metal/Metal.h>

@class SMDevice, SMHeap;

@interface SMBuffer : SMObject <MTLBuffer> {
 @public
  SMDevice* _device;
  SMHeap* _heap; // retained; nil when the buffer is not on one
  NSUInteger _offset;
  NSUInteger _length;
  uint8_t* _gpuPointer;
  uint8_t* _cpuPointer;
  MTLStorageMode _storageMode;
  BOOL _ownsMemory;
  BOOL _isGuarded; // on a heap, but its bytes are elsewhere, between guard pages
  void (^_deallocator)(void*, NSUInteger); // of host memory; may be nil
}
- (id)initOnHeap:(SMHeap*)heap offset:(NSUInteger)offset length:(NSUInteger)length;
- (id)initWithDevice:(SMDevice*)device length:(NSUInteger)length storageMode:(MTLStorageMode)mode;
- (id)initWithDevice:(SMDevice*)device
          hostMemory:(void*)memory
              length:(NSUInteger)length
         deallocator:(void (^)(void*, NSUInteger))deallocator;
@end
