// See hooks.h.
#include <simulated_metal/hooks.h>

namespace simulated_metal::hooks {

Hooks& all() {
  static Hooks hooks;
  return hooks;
}

} // namespace simulated_metal::hooks
