// See object.h.
#import "object.h"
#include <simulated_metal/hooks.h>

@implementation SMObject
- (instancetype)retain {
  _extraReferences.fetch_add(1, std::memory_order_relaxed);
  return self;
}
- (oneway void)release {
  if (_extraReferences.fetch_sub(1, std::memory_order_acq_rel) == 0) {
    [self dealloc];
  }
}
- (NSUInteger)retainCount {
  simulated_metal::hooks::step("retain count");
  return (NSUInteger)(_extraReferences.load(std::memory_order_acquire) + 1);
}
@end
