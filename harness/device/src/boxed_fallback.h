// Runs any operator that the tree implements for MPS by its CPU kernel, over the same memory.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

namespace umpatch_device {

void run_on_host(const c10::OperatorHandle& op, torch::jit::Stack* stack);

// Raises upstream's TypeError for a dtype that Metal has not.
void check_dtype(const at::Tensor& tensor);

} // namespace umpatch_device
