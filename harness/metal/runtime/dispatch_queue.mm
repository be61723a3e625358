// Serial dispatch queues. As Apple documents: blocks of a serial queue run one at a time in the order in which they
// were submitted, synchronous ones on the caller's thread; dispatch_sync onto a queue that this thread already owns is
// a programming error that libdispatch turns into a crash, and so does this one. Not modelled: concurrent queues,
// priorities, the main queue's run loop (it is one more serial queue).
#include "dispatch_queue.h"
#import "object.h"
#include <Block.h>
#include <dispatch/dispatch.h>
#include <simulated_metal/hooks.h>
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

struct sm_dispatch_queue {
  std::string label;
  std::mutex mutex;
  std::condition_variable changed;
  uint64_t next_ticket = 0;
  uint64_t turn = 0;
  std::map<uint64_t, dispatch_block_t> asynchronous; // by ticket
  std::atomic<std::thread::id> owner{};
  std::thread worker; // started by the first dispatch_async
  bool stopping = false;
  std::atomic<int> references{1};

  void run(dispatch_block_t block, std::unique_lock<std::mutex>& lock) {
    owner = std::this_thread::get_id();
    lock.unlock();
    struct EndTurn {
      sm_dispatch_queue& queue;
      std::unique_lock<std::mutex>& lock;
      ~EndTurn() { // blocks may throw C++ exceptions through dispatch_sync
        queue.owner = std::thread::id();
        lock.lock();
        ++queue.turn;
        queue.changed.notify_all();
      }
    } end_turn{*this, lock};
    simulated_metal::hooks::Owning owning(this, label.c_str());
    block();
  }

  void work();
};

struct sm_dispatch_data {
  const void* bytes;
  size_t size;
};

namespace {

std::mutex& pendingMutex() {
  static auto* mutex = new std::mutex;
  return *mutex;
}
std::condition_variable& pendingChanged() {
  static auto* changed = new std::condition_variable;
  return *changed;
}
uint64_t pending_blocks = 0;

void countPending(int change) {
  {
    std::lock_guard<std::mutex> lock(pendingMutex());
    pending_blocks += change;
  }
  pendingChanged().notify_all();
}

} // namespace

void sm_dispatch_queue::work() {
  simulated_metal::hooks::thread(label.c_str());
  GSRegisterCurrentThread();
  std::unique_lock<std::mutex> lock(mutex);
  for (;;) {
    changed.wait(lock, [&] { return stopping || asynchronous.count(turn); });
    auto found = asynchronous.find(turn);
    if (found == asynchronous.end()) {
      return;
    }
    dispatch_block_t block = found->second;
    asynchronous.erase(found);
    @autoreleasepool {
      run(block, lock);
    }
    lock.unlock();
    Block_release(block);
    dispatch_release(this);
    countPending(-1);
    lock.lock();
  }
}

namespace simulated_metal::dispatch_queue {
void waitUntilDrained() {
  std::unique_lock<std::mutex> lock(pendingMutex());
  pendingChanged().wait(lock, [] { return pending_blocks == 0; });
}
} // namespace simulated_metal::dispatch_queue

extern "C" {

dispatch_queue_t dispatch_queue_create(const char* label, dispatch_queue_attr_t) {
  auto* queue = new sm_dispatch_queue;
  queue->label = label ? label : "";
  return queue;
}

void dispatch_retain(dispatch_queue_t queue) {
  if (queue) {
    ++queue->references;
  }
}

void dispatch_release(dispatch_queue_t queue) {
  if (!queue || --queue->references) {
    return;
  }
  {
    std::lock_guard<std::mutex> lock(queue->mutex);
    queue->stopping = true;
  }
  queue->changed.notify_all();
  if (queue->worker.get_id() == std::this_thread::get_id()) {
    queue->worker.detach(); // released by its own last block: the few bytes are leaked
    return;
  }
  if (queue->worker.joinable()) {
    queue->worker.join();
  }
  delete queue;
}

dispatch_queue_t dispatch_get_main_queue(void) {
  static auto* queue = dispatch_queue_create("main", DISPATCH_QUEUE_SERIAL);
  return queue;
}

void dispatch_sync(dispatch_queue_t queue, dispatch_block_t block) {
  if (queue->owner.load() == std::this_thread::get_id()) {
    fprintf(stderr,
            "BUG IN CLIENT OF LIBDISPATCH: dispatch_sync called on queue '%s' already owned by current thread\n",
            queue->label.c_str());
    abort();
  }
  std::unique_lock<std::mutex> lock(queue->mutex);
  const uint64_t ticket = queue->next_ticket++;
  std::optional<simulated_metal::hooks::Waiting> waiting(std::in_place, queue, queue->label.c_str());
  queue->changed.wait(lock, [&] { return queue->turn == ticket; });
  waiting.reset();
  queue->run(block, lock);
}

void dispatch_async(dispatch_queue_t queue, dispatch_block_t block) {
  countPending(+1);
  dispatch_retain(queue);
  {
    std::lock_guard<std::mutex> lock(queue->mutex);
    queue->asynchronous.emplace(queue->next_ticket++, Block_copy(block));
    if (!queue->worker.joinable()) {
      queue->worker = std::thread([queue] { queue->work(); });
    }
  }
  queue->changed.notify_all();
}

dispatch_data_t dispatch_data_create(const void* bytes, size_t size, dispatch_queue_t, dispatch_block_t) {
  return new sm_dispatch_data{bytes, size};
}

} // extern "C"
