// The root of the simulated Metal classes: NSObject's reference counting, where the sanitizers can see it.
#pragma once
#import <Foundation/Foundation.h>
#include <atomic>

extern "C" BOOL GSRegisterCurrentThread(void);

// Real Metal objects follow NSObject's rule (a new object has a count of 1); ATen reads the counts of buffers and heaps
// to tell idle from in flight. libgnustep-base is not instrumented, so its own counters would look like races.
@interface SMObject : NSObject {
  std::atomic<int64_t> _extraReferences;
}
@end
