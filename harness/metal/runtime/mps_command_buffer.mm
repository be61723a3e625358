// MPSCommandBuffer: a root command buffer that commitAndContinue replaces by a fresh one. Known from Apple's headers:
// commitAndContinue commits the root and makes a new root on the same queue; the object stays the same.
#import "command_buffer.h"
#import "command_queue.h"
#import <MetalPerformanceShaders/MetalPerformanceShaders.h>

@implementation MPSCommandBuffer

+ (instancetype)commandBufferFromCommandQueue:(id<MTLCommandQueue>)queue {
  MPSCommandBuffer* buffer = [[self new] autorelease];
  buffer->_queue = [(SMCommandQueue*)queue retain];
  buffer->_root = [(SMCommandBuffer*)[queue commandBuffer] retain];
  return buffer;
}

+ (instancetype)commandBufferWithCommandBuffer:(id<MTLCommandBuffer>)root {
  MPSCommandBuffer* buffer = [[self new] autorelease];
  buffer->_root = [(SMCommandBuffer*)root retain];
  buffer->_queue = [buffer->_root->_queue retain];
  return buffer;
}

- (void)dealloc {
  [_root release];
  [_queue release];
  [super dealloc];
}

- (id<MTLCommandBuffer>)rootCommandBuffer {
  return (id<MTLCommandBuffer>)_root;
}
- (void)commitAndContinue {
  [_root commit];
  [_root release];
  @autoreleasepool {
    _root = [(SMCommandBuffer*)[_queue commandBuffer] retain];
  }
}
- (void)commit {
  [_root commit];
}
- (void)enqueue {
  [_root enqueue];
}
- (void)waitUntilCompleted {
  [_root waitUntilCompleted];
}
- (void)addCompletedHandler:(MTLCommandBufferHandler)block {
  [_root addCompletedHandler:block];
}
- (void)addScheduledHandler:(MTLCommandBufferHandler)block {
  [_root addScheduledHandler:block];
}
- (MTLCommandBufferStatus)status {
  return [_root status];
}
- (NSError*)error {
  return [_root error];
}
- (CFTimeInterval)GPUStartTime {
  return [_root GPUStartTime];
}
- (CFTimeInterval)GPUEndTime {
  return [_root GPUEndTime];
}
- (CFTimeInterval)kernelStartTime {
  return [_root kernelStartTime];
}
- (CFTimeInterval)kernelEndTime {
  return [_root kernelEndTime];
}
- (id<MTLBlitCommandEncoder>)blitCommandEncoder {
  return [_root blitCommandEncoder];
}
- (id<MTLComputeCommandEncoder>)computeCommandEncoder {
  return [_root computeCommandEncoder];
}
- (void)encodeSignalEvent:(id<MTLEvent>)event value:(uint64_t)value {
  [_root encodeSignalEvent:event value:value];
}
- (void)encodeWaitForEvent:(id<MTLEvent>)event value:(uint64_t)value {
  [_root encodeWaitForEvent:event value:value];
}

@end
