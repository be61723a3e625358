// The tree's MPSGeneratorImpl.mm, which relies on headers that other files of a whole build include before it.
#include <ATen/ATen.h>
#include <ATen/mps/MPSGeneratorImpl.mm>
