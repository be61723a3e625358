// MTLHeap. Known: a heap's memory is allocated as a whole and counts in the device's currentAllocatedSize; a buffer
// made on it returns its range when its last reference goes; newBufferWithLength returns nil when nothing fits.
// Assumed: first fit, no header bytes, alignment as the setting heap_alignment says, a size that is not rounded.
// Not modelled: purgeable state, aliasing, placement heaps.
#import "heap.h"
#import "buffer.h"
#import "counters.h"
#include "access_guard.h"
#include <simulated_metal/hooks.h>
#include <cstdio>
#include <cstdlib>
#include <sys/mman.h>

using namespace simulated_metal;

namespace {

NSUInteger rounded(NSUInteger length) {
  const NSUInteger alignment = configuration().heap_alignment;
  return (length + alignment - 1) / alignment * alignment;
}

bool isChecked(MTLStorageMode mode) {
  return configuration().cpu_access == CpuAccess::Checked && mode != MTLStorageModePrivate;
}

uint8_t* map(NSUInteger size, int file) {
  const int flags = file < 0 ? MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE : MAP_SHARED | MAP_NORESERVE;
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, flags, file, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<uint8_t*>(memory);
}

} // namespace

@implementation SMHeap

- (id)initWithDevice:(SMDevice*)device size:(NSUInteger)size storageMode:(MTLStorageMode)mode {
  self = [super init];
  _device = device;
  _size = size;
  _storageMode = mode;
  _mutex = new std::mutex;
  _freeRanges = new std::map<NSUInteger, NSUInteger>{{0, size}};
  if (isChecked(mode)) {
    const int file = memfd_create("simulated heap", 0);
    if (file >= 0 && ftruncate(file, (off_t)size) == 0) {
      _gpuBase = map(size, file);
      _cpuBase = map(size, file);
    }
    close(file);
  } else {
    _gpuBase = _cpuBase = map(size, -1);
  }
  if (!_gpuBase || !_cpuBase) {
    [self release];
    return nil;
  }
  if (isChecked(mode)) {
    access_guard::addHeap(_cpuBase, size);
  }
  if (configuration().allocated_size_rule == AllocatedSizeRule::WholeHeaps) {
    addAllocated((int64_t)size);
  }
  counters().heaps_created++;
  return self;
}

- (void)dealloc {
  if (_used) {
    fprintf(stderr, "simulated Metal: a heap was released while buffers live on it\n");
    abort(); // a buffer retains its heap, so this cannot happen
  }
  if (_gpuBase && _cpuBase) {
    if (_cpuBase != _gpuBase) {
      access_guard::removeHeap(_cpuBase);
      munmap(_cpuBase, _size);
    }
    munmap(_gpuBase, _size);
    if (configuration().allocated_size_rule == AllocatedSizeRule::WholeHeaps) {
      addAllocated(-(int64_t)_size);
    }
    counters().heaps_freed++;
  }
  delete _mutex;
  delete _freeRanges;
  [super dealloc];
}

- (id<MTLDevice>)device {
  return (id<MTLDevice>)_device;
}
- (NSUInteger)size {
  return _size;
}
- (NSUInteger)usedSize {
  std::lock_guard<std::mutex> lock(*_mutex);
  return _used;
}
- (NSUInteger)currentAllocatedSize {
  return _size;
}
- (MTLPurgeableState)setPurgeableState:(MTLPurgeableState)state {
  return MTLPurgeableStateNonVolatile;
}

- (NSUInteger)maxAvailableSizeWithAlignment:(NSUInteger)alignment {
  hooks::heap();
  std::lock_guard<std::mutex> lock(*_mutex);
  NSUInteger largest = 0;
  for (const auto& [offset, length] : *_freeRanges) {
    const NSUInteger start = (offset + alignment - 1) / alignment * alignment;
    const NSUInteger end = offset + length;
    if (end > start && end - start > largest) {
      largest = end - start;
    }
  }
  return largest / alignment * alignment;
}

- (id<MTLBuffer>)newBufferWithLength:(NSUInteger)length options:(MTLResourceOptions)options {
  hooks::heap();
  const NSUInteger need = rounded(length);
  NSUInteger offset = NSNotFound;
  {
    std::lock_guard<std::mutex> lock(*_mutex);
    for (auto range = _freeRanges->begin(); range != _freeRanges->end(); ++range) {
      if (range->second < need) {
        continue;
      }
      offset = range->first;
      const NSUInteger rest = range->second - need;
      _freeRanges->erase(range);
      if (rest) {
        (*_freeRanges)[offset + need] = rest;
      }
      _used += need;
      break;
    }
  }
  if (offset == NSNotFound) {
    return nil;
  }
  if (configuration().allocated_size_rule == AllocatedSizeRule::UsedBytes) {
    addAllocated((int64_t)need);
  }
  counters().heap_buffers_created++;
  return (id<MTLBuffer>)[[SMBuffer alloc] initOnHeap:self offset:offset length:length];
}

- (void)giveBackOffset:(NSUInteger)offset length:(NSUInteger)length {
  const NSUInteger need = rounded(length);
  if (configuration().allocated_size_rule == AllocatedSizeRule::UsedBytes) {
    addAllocated(-(int64_t)need);
  }
  std::lock_guard<std::mutex> lock(*_mutex);
  _used -= need;
  auto range = _freeRanges->emplace(offset, need).first;
  auto next = std::next(range);
  if (next != _freeRanges->end() && range->first + range->second == next->first) {
    range->second += next->second;
    _freeRanges->erase(next);
  }
  if (range != _freeRanges->begin()) {
    auto previous = std::prev(range);
    if (previous->first + previous->second == range->first) {
      previous->second += range->second;
      _freeRanges->erase(range);
    }
  }
}

@end
