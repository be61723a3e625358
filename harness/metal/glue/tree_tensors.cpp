// The tree's EmptyTensor.cpp and TensorFactory.cpp. Both guard their bodies with __APPLE__; all that they include comes
// first, so that the pretence reaches their bodies only.
#include <ATen/ATen.h>
#include <ATen/Dispatch.h>
#include <ATen/NativeFunctions.h>
#include <ATen/Tensor.h>
#include <ATen/Utils.h>
#include <ATen/mps/EmptyTensor.h>
#include <ATen/mps/MPSDevice.h>
#include <ATen/native/Resize.h>
#include <ATen/native/ResizeCommon.h>
#include <ATen/native/TensorFactories.h>
#include <ATen/native/mps/Copy.h>
#include <ATen/native/mps/TensorFactory.h>
#include <ATen/ops/_efficientzerotensor_native.h>
#include <torch/library.h>
#include <utility>
#include "tree_tensors.h"

#pragma clang diagnostic ignored "-Wbuiltin-macro-redefined"
#define __APPLE__ 1
#define __is_target_os(system) 1
#include <ATen/mps/EmptyTensor.cpp>
#include <ATen/native/mps/TensorFactory.cpp>
