// Guard pages: an access outside of a buffer ends the process where it happens, be it by the CPU or by the simulated
// GPU. Real buffers share heaps' pages, so this is stricter than Metal; what the allocator sees does not change.
#include "guarded_memory.h"
#include <mach/vm_page_size.h>
#include <sys/mman.h>

namespace simulated_metal::guarded_memory {
namespace {

// kernels may rely on it; a heap's buffers have more
constexpr size_t kAlignment = 64;

size_t roundedUp(size_t size, size_t to) {
  return (size + to - 1) / to * to;
}

struct Layout {
  size_t accessible;
  size_t mapped;
  size_t before; // from the begin of the mapping to the memory

  explicit Layout(size_t length)
      : accessible(roundedUp(length, vm_page_size)),
        mapped(accessible + 2 * vm_page_size),
        before(vm_page_size + accessible - roundedUp(length, kAlignment)) {}
};

} // namespace

uint8_t* allocate(size_t length) {
  const Layout layout(length);
  void* mapping = mmap(nullptr, layout.mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) {
    return nullptr;
  }
  auto* base = static_cast<uint8_t*>(mapping);
  if (mprotect(base + vm_page_size, layout.accessible, PROT_READ | PROT_WRITE) != 0) {
    munmap(mapping, layout.mapped);
    return nullptr;
  }
  return base + layout.before;
}

void release(uint8_t* memory, size_t length) {
  const Layout layout(length);
  munmap(memory - layout.before, layout.mapped);
}

} // namespace simulated_metal::guarded_memory
