// The guard against a pairing that this folder was not written for, and what a USE_MPS build declares
// and the Linux wheel's headers leave out. All that depends on the upstream version is here and in
// umpatch_device/wheel.py.
#pragma once

#include <torch/version.h>

#include "../../metal/glue/tree_tensors.h"

#if TORCH_VERSION_MAJOR != 2 || TORCH_VERSION_MINOR < 5
#error "the simulated mps device needs torch 2.5 or later: earlier wheels load no device plug-ins"
#endif
