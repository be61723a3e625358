// MTLBlitCommandEncoder and MTLComputeCommandEncoder.
#pragma once
#import "object.h"
#import <Metal/Metal.h>

@class SMCommandBuffer;

@interface SMBlitCommandEncoder : SMObject <MTLBlitCommandEncoder> {
  SMCommandBuffer* _commandBuffer;
}
- (id)initWithCommandBuffer:(SMCommandBuffer*)buffer;
@end

@interface SMComputeCommandEncoder : SMObject <MTLComputeCommandEncoder> {
  SMCommandBuffer* _commandBuffer;
}
- (id)initWithCommandBuffer:(SMCommandBuffer*)buffer;
@end
