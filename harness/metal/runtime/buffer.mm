// MTLBuffer. Known: contents is NULL for private storage; a heap's buffer retains its heap; a no-copy buffer neither
// copies nor retains the host memory: it calls its deallocator when it goes, and without one the caller has to keep the
// memory until the GPU is done (nobody checks that).
// A buffer is kept alive by every command buffer that was encoded with it: see command_buffer.h.
#import "buffer.h"
#import "counters.h"
#import "heap.h"
#include "guarded_memory.h"
#include <Block.h>
#include <cstring>
#include <mach/vm_page_size.h>
#include <sys/mman.h>

using namespace simulated_metal;

namespace {
NSUInteger pages(NSUInteger length) {
  return (length + vm_page_size - 1) / vm_page_size * vm_page_size;
}

// What a program reads that has not written: a signalling pattern, a huge negative number in each floating type.
constexpr int kNeverWritten = 0xCB;
// What it reads from memory that it has let go of.
constexpr int kGivenBack = 0xDB;

void poison(uint8_t* memory, NSUInteger length, int byte) {
  if (configuration().poison) {
    memset(memory, byte, length);
  }
}
} // namespace

@implementation SMBuffer

- (id)initOnHeap:(SMHeap*)heap offset:(NSUInteger)offset length:(NSUInteger)length {
  self = [super init];
  _device = heap->_device;
  _heap = [heap retain];
  _offset = offset;
  _length = length;
  _gpuPointer = heap->_gpuBase + offset;
  _cpuPointer = heap->_cpuBase + offset;
  _storageMode = heap->_storageMode;
  // a second mapping for the CPU has its own protection
  if (configuration().guard_pages && heap->_cpuBase == heap->_gpuBase) {
    uint8_t* memory = guarded_memory::allocate(length);
    if (!memory) {
      [self release];
      return nil;
    }
    _gpuPointer = _cpuPointer = memory;
    _isGuarded = YES;
  }
  poison(_gpuPointer, _length, kNeverWritten);
  return self;
}

- (id)initWithDevice:(SMDevice*)device length:(NSUInteger)length storageMode:(MTLStorageMode)mode {
  self = [super init];
  _device = device;
  _length = length;
  _storageMode = mode;
  void* memory =
      mmap(nullptr, pages(length), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    [self release];
    return nil;
  }
  _ownsMemory = YES;
  _gpuPointer = _cpuPointer = static_cast<uint8_t*>(memory);
  poison(_gpuPointer, _length, kNeverWritten);
  addAllocated((int64_t)length);
  counters().device_buffers_created++;
  return self;
}

- (id)initWithDevice:(SMDevice*)device
          hostMemory:(void*)memory
              length:(NSUInteger)length
         deallocator:(void (^)(void*, NSUInteger))deallocator {
  self = [super init];
  _device = device;
  _length = length;
  _storageMode = MTLStorageModeShared;
  _gpuPointer = _cpuPointer = static_cast<uint8_t*>(memory);
  _deallocator = Block_copy(deallocator);
  counters().no_copy_buffers_created++;
  return self;
}

- (void)dealloc {
  if (_heap) {
    if (_isGuarded) {
      guarded_memory::release(_gpuPointer, _length);
    } else {
      poison(_gpuPointer, _length, kGivenBack);
    }
    [_heap giveBackOffset:_offset length:_length];
    [_heap release];
    counters().heap_buffers_freed++;
  } else if (_ownsMemory) {
    munmap(_gpuPointer, pages(_length));
    addAllocated(-(int64_t)_length);
  } else if (_deallocator) {
    _deallocator(_gpuPointer, _length);
    Block_release(_deallocator);
  }
  [super dealloc];
}

- (id<MTLDevice>)device {
  return (id<MTLDevice>)_device;
}
- (MTLStorageMode)storageMode {
  return _storageMode;
}
- (id<MTLHeap>)heap {
  return (id<MTLHeap>)_heap;
}
- (NSUInteger)length {
  return _length;
}
- (void*)contents {
  return _storageMode == MTLStorageModePrivate ? nullptr : _cpuPointer;
}
- (void)didModifyRange:(NSRange)range {
}
- (MTLPurgeableState)setPurgeableState:(MTLPurgeableState)state {
  return MTLPurgeableStateNonVolatile;
}

@end

namespace simulated_metal {
void* hostPointer(id<MTLBuffer> buffer) {
  return buffer ? ((SMBuffer*)buffer)->_gpuPointer : nullptr;
}
} // namespace simulated_metal
