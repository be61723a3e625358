// The tree's MPSAllocator.mm, with eyes: this file is the allocator's object file in the driver. It reads upstream's
// own fields, so that it holds for stock and for any change that keeps them (a change may keep blocks in flight in
// buffers_pending_free or in available_buffers), and those that a change adds where it adds them.
#include <ATen/mps/MPSAllocator.mm>
#include <simulated_metal/control.h>
#include "allocator_audit.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <sstream>

namespace umpatch::audit {
namespace {

using at::mps::HeapAllocator::BufferBlock;
using at::mps::HeapAllocator::BufferPool;
using at::mps::HeapAllocator::HeapBlock;
using at::mps::HeapAllocator::MPSHeapAllocatorImpl;
using at::mps::HeapAllocator::UsageFlags;

// What a change may add to a pool, and stock has not: 0 stands for what is not there.
template <typename Pool>
auto pendingBytesBooked(const Pool& pool, int) -> decltype(std::optional<uint64_t>(pool.pending_size)) {
  return pool.pending_size;
}
template <typename Pool>
std::optional<uint64_t> pendingBytesBooked(const Pool&, long) {
  return std::nullopt;
}

// The pending blocks as they are linked, the oldest first; nothing where they are not.
template <typename Pool>
auto linkedPending(const Pool& pool, int)
    -> decltype(std::optional<std::vector<BufferBlock*>>(std::vector<BufferBlock*>{pool.pending_oldest})) {
  std::vector<BufferBlock*> blocks;
  const size_t most = pool.buffers_pending_free.size() + 1; // a circle ends too
  auto* older = pool.pending_oldest;
  older = nullptr;
  for (auto* block = pool.pending_oldest; block && blocks.size() < most; block = block->pending_newer) {
    if (block->pending_older != older || (older && older->pending_seq >= block->pending_seq)) {
      return std::vector<BufferBlock*>(most, nullptr); // as wrong as it can be
    }
    blocks.push_back(block);
    older = block;
  }
  if (pool.pending_newest != older) {
    return std::vector<BufferBlock*>(most, nullptr);
  }
  return blocks;
}
template <typename Pool>
std::optional<std::vector<BufferBlock*>> linkedPending(const Pool&, long) {
  return std::nullopt;
}

struct Sums {
  uint64_t live = 0; // in use and not pending
  uint64_t pending = 0;
  uint64_t pending_in_use = 0; // pending blocks that still carry the in_use flag
};

class Auditor {
 public:
  explicit Auditor(MPSHeapAllocatorImpl& allocator) : allocator_(allocator) {
  }

  std::vector<Violation> run() {
    std::lock_guard<std::recursive_mutex> lock(allocator_.m_mutex);
    Sums sums;
    uint64_t heap_bytes = 0;
    for (const auto& entry : allocator_.m_pools) {
      heap_bytes += auditPool(*entry.second, sums);
    }
    const uint64_t current = allocator_.m_current_allocated_memory;
    // A pending block whose in_use flag still stands may count as current or not; one without the flag may not.
    if (current != sums.live && current != sums.live + sums.pending_in_use) {
      report(Violation::Kind::Accounting, difference(current, sums.live), "current allocated memory is ", current,
             ", the blocks in use add up to ", sums.live, " (pending: ", sums.pending, ")");
    }
    if (allocator_.m_total_allocated_memory != heap_bytes) {
      report(Violation::Kind::Accounting, difference(allocator_.m_total_allocated_memory, heap_bytes),
             "total allocated memory is ", allocator_.m_total_allocated_memory, ", the heaps add up to ", heap_bytes);
    }
    auditOverlap();
    return std::move(violations_);
  }

 private:
  MPSHeapAllocatorImpl& allocator_;
  std::vector<Violation> violations_;

  static uint64_t difference(uint64_t a, uint64_t b) {
    return a > b ? a - b : b - a;
  }

  template <typename... Parts>
  void report(Violation::Kind kind, uint64_t bytes, const Parts&... parts) {
    constexpr size_t kMostReported = 8;
    if (violations_.size() >= kMostReported) {
      return;
    }
    std::ostringstream text;
    (text << ... << parts);
    violations_.push_back({kind, text.str(), bytes});
  }

  std::vector<BufferBlock*> blocksOf(const BufferPool& pool) const {
    std::vector<BufferBlock*> blocks;
    for (const auto& entry : allocator_.m_allocated_buffers) {
      if (entry.second->heap->pool == &pool) {
        blocks.push_back(entry.second);
      }
    }
    return blocks;
  }

