// Tells ThreadSanitizer about the mutexes, conditions and threads that the scheduler keeps: the baton itself orders
// nothing that the program under test may rely on, so what races, races visibly although one thread runs at a time.
#pragma once

namespace explore::sanitizers {

void beforeLock(const void* mutex, bool recursive);
void afterLock(const void* mutex, bool recursive);
void beforeTryLock(const void* mutex, bool recursive);
void afterTryLock(const void* mutex, bool recursive, bool locked);
void beforeUnlock(const void* mutex);
void afterUnlock(const void* mutex);
// What one thread did before the first, another sees after the second.
void publish(const void* what);
void receive(const void* what);

} // namespace explore::sanitizers
