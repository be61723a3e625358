// The part of MetalPerformanceShadersGraph that PyTorch's OperationUtils.mm and Copy.mm use.
#pragma once
#import <MetalPerformanceShaders/MetalPerformanceShaders.h>

typedef NS_ENUM(uint64_t, MPSGraphOptimization) {
  MPSGraphOptimizationLevel0 = 0,
  MPSGraphOptimizationLevel1 = 1,
};
typedef NS_ENUM(NSUInteger, MPSGraphTensorNamedDataLayout) {
  MPSGraphTensorNamedDataLayoutNCHW = 0,
  MPSGraphTensorNamedDataLayoutNHWC = 1,
};
typedef NS_ENUM(NSUInteger, MPSGraphPaddingStyle) { MPSGraphPaddingStyleExplicit = 0 };
typedef NS_ENUM(NSInteger, MPSGraphPaddingMode) { MPSGraphPaddingModeConstant = 0 };
typedef NS_ENUM(NSUInteger, MPSGraphResizeMode) {
  MPSGraphResizeNearest = 0,
  MPSGraphResizeBilinear = 1,
};

@interface MPSGraphObject : NSObject
@end

// What a node of the simulated graph does with its operand.
typedef enum SMGraphNode { SMGraphPlaceholder, SMGraphCast, SMGraphConjugate } SMGraphNode;

@interface MPSGraphTensor : MPSGraphObject <NSCopying> {
  MPSShape* _shape;
  MPSDataType _dataType;

 @public
  MPSGraphTensor* _operand;
  SMGraphNode _node;
}
@property(readonly, nonatomic) MPSShape* shape;
@property(readonly, nonatomic) MPSDataType dataType;
- (instancetype)initWithNode:(SMGraphNode)node operand:(MPSGraphTensor*)operand type:(MPSDataType)type;
@end

@interface MPSGraphTensorData : MPSGraphObject {
 @public
  id _buffer;
  uint64_t _elements;
  MPSDataType _dataType;
}
- (instancetype)initWithMTLBuffer:(id<MTLBuffer>)buffer shape:(MPSShape*)shape dataType:(MPSDataType)type;
- (instancetype)initWithMPSNDArray:(MPSNDArray*)array;
- (MPSNDArray*)mpsndarray;
- (void)printNDArray;
@end

@interface MPSGraphCompilationDescriptor : MPSGraphObject {
  MPSGraphOptimization _optimizationLevel;
}
@property(readwrite, nonatomic) MPSGraphOptimization optimizationLevel;
@end

// enableCommitAndContinue is declared by MPSStream.mm itself.
@interface MPSGraphExecutionDescriptor : MPSGraphObject {
  MPSGraphCompilationDescriptor* _compilationDescriptor;
  BOOL _enableCommitAndContinue;
}
@property(readwrite, retain, nonatomic) MPSGraphCompilationDescriptor* compilationDescriptor;
@end

@interface MPSGraphOperation : MPSGraphObject
@end

@interface MPSGraph : MPSGraphObject {
 @public
  NSMutableArray* _nodes;
}
- (MPSGraphTensor*)placeholderWithShape:(MPSShape*)shape dataType:(MPSDataType)type name:(NSString*)name;
- (MPSGraphTensor*)castTensor:(MPSGraphTensor*)tensor toType:(MPSDataType)type name:(NSString*)name;
- (MPSGraphTensor*)transposeTensor:(MPSGraphTensor*)tensor
                         dimension:(NSUInteger)dimension
                     withDimension:(NSUInteger)other
                              name:(NSString*)name;
- (void)encodeToCommandBuffer:(MPSCommandBuffer*)commandBuffer
                        feeds:(NSDictionary*)feeds
             targetOperations:(NSArray*)operations
            resultsDictionary:(NSDictionary*)results
          executionDescriptor:(MPSGraphExecutionDescriptor*)descriptor;
@end
