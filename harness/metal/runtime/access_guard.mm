// See access_guard.h. The handler of SIGSEGV touches only atomics and mprotect.
#include "access_guard.h"
#include <simulated_metal/control.h>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <sys/mman.h>
#include <ucontext.h>

namespace simulated_metal {
namespace access_guard {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kMaxHeaps = 4096;

struct PageUse {
  std::atomic<uint16_t> readers{0};
  std::atomic<uint16_t> writers{0};
};

struct GuardedHeap {
  std::atomic<uint8_t*> base{nullptr};
  std::atomic<size_t> size{0};
  PageUse* pages = nullptr;
};

GuardedHeap heaps[kMaxHeaps];
std::atomic<size_t> heap_count{0};
std::mutex& guardMutex() {
  static auto* mutex = new std::mutex;
  return *mutex;
}
struct sigaction previous_action;
std::atomic<bool> has_first{false};
char first_hazard[160];

GuardedHeap* find(const uint8_t* address) {
  for (size_t i = 0, n = heap_count.load(); i < n; i++) {
    uint8_t* base = heaps[i].base.load();
    if (base && address >= base && address < base + heaps[i].size.load()) {
      return &heaps[i];
    }
  }
  return nullptr;
}

void protect(uint8_t* page, const PageUse& use) {
  const int protection = use.writers ? PROT_NONE : use.readers ? PROT_READ : PROT_READ | PROT_WRITE;
  mprotect(page, kPage, protection);
}

void onFault(int signal, siginfo_t* info, void* context) {
  auto* address = static_cast<uint8_t*>(info->si_addr);
  GuardedHeap* heap = find(address);
  if (!heap) {
    // not ours: let the previous action (a sanitizer's, or the default) have it
    if (previous_action.sa_flags & SA_SIGINFO && previous_action.sa_sigaction) {
      previous_action.sa_sigaction(signal, info, context);
      return;
    }
    sigaction(SIGSEGV, &previous_action, nullptr);
    return;
  }
#if defined(__x86_64__)
  const bool write = static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_ERR] & 2;
#else
  const bool write = true;
#endif
  counters().cpu_access_hazards++;
  uint8_t* base = heap->base.load();
  const size_t index = (size_t)(address - base) / kPage;
  if (!has_first.exchange(true)) {
    snprintf(first_hazard, sizeof first_hazard, "CPU %s of memory that %u uncompleted command(s) write and %u read",
             write ? "write" : "read", heap->pages[index].writers.load(), heap->pages[index].readers.load());
  }
  mprotect(base + index * kPage, kPage, PROT_READ | PROT_WRITE); // once per page and use
}

void install() {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = onFault;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigaction(SIGSEGV, &action, &previous_action);
  });
}

template <typename F>
void forEachPage(const uint8_t* address, size_t length, F&& body) {
  if (!length) {
    return;
  }
  std::lock_guard<std::mutex> lock(guardMutex());
  GuardedHeap* heap = find(address);
  if (!heap) {
    return;
  }
  uint8_t* base = heap->base.load();
  const size_t first = (size_t)(address - base) / kPage;
  const size_t last = (size_t)(address + length - 1 - base) / kPage;
  for (size_t i = first; i <= last; i++) {
    body(heap->pages[i]);
    protect(base + i * kPage, heap->pages[i]);
  }
}

} // namespace

void addHeap(uint8_t* cpu_base, size_t size) {
  install();
  std::lock_guard<std::mutex> lock(guardMutex());
  size_t slot = 0;
  while (slot < heap_count && heaps[slot].base.load()) {
    slot++;
  }
  if (slot == kMaxHeaps) {
    fprintf(stderr, "simulated Metal: more than %zu heaps with cpu_access=checked\n", kMaxHeaps);
    abort();
  }
  heaps[slot].pages = new PageUse[size / kPage + 1];
  heaps[slot].size = size;
  heaps[slot].base = cpu_base;
  if (slot == heap_count) {
    heap_count++;
  }
}

void removeHeap(uint8_t* cpu_base) {
  std::lock_guard<std::mutex> lock(guardMutex());
  if (GuardedHeap* heap = find(cpu_base)) {
    heap->base = nullptr;
    delete[] heap->pages;
    heap->pages = nullptr;
  }
}

void begin(const uint8_t* cpu_address, size_t length, Use use) {
  forEachPage(cpu_address, length, [use](PageUse& page) { (use == Use::GpuWrites ? page.writers : page.readers)++; });
}

void end(const uint8_t* cpu_address, size_t length, Use use) {
  forEachPage(cpu_address, length, [use](PageUse& page) { (use == Use::GpuWrites ? page.writers : page.readers)--; });
}

} // namespace access_guard

std::string first_cpu_access_hazard() {
  return access_guard::has_first ? access_guard::first_hazard : "";
}

} // namespace simulated_metal
