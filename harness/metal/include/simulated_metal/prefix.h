// Included before every source: what ATen/mps takes for granted on Darwin and GNUstep does not give.
#pragma once
#ifdef __cplusplus
#include <algorithm>
#include <cassert>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>
#endif
#include <signal.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

// Darwin's clang predefines these spellings.
#ifndef __nullable
#define __nullable _Nullable
#define __null_unspecified _Null_unspecified
#endif

#ifdef __OBJC__
#import <Foundation/Foundation.h>
// On Darwin nil is nullptr in C++11 and later; GNUstep's is an id, which converts to no other pointer.
#undef nil
#define nil nullptr
// GNUstep's short macros collide with names in ATen.
#undef _
#undef __
#undef RETAIN
#undef RELEASE
#undef AUTORELEASE
#undef ASSIGN
#undef DESTROY
#undef MAX
#undef MIN
#undef ABS
typedef struct {
  NSInteger majorVersion;
  NSInteger minorVersion;
  NSInteger patchVersion;
} NSOperatingSystemVersion;
@interface NSProcessInfo (SimulatedDarwin)
- (BOOL)isOperatingSystemAtLeastVersion:(NSOperatingSystemVersion)version;
@end
typedef double CFTimeInterval;
#ifdef __cplusplus
// array[i] = value on Darwin; subscripts of objects are pointer arithmetic with the GCC runtime, so the recipe rewrites
// the few that there are. As setObject:atIndexedSubscript: does, it appends when the index is the count.
struct SMElement {
  NSMutableArray* array;
  NSUInteger index;
  void operator=(id value) const {
    if (index == [array count]) {
      [array addObject:value];
    } else {
      [array replaceObjectAtIndex:index withObject:value];
    }
  }
};
#endif
#endif

#include <dispatch/dispatch.h>

// Apple Silicon's page; Copy.mm aligns host pointers to it.
#ifndef PAGE_SIZE
#define PAGE_SIZE 16384
#endif
static inline uint64_t clock_gettime_nsec_np(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}
