// MTLSharedEvent and its listener.
#pragma once
#import "object.h"
#import <Metal/Metal.h>
#include "timeline.h"
#include <condition_variable>
#include <map>
#include <mutex>

@interface SMSharedEvent : SMObject <MTLSharedEvent> {
  std::mutex* _mutex;
  std::condition_variable* _changed;
  uint64_t _signaledValue;
  uint64_t _encodedValue;                                            // the largest that some command buffer signals
  uint64_t _awaitedValue;                                            // the largest that a listener waits for
  std::map<uint64_t, simulated_metal::timeline::Ticket>* _committed; // value to the command buffer that signals it
  std::multimap<uint64_t, MTLSharedEventNotificationBlock>* _notifications;
}
// A signal of this value was encoded, and later its command buffer was committed.
- (void)didEncodeSignal:(uint64_t)value;
- (void)willSignal:(uint64_t)value at:(simulated_metal::timeline::Ticket)ticket;
// Blocks the GPU's thread until the value is reached.
- (void)waitOnGPU:(uint64_t)value;
@end
