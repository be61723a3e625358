// The part of MetalPerformanceShaders that PyTorch's ATen/mps sources use, as a macOS 15 SDK would declare it.
#pragma once
#import <Metal/Metal.h>

typedef NSArray<NSNumber*> MPSShape;
typedef enum MPSDataType : uint32_t {
  MPSDataTypeInvalid = 0,
  MPSDataTypeComplexBit = 0x01000000,
  MPSDataTypeFloatBit = 0x10000000,
  MPSDataTypeSignedBit = 0x20000000,
  MPSDataTypeAlternateEncodingBit = 0x80000000,
  MPSDataTypeFloat16 = MPSDataTypeFloatBit | 16,
  MPSDataTypeFloat32 = MPSDataTypeFloatBit | 32,
  MPSDataTypeInt8 = MPSDataTypeSignedBit | 8,
  MPSDataTypeInt16 = MPSDataTypeSignedBit | 16,
  MPSDataTypeInt32 = MPSDataTypeSignedBit | 32,
  MPSDataTypeInt64 = MPSDataTypeSignedBit | 64,
  MPSDataTypeUInt8 = 8,
  MPSDataTypeUInt16 = 16,
  MPSDataTypeUInt32 = 32,
  MPSDataTypeUInt64 = 64,
  MPSDataTypeBool = MPSDataTypeAlternateEncodingBit | 8,
} MPSDataType;

@class SMCommandBuffer, SMCommandQueue;
@interface MPSCommandBuffer : NSObject <MTLCommandBuffer> {
 @public
  SMCommandBuffer* _root;
  SMCommandQueue* _queue;
}
@property(readonly, nonatomic) id<MTLCommandBuffer> rootCommandBuffer;
+ (instancetype)commandBufferFromCommandQueue:(id<MTLCommandQueue>)queue;
+ (instancetype)commandBufferWithCommandBuffer:(id<MTLCommandBuffer>)buffer;
- (void)commitAndContinue;
@end

@interface MPSKernel : NSObject
@end

@interface MPSNDArrayDescriptor : NSObject
@property(readwrite, nonatomic) BOOL preferPackedRows;
+ (instancetype)descriptorWithDataType:(MPSDataType)type shape:(MPSShape*)shape;
- (void)transposeDimension:(NSUInteger)dimension withDimension:(NSUInteger)other;
@end

typedef NS_OPTIONS(NSUInteger, MPSAliasingStrategy) {
  MPSAliasingStrategyShallAlias = 1,
};

@interface MPSNDArray : NSObject
@property(readonly, nonatomic) NSUInteger numberOfDimensions;
- (instancetype)initWithBuffer:(id<MTLBuffer>)buffer
                        offset:(NSUInteger)offset
                    descriptor:(MPSNDArrayDescriptor*)descriptor;
- (instancetype)initWithDevice:(id<MTLDevice>)device descriptor:(MPSNDArrayDescriptor*)descriptor;
- (MPSNDArrayDescriptor*)descriptor;
- (MPSNDArray*)arrayViewWithCommandBuffer:(id<MTLCommandBuffer>)buffer
                               descriptor:(MPSNDArrayDescriptor*)descriptor
                                 aliasing:(MPSAliasingStrategy)aliasing;
- (MPSNDArray*)arrayViewWithShape:(MPSShape*)shape strides:(MPSShape*)strides;
- (void)writeBytes:(void*)bytes strideBytes:(NSInteger*)strides;
@end

@interface MPSNDArrayUnaryKernel : MPSKernel
@end

// Tells ATen's MPSGraphSequoiaOps.h that the SDK is macOS 15's, so that it declares nothing of its own: its bare
// __nonnull would meet glibc's function-like macro of that name.
#define __MAC_15_0 150000
@interface MPSNDArrayIdentity : MPSNDArrayUnaryKernel
- (instancetype)initWithDevice:(id<MTLDevice>)device;
- (MPSNDArray*)reshapeWithCommandBuffer:(id<MTLCommandBuffer>)buffer
                            sourceArray:(MPSNDArray*)source
                                  shape:(MPSShape*)shape
                       destinationArray:(MPSNDArray*)destination;
@end
