// The one function of this upstream header that MPSFallback.mm calls. The wheel exports the symbol
// and leaves the header out.
#pragma once

#include <map>
#include <string>

namespace caffe2 {
const std::map<std::string, std::string>& GetBuildOptions();
}