  // Returns the bytes of the pool's heaps.
  uint64_t auditPool(const BufferPool& pool, Sums& sums) {
    const auto blocks = blocksOf(pool);
    const std::set<const BufferBlock*> known(blocks.begin(), blocks.end());
    std::map<const HeapBlock*, uint32_t> blocks_on;
    const std::set<const BufferBlock*> available(pool.available_buffers.begin(), pool.available_buffers.end());
    uint64_t allocated = 0;
    for (const BufferBlock* block : blocks) {
      allocated += block->size;
      blocks_on[block->heap]++;
      auditBlock(pool, *block, available.count(block) != 0, sums);
    }
    uint64_t available_bytes = 0;
    uint64_t pending_bytes = 0;
    for (const BufferBlock* block : pool.available_buffers) {
      if (!known.count(block)) {
        report(Violation::Kind::State, 0, "an available block is not among the allocated buffers");
        return 0; // it may be freed memory: read no more of it
      }
      available_bytes += block->size;
    }
    for (BufferBlock* block : pool.buffers_pending_free) {
      if (!known.count(block)) {
        report(Violation::Kind::State, 0, "a pending block is not among the allocated buffers");
        return 0;
      }
      pending_bytes += block->size;
    }
    if (const auto pending = pendingBytesBooked(pool, 0); pending && *pending != pending_bytes) {
      report(Violation::Kind::Accounting, difference(*pending, pending_bytes), "a pool's pending size is ", *pending,
             ", its pending blocks add up to ", pending_bytes);
    }
    if (const auto linked = linkedPending(pool, 0); linked && linked->size() != pool.buffers_pending_free.size()) {
      report(Violation::Kind::State, 0, "the pending blocks are not linked in the order in which they were freed");
    }
    const uint64_t booked = pool.available_size;
    if (booked != available_bytes && booked != available_bytes + pending_bytes) {
      report(Violation::Kind::Accounting, difference(booked, available_bytes), "a pool's available size is ", booked,
             ", its available blocks add up to ", available_bytes, " (pending: ", pending_bytes, ")");
    }
    if (pool.allocated_size != allocated || pool.n_buffers != blocks.size()) {
      report(Violation::Kind::Accounting, difference(pool.allocated_size, allocated), "a pool says ", pool.n_buffers,
             " buffers of ", pool.allocated_size, " bytes and has ", blocks.size(), " of ", allocated);
    }
    return auditHeaps(pool, blocks_on);
  }

  void auditBlock(const BufferPool& pool, const BufferBlock& block, bool is_available, Sums& sums) {
    const bool is_pending = pool.buffers_pending_free.count(const_cast<BufferBlock*>(&block)) != 0;
    if (is_pending) {
      sums.pending += block.size;
      sums.pending_in_use += block.in_use ? block.size : 0;
    } else if (block.in_use) {
      sums.live += block.size;
    }
    if (is_available && is_pending) {
      report(Violation::Kind::State, block.size, "block #", block.buf_id, " is available and pending at once");
    }
    if (is_available && block.in_use) {
      report(Violation::Kind::State, block.size, "block #", block.buf_id, " is available and in use at once");
    }
    if (!is_available && !is_pending && !block.in_use) {
      report(Violation::Kind::State, block.size, "block #", block.buf_id,
             " is lost: neither in use nor available nor pending");
    }
    if (is_available && block.event) {
      report(Violation::Kind::State, block.size, "block #", block.buf_id, " is free and still has an event");
    }
    if (is_available && !block.shape.empty()) {
      report(Violation::Kind::State, block.size, "block #", block.buf_id, " is free and still has a shape");
    }
    if (block.in_use && block.requested_size > block.size) {
      report(Violation::Kind::State, block.requested_size - block.size, "block #", block.buf_id, " of ", block.size,
             " bytes was given for a request of ", block.requested_size);
    }
    if ([block.buffer length] != block.size) {
      report(Violation::Kind::State, block.size, "block #", block.buf_id, " says ", block.size,
             " bytes, its MTLBuffer has ", [block.buffer length]);
    }
    const bool is_shared = [block.buffer storageMode] == MTLStorageModeShared;
    if (is_shared != bool(pool.usage & UsageFlags::SHARED)) {
      report(Violation::Kind::State, block.size, "block #", block.buf_id, " has the storage mode of another pool");
    }
  }

