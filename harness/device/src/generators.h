// Random number generators: the tree's MPSGeneratorImpl decides the stream, CPU kernels draw from
// it.
#pragma once

#include <ATen/core/Generator.h>
#include <ATen/core/ivalue.h>

namespace umpatch_device {

// The CPU generator that stands for the next draw of an MPS generator, or of the default one if
// `argument` is None. Advances the MPS generator, so that equal states give equal numbers.
at::Generator host_generator(const c10::IValue& argument);

} // namespace umpatch_device
