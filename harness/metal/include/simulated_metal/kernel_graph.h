// A graph that runs a function of the host on the simulated GPU: how operations without a Metal kernel are encoded.
#pragma once
#import <MetalPerformanceShadersGraph/MetalPerformanceShadersGraph.h>
#include <functional>
#include <vector>

// Real MPSGraph retains the buffers of its feeds and results through the command buffer; so does this one. The function
// runs when the GPU executes the command buffer (Mode::Asynchronous) or while encoding (Mode::EagerRetire).
@interface SMKernelGraph : MPSGraph {
 @public
  std::vector<id> _reads;
  std::vector<id> _writes;
  std::function<void()> _function;
}
@end

namespace simulated_metal {
// Encodes work of the host into a command buffer as an encoder would: every buffer is retained by it, counted as read
// and written, and the work (which may be empty) has its effect when Mode says.
void encodeKernel(id<MTLCommandBuffer> buffer, id<MTLBuffer> const* buffers, size_t count, std::function<void()> work);
// Tells the model of MPSGraph's own commits (graph_commit_every) that a graph was encoded.
void graphEncoded(MPSCommandBuffer* buffer, MPSGraphExecutionDescriptor* descriptor);
} // namespace simulated_metal
