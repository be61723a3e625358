// Encoders. Blits move real bytes; a range outside its buffer is a programming error (Metal's validation aborts; so
// does this). Compute dispatches retain what is bound and take time, but compute nothing: kernels without a shader
// compiler come as SMKernelGraph instead.
#import "encoders.h"
#import "buffer.h"
#import "command_buffer.h"
#include <simulated_metal/control.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace simulated_metal;
using access_guard::Use;

namespace {
// False when the command is to be left out.
bool isInRange(SMBuffer* buffer, NSUInteger offset, NSUInteger length, const char* command) {
  if (buffer && offset <= buffer->_length && length <= buffer->_length - offset) {
    return true;
  }
  if (configuration().validation == Validation::Skip) {
    counters().invalid_commands++;
    return false;
  }
  fprintf(stderr, "simulated Metal: %s outside its buffer: offset %lu, length %lu, buffer of %lu\n", command,
          (unsigned long)offset, (unsigned long)length, (unsigned long)(buffer ? buffer->_length : 0));
  abort();
}
} // namespace

@implementation SMBlitCommandEncoder

- (id)initWithCommandBuffer:(SMCommandBuffer*)buffer {
  self = [super init];
  _commandBuffer = [buffer retain];
  return self;
}
- (void)dealloc {
  [_commandBuffer release];
  [super dealloc];
}
- (void)endEncoding {
}

- (void)fillBuffer:(id<MTLBuffer>)buffer range:(NSRange)range value:(uint8_t)value {
  SMBuffer* target = (SMBuffer*)buffer;
  if (!isInRange(target, range.location, range.length, "fillBuffer")) {
    return;
  }
  uint8_t* bytes = target->_gpuPointer + range.location;
  const NSUInteger length = range.length;
  [_commandBuffer encode:[bytes, length, value] {
    if (configuration().execute) {
      memset(bytes, value, length);
    }
  }
                accesses:{{target, range.location, length, Use::GpuWrites}}];
}

- (void)copyFromBuffer:(id<MTLBuffer>)source
          sourceOffset:(NSUInteger)sourceOffset
              toBuffer:(id<MTLBuffer>)destination
     destinationOffset:(NSUInteger)destinationOffset
                  size:(NSUInteger)size {
  SMBuffer* from = (SMBuffer*)source;
  SMBuffer* to = (SMBuffer*)destination;
  if (!isInRange(from, sourceOffset, size, "copyFromBuffer (source)") ||
      !isInRange(to, destinationOffset, size, "copyFromBuffer (destination)")) {
    return;
  }
  const uint8_t* read = from->_gpuPointer + sourceOffset;
  uint8_t* write = to->_gpuPointer + destinationOffset;
  counters().blit_copies++;
  counters().blit_bytes += size;
  [_commandBuffer encode:[read, write, size] {
    if (configuration().execute) {
      memmove(write, read, size);
    }
  }
                accesses:{{from, sourceOffset, size, Use::GpuReads}, {to, destinationOffset, size, Use::GpuWrites}}];
}

@end

@implementation SMComputeCommandEncoder

- (id)initWithCommandBuffer:(SMCommandBuffer*)buffer {
  self = [super init];
  _commandBuffer = [buffer retain];
  return self;
}
- (void)dealloc {
  [_commandBuffer release];
  [super dealloc];
}
- (void)endEncoding {
}
- (void)setComputePipelineState:(id<MTLComputePipelineState>)state {
  [_commandBuffer reference:state];
}
- (void)setBuffer:(id<MTLBuffer>)buffer offset:(NSUInteger)offset atIndex:(NSUInteger)index {
  [_commandBuffer reference:buffer];
}
- (void)setBytes:(const void*)bytes length:(NSUInteger)length atIndex:(NSUInteger)index {
}
- (void)dispatchThreads:(MTLSize)threads threadsPerThreadgroup:(MTLSize)threadsPerThreadgroup {
  [_commandBuffer encodeInOrder:[] {}];
}
- (void)dispatchThreadgroups:(MTLSize)threadgroups threadsPerThreadgroup:(MTLSize)threadsPerThreadgroup {
  [_commandBuffer encodeInOrder:[] {}];
}

@end
