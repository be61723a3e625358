// MTLDevice. What it reports (unified memory, working set, buffer limit) is set by the configuration. Every GPU family
// is supported. There is no shader compiler: asking for a library gives nil, and upstream raises its own error then.
#import "device.h"
#import "buffer.h"
#import "command_queue.h"
#import "heap.h"
#import "shared_event.h"
#include <simulated_metal/control.h>
#include <simulated_metal/hooks.h>

using namespace simulated_metal;

@implementation SMDevice

- (NSString*)name {
  return @"Simulated Apple GPU";
}
- (BOOL)isLowPower {
  return NO;
}
- (BOOL)hasUnifiedMemory {
  return configuration().unified;
}
- (uint64_t)recommendedMaxWorkingSetSize {
  return configuration().recommended_max_bytes;
}
- (NSUInteger)currentAllocatedSize {
  return counters().allocated_bytes.load();
}
- (NSUInteger)maxBufferLength {
  return configuration().max_buffer_bytes;
}
- (BOOL)supportsFamily:(MTLGPUFamily)family {
  return YES;
}

- (id<MTLCommandQueue>)newCommandQueue {
  return (id<MTLCommandQueue>)[[SMCommandQueue alloc] initWithDevice:self];
}

- (id<MTLHeap>)newHeapWithDescriptor:(MTLHeapDescriptor*)descriptor {
  const uint64_t limit = configuration().hard_limit_bytes;
  hooks::step("new heap");
  if (hooks::refusesHeap(descriptor.size)) {
    return nil;
  }
  if (limit && counters().allocated_bytes + descriptor.size > limit) {
    return nil;
  }
  return (id<MTLHeap>)[[SMHeap alloc] initWithDevice:self size:descriptor.size storageMode:descriptor.storageMode];
}

- (id<MTLSharedEvent>)newSharedEvent {
  return (id<MTLSharedEvent>)[SMSharedEvent new];
}

- (MTLSizeAndAlign)heapBufferSizeAndAlignWithLength:(NSUInteger)length options:(MTLResourceOptions)options {
  counters().size_queries++;
  const NSUInteger alignment = configuration().heap_alignment;
  MTLSizeAndAlign answer = {(length + alignment - 1) / alignment * alignment, alignment};
  return answer;
}

- (id<MTLBuffer>)newBufferWithLength:(NSUInteger)length options:(MTLResourceOptions)options {
  const MTLStorageMode mode = (MTLStorageMode)((options >> 4) & 0xf);
  return (id<MTLBuffer>)[[SMBuffer alloc] initWithDevice:self length:length storageMode:mode];
}

- (id<MTLBuffer>)newBufferWithBytes:(const void*)bytes length:(NSUInteger)length options:(MTLResourceOptions)options {
  id<MTLBuffer> buffer = [self newBufferWithLength:length options:options];
  if (buffer) {
    memcpy(hostPointer(buffer), bytes, length);
  }
  return buffer;
}

- (id<MTLBuffer>)newBufferWithBytesNoCopy:(void*)bytes
                                   length:(NSUInteger)length
                                  options:(MTLResourceOptions)options
                              deallocator:(void (^)(void*, NSUInteger))deallocator {
  return (id<MTLBuffer>)[[SMBuffer alloc] initWithDevice:self hostMemory:bytes length:length deallocator:deallocator];
}

- (id<MTLLibrary>)newLibraryWithSource:(NSString*)source options:(MTLCompileOptions*)options error:(NSError**)error {
  return nil;
}
- (id<MTLLibrary>)newLibraryWithData:(dispatch_data_t)data error:(NSError**)error {
  return nil;
}
- (id<MTLComputePipelineState>)newComputePipelineStateWithFunction:(id<MTLFunction>)function error:(NSError**)error {
  return nil;
}

@end

@implementation MTLHeapDescriptor
@synthesize size = _size;
@synthesize storageMode = _storageMode;
@synthesize cpuCacheMode = _cpuCacheMode;
@synthesize hazardTrackingMode = _hazardTrackingMode;
@synthesize resourceOptions = _resourceOptions;
@synthesize type = _type;
@end

@implementation MTLCompileOptions
@synthesize languageVersion = _languageVersion;
@synthesize fastMathEnabled = _fastMathEnabled;
@synthesize mathMode = _mathMode;
@synthesize mathFloatingPointFunctions = _mathFloatingPointFunctions;
@end

extern "C" id<MTLDevice> MTLCreateSystemDefaultDevice(void) {
  static SMDevice* device = [SMDevice new];
  return (id<MTLDevice>)[device retain];
}

extern "C" NSArray* MTLCopyAllDevices(void) {
  id device = MTLCreateSystemDefaultDevice();
  NSArray* devices = [[NSArray alloc] initWithObjects:&device count:1];
  [device release];
  return devices;
}