  uint64_t auditHeaps(const BufferPool& pool, std::map<const HeapBlock*, uint32_t>& blocks_on) {
    uint64_t bytes = 0;
    const HeapBlock* previous = nullptr;
    for (HeapBlock* heap : pool.heaps) {
      bytes += heap->size.total;
      const uint32_t blocks = blocks_on[heap];
      blocks_on.erase(heap);
      if (heap->n_buffers != blocks) {
        report(Violation::Kind::Accounting, 0, "heap #", heap->heap_id, " says ", heap->n_buffers, " buffers and has ",
               blocks);
      }
      const uint64_t really = HeapBlock::heapAvailableSize(heap->heap);
      if (heap->size.available > really) {
        report(Violation::Kind::Accounting, heap->size.available - really, "heap #", heap->heap_id, " says ",
               heap->size.available, " bytes are free, ", really, " are");
      }
      if (previous && HeapBlock::Comparator(heap, previous)) {
        report(Violation::Kind::State, 0, "a pool's heaps are out of order: a search among them can fail");
      }
      previous = heap;
    }
    for (const auto& [heap, blocks] : blocks_on) {
      report(Violation::Kind::State, 0, "heap #", heap->heap_id, " with ", blocks,
             " buffers is not in its pool's list");
      bytes += heap->size.total;
    }
    return bytes;
  }

  // Two live allocations must not share a byte.
  void auditOverlap() {
    std::vector<std::pair<const char*, const BufferBlock*>> ranges;
    for (const auto& entry : allocator_.m_allocated_buffers) {
      ranges.emplace_back(static_cast<const char*>(simulated_metal::hostPointer(entry.second->buffer)), entry.second);
    }
    std::sort(ranges.begin(), ranges.end());
    for (size_t i = 1; i < ranges.size(); i++) {
      if (ranges[i - 1].first + ranges[i - 1].second->size > ranges[i].first) {
        report(Violation::Kind::State, ranges[i].second->size, "blocks #", ranges[i - 1].second->buf_id, " and #",
               ranges[i].second->buf_id, " share memory");
      }
    }
  }
};

} // namespace

Holdings holdings() {
  auto& allocator = at::mps::_getAllocImpl();
  std::lock_guard<std::recursive_mutex> lock(allocator.m_mutex);
  Holdings sums;
  for (const auto& entry : allocator.m_pools) {
    const BufferPool& pool = *entry.second;
    for (const BufferBlock* block : pool.buffers_pending_free) {
      sums.pending_bytes += block->size;
      sums.in_flight_free_bytes += block->retainCount() > 1 ? block->size : 0;
    }
    for (const BufferBlock* block : pool.available_buffers) {
      sums.available_bytes += block->size;
      sums.in_flight_free_bytes += block->retainCount() > 1 ? block->size : 0;
    }
  }
  sums.blocks = allocator.m_allocated_buffers.size();
  for (const auto& entry : allocator.m_allocated_buffers) {
    const BufferBlock& block = *entry.second;
    const auto usage = block.heap->pool->usage;
    if (block.in_use && !(usage & UsageFlags::SCALAR)) {
      (usage & UsageFlags::SHARED ? sums.shared_blocks_in_use : sums.private_blocks_in_use)++;
    }
  }
  return sums;
}

size_t unsettledHeaps() {
  auto& allocator = at::mps::_getAllocImpl();
  std::lock_guard<std::recursive_mutex> lock(allocator.m_mutex);
  size_t unsettled = 0;
  for (const auto& entry : allocator.m_pools) {
    const BufferPool& pool = *entry.second;
    for (HeapBlock* heap : pool.heaps) {
      unsettled += heap->size.available != HeapBlock::heapAvailableSize(heap->heap) ||
                   pool.heaps_pending_update.count(heap) != 0;
    }
  }
  return unsettled;
}

std::vector<Violation> check() {
  return Auditor(at::mps::_getAllocImpl()).run();
}

Block describe(const void* pointer) {
  auto& allocator = at::mps::_getAllocImpl();
  std::lock_guard<std::recursive_mutex> lock(allocator.m_mutex);
  const BufferBlock* found = allocator.get_allocated_buffer_block(pointer);
  if (!found) {
    return {};
  }
  return {true, found->in_use, bool(found->heap->pool->usage & UsageFlags::SHARED), found->size, found->retainCount()};
}

DescriptionSizes descriptionSizes() {
  return {sizeof(HeapBlock), sizeof(BufferBlock)};
}

const void* mutex() {
  return &at::mps::_getAllocImpl().m_mutex;
}

} // namespace umpatch::audit
