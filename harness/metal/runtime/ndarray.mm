// MPSNDArray and its relatives: declared so that OperationUtils.mm links. None of them computes; a copy never needs
// one.
#import <MetalPerformanceShaders/MetalPerformanceShaders.h>

@implementation MPSKernel
@end

@implementation MPSNDArrayUnaryKernel
@end

@implementation MPSNDArrayIdentity
@end

@implementation MPSNDArrayDescriptor
@dynamic preferPackedRows;
@end

@implementation MPSNDArray
@dynamic numberOfDimensions;
@end
