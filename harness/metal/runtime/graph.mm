// MPSGraph, as far as Copy.mm builds one: a placeholder, casts and a conjugation in a row. Anything else is refused.
// Known: encoding retains the buffers of feeds and results through the command buffer; with enableCommitAndContinue the
// framework may commit by itself while encoding. When it does so is not known: setting graph_commit_every.
// MPSGraph's own caches and temporaries are not modelled.
#import "buffer.h"
#import "command_buffer.h"
#import <MetalPerformanceShadersGraph/MetalPerformanceShadersGraph.h>
#include <simulated_metal/control.h>
#include <simulated_metal/kernel_graph.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

using namespace simulated_metal;
using access_guard::Use;

@interface MPSGraphExecutionDescriptor ()
@property(readwrite, nonatomic) BOOL enableCommitAndContinue;
@end

namespace {

CastKernel cast_kernel = nullptr;

[[noreturn]] void refuse(const char* what) {
  fprintf(stderr, "simulated Metal: %s\n", what);
  abort();
}

struct CastChain {
  std::vector<uint32_t> types; // of the casts, first to last
  bool conjugate = false;
};

CastChain chainBetween(MPSGraphTensor* input, MPSGraphTensor* output) {
  CastChain chain;
  for (MPSGraphTensor* node = output; node != input; node = node->_operand) {
    if (!node) {
      refuse("a graph whose result does not come from its feed");
    }
    if (node->_node == SMGraphConjugate) {
      chain.conjugate = !chain.conjugate;
    } else {
      chain.types.insert(chain.types.begin(), (uint32_t)[node dataType]);
    }
  }
  return chain;
}

void runChain(const CastChain& chain,
              const uint8_t* source,
              uint32_t source_type,
              uint8_t* destination,
              uint32_t destination_type,
              uint64_t elements) {
  if (!configuration().execute) {
    return;
  }
  if (!cast_kernel) {
    refuse("a graph was run, and no cast kernel is set");
  }
  constexpr size_t kLargestElement = 16;
  std::vector<uint8_t> between;
  for (size_t i = 0; i + 1 < chain.types.size(); i++) {
    std::vector<uint8_t> next(elements * kLargestElement);
    cast_kernel(source, source_type, next.data(), chain.types[i], elements, false);
    between.swap(next);
    source = between.data();
    source_type = chain.types[i];
  }
  cast_kernel(source, source_type, destination, destination_type, elements, chain.conjugate);
}

} // namespace

namespace simulated_metal {

void setCastKernel(CastKernel kernel) {
  cast_kernel = kernel;
}

void graphEncoded(MPSCommandBuffer* buffer, MPSGraphExecutionDescriptor* descriptor) {
  const uint64_t encoded = ++counters().graphs;
  const uint64_t every = configuration().graph_commit_every;
  if (every && [descriptor enableCommitAndContinue] && encoded % every == 0) {
    counters().graph_commits++;
    [buffer commitAndContinue];
  }
}

void encodeKernel(id<MTLCommandBuffer> buffer, id<MTLBuffer> const* buffers, size_t count, std::function<void()> work) {
  id root = buffer;
  if ([root isKindOfClass:[MPSCommandBuffer class]]) {
    root = ((MPSCommandBuffer*)root)->_root;
  }
  std::vector<SMAccess> accesses;
  for (size_t i = 0; i < count; i++) {
    SMBuffer* bound = (SMBuffer*)buffers[i];
    accesses.push_back({bound, 0, bound->_length, Use::GpuWrites});
  }
  [(SMCommandBuffer*)root encode:[work] {
    if (work) {
      work();
    }
  }
                        accesses:std::move(accesses)];
}

} // namespace simulated_metal

@implementation MPSGraphObject
@end

@implementation MPSGraphOperation
@end

@implementation MPSGraphCompilationDescriptor
@synthesize optimizationLevel = _optimizationLevel;
@end

@implementation MPSGraphExecutionDescriptor
@synthesize compilationDescriptor = _compilationDescriptor;
- (void)dealloc {
  [_compilationDescriptor release];
  [super dealloc];
}
- (void)setEnableCommitAndContinue:(BOOL)enable {
  _enableCommitAndContinue = enable;
}
- (BOOL)enableCommitAndContinue {
  return _enableCommitAndContinue;
}
@end

@implementation MPSGraphTensor
@synthesize shape = _shape;
@synthesize dataType = _dataType;
- (instancetype)initWithNode:(SMGraphNode)node operand:(MPSGraphTensor*)operand type:(MPSDataType)type {
  self = [super init];
  _node = node;
  _operand = operand; // owned by the graph, which owns this one too
  _dataType = type;
  return self;
}
- (id)copyWithZone:(NSZone*)zone {
  return [self retain];
}
@end

