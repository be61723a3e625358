// Asynchronous mode: operators that run when the simulated GPU reaches them.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

#include <functional>
#include <vector>

#include "operator_traits.h"

namespace umpatch_device {

// Defers the operator if its outputs can be described without running it; false, with the stack
// untouched, if it has to run now.
bool run_deferred(const c10::OperatorHandle& op, torch::jit::Stack* stack, const OperatorTraits& traits);

// A kernel written as a composition of CPU operators: a pure function from inputs to fresh outputs.
// It must not capture tensors, since it is also run on meta tensors to learn the outputs' shapes.
using HostKernel = std::function<std::vector<at::Tensor>(const std::vector<at::Tensor>& inputs)>;

// Runs the kernel on the host aliases of the inputs, now or deferred as the mode says.
std::vector<at::Tensor> run_host_kernel(const std::vector<at::Tensor>& inputs, const HostKernel& kernel);

// Work for the GPU's thread, with errors counted and reported rather than ending the process.
std::function<void()> guarded(std::function<void()> work);

} // namespace umpatch_device
