// What the rest of the runtime needs to know about dispatch queues.
#pragma once

namespace simulated_metal::dispatch_queue {
// Returns when no block given to dispatch_async is waiting or running, on any queue.
void waitUntilDrained();
} // namespace simulated_metal::dispatch_queue