@implementation MPSGraphTensorData
- (instancetype)initWithMTLBuffer:(id<MTLBuffer>)buffer shape:(MPSShape*)shape dataType:(MPSDataType)type {
  self = [super init];
  _buffer = [(id)buffer retain];
  _dataType = type;
  _elements = 1;
  for (NSNumber* dimension in (NSArray*)shape) {
    _elements *= [dimension unsignedLongValue];
  }
  return self;
}
- (instancetype)initWithMPSNDArray:(MPSNDArray*)array {
  return [super init];
}
- (void)dealloc {
  [_buffer release];
  [super dealloc];
}
- (MPSNDArray*)mpsndarray {
  refuse("MPSNDArray of a tensor");
}
- (void)printNDArray {
}
@end

@implementation MPSGraph

- (void)dealloc {
  [_nodes release];
  [super dealloc];
}

- (MPSGraphTensor*)addNode:(SMGraphNode)node operand:(MPSGraphTensor*)operand type:(MPSDataType)type {
  if (!_nodes) {
    _nodes = [NSMutableArray new];
  }
  MPSGraphTensor* tensor = [[MPSGraphTensor alloc] initWithNode:node operand:operand type:type];
  [_nodes addObject:tensor];
  [tensor release];
  return tensor;
}
- (MPSGraphTensor*)placeholderWithShape:(MPSShape*)shape dataType:(MPSDataType)type name:(NSString*)name {
  return [self addNode:SMGraphPlaceholder operand:nil type:type];
}
- (MPSGraphTensor*)castTensor:(MPSGraphTensor*)tensor toType:(MPSDataType)type name:(NSString*)name {
  return [self addNode:SMGraphCast operand:tensor type:type];
}
- (MPSGraphTensor*)conjugateWithTensor:(MPSGraphTensor*)tensor name:(NSString*)name {
  return [self addNode:SMGraphConjugate operand:tensor type:[tensor dataType]];
}
- (MPSGraphTensor*)transposeTensor:(MPSGraphTensor*)tensor
                         dimension:(NSUInteger)dimension
                     withDimension:(NSUInteger)other
                              name:(NSString*)name {
  refuse("transposition in a graph");
}
// MPSDevice looks for this method to tell that the system is recent enough.
- (MPSGraphTensor*)cumulativeSumWithTensor:(MPSGraphTensor*)tensor axis:(NSInteger)axis name:(NSString*)name {
  refuse("a cumulative sum in a graph");
}

- (void)encodeToCommandBuffer:(MPSCommandBuffer*)commandBuffer
                        feeds:(NSDictionary*)feeds
             targetOperations:(NSArray*)operations
            resultsDictionary:(NSDictionary*)results
          executionDescriptor:(MPSGraphExecutionDescriptor*)descriptor {
  if ([feeds count] != 1 || [results count] != 1) {
    refuse("a graph with other than one feed and one result");
  }
  MPSGraphTensor* input = nil;
  MPSGraphTensor* output = nil;
  for (id key in feeds) {
    input = key;
  }
  for (id key in results) {
    output = key;
  }
  MPSGraphTensorData* from = [feeds objectForKey:input];
  MPSGraphTensorData* to = [results objectForKey:output];
  const CastChain chain = chainBetween(input, output);
  SMBuffer* source = (SMBuffer*)from->_buffer;
  SMBuffer* destination = (SMBuffer*)to->_buffer;
  const uint8_t* read = source->_gpuPointer;
  uint8_t* write = destination->_gpuPointer;
  const uint32_t source_type = from->_dataType;
  const uint32_t destination_type = to->_dataType;
  const uint64_t elements = to->_elements;
  const auto bytes = [elements](uint32_t type, SMBuffer* buffer) {
    return std::min<NSUInteger>(elements * ((type & 0xff) / 8), buffer->_length);
  };
  [commandBuffer->_root encode:[chain, read, source_type, write, destination_type, elements] {
    runChain(chain, read, source_type, write, destination_type, elements);
  }
                      accesses:{{source, 0, bytes(source_type, source), Use::GpuReads},
                                {destination, 0, bytes(destination_type, destination), Use::GpuWrites}}];
  graphEncoded(commandBuffer, descriptor);
}

@end

@implementation SMKernelGraph

- (void)encodeToCommandBuffer:(MPSCommandBuffer*)commandBuffer
                        feeds:(NSDictionary*)feeds
             targetOperations:(NSArray*)operations
            resultsDictionary:(NSDictionary*)results
          executionDescriptor:(MPSGraphExecutionDescriptor*)descriptor {
  std::vector<SMAccess> accesses;
  for (id buffer : _reads) {
    accesses.push_back({(SMBuffer*)buffer, 0, ((SMBuffer*)buffer)->_length, Use::GpuReads});
  }
  for (id buffer : _writes) {
    accesses.push_back({(SMBuffer*)buffer, 0, ((SMBuffer*)buffer)->_length, Use::GpuWrites});
  }
  std::function<void()> function = _function;
  [commandBuffer->_root encode:[function] {
    if (function) {
      function();
    }
  }
                      accesses:std::move(accesses)];
  graphEncoded(commandBuffer, descriptor);
}

@end
