// Settings, counters and control of the simulated Metal, for drivers, plug-ins and tests.
#pragma once
#include <atomic>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>
#ifdef __OBJC__
#import <Metal/Metal.h>
#endif

namespace simulated_metal {

// When a finished command buffer lets go of the resources that it retains. Apple documents only that it happens "after
// the command buffer has finished executing"; whether completion handlers still see the references is not documented.
enum class DropOrder { BeforeHandlers, AfterHandlers, AfterWait };
// Whether the listeners of all shared events are told in the order of the signals, or each on a thread of its own.
enum class NotificationOrder { InOrder, AnyOrder };
// Whether an encoded command takes effect at once (only its retirement is late), or when the GPU executes it.
enum class Mode { EagerRetire, Asynchronous };
// Wall: the GPU sleeps. Virtual: GPU time passes only where the program says so (advance) or blocks, so that a
// single-threaded program sees the same transitions in every run.
enum class Clock { Wall, Virtual };
// How often a command buffer retains a buffer that several of its commands use.
enum class RetainRule { PerCommandBuffer, PerCommand };
// What MTLDevice.currentAllocatedSize counts for a heap.
enum class AllocatedSizeRule { WholeHeaps, UsedBytes };
// What becomes of a command whose range is outside its buffer: undefined on real hardware without the validation layer,
// which aborts. Skip leaves it out and counts it.
enum class Validation { Abort, Skip };
// Checked: CPU access to the contents of a buffer that an uncompleted command buffer writes, or a CPU write to one that
// it reads, is recorded as a hazard (page protection on a second mapping of each shared heap).
enum class CpuAccess { Unchecked, Checked };

struct Configuration {
  uint64_t recommended_max_bytes = 5ull << 30;
  uint64_t max_buffer_bytes = 16ull << 30;
  uint64_t hard_limit_bytes = 0; // a new heap beyond this fails; 0: none does
  uint64_t gpu_us_per_command_buffer = 0;
  uint64_t gpu_us_per_command = 0;
  uint64_t max_in_flight = 64; // MTLCommandQueue's documented default for uncompleted command buffers
  uint64_t heap_alignment = 256;
  uint64_t graph_commit_every = 0; // MPSGraph commits by itself after so many encodings; 0: never
  uint64_t macos_major = 15;
  uint64_t macos_minor = 1;
  bool unified = true;
  bool guard_pages = false;
  bool poison = false;
  bool execute = true; // false: commands move no bytes (for traces that only look at allocation)
  DropOrder drop_order = DropOrder::AfterHandlers;
  NotificationOrder notification_order = NotificationOrder::InOrder;
  Mode mode = Mode::EagerRetire;
  Clock clock = Clock::Wall;
  RetainRule retain_rule = RetainRule::PerCommandBuffer;
  AllocatedSizeRule allocated_size_rule = AllocatedSizeRule::WholeHeaps;
  CpuAccess cpu_access = CpuAccess::Unchecked;
  Validation validation = Validation::Abort;
};

// Read once from the environment: SIMULATED_METAL_<SETTING IN CAPITALS>. Set the rest before the device is first used;
// the gpu_us_* settings may change at any time.
Configuration& configuration();

// One line of the table of settings: its name on the command line, its value, and what it assumes about Metal.
struct Setting {
  std::string name;
  std::string value;
  std::string meaning;
  std::vector<std::string> alternatives; // other values of what is assumed about Metal; empty for what is no assumption
};
std::vector<Setting> settings();
// False when there is no such setting or the value is none of its values.
bool set_setting(const std::string& name, const std::string& value);

struct Counters {
  std::atomic<uint64_t> size_queries{0}; // heapBufferSizeAndAlign calls: the allocator makes one per allocation
  std::atomic<uint64_t> heaps_created{0};
  std::atomic<uint64_t> heaps_freed{0};
  std::atomic<uint64_t> heap_buffers_created{0};
  std::atomic<uint64_t> heap_buffers_freed{0};
  std::atomic<uint64_t> device_buffers_created{0}; // not from a heap
  std::atomic<uint64_t> no_copy_buffers_created{0};
  std::atomic<uint64_t> command_buffers_committed{0};
  std::atomic<uint64_t> command_buffers_completed{0};
  std::atomic<uint64_t> commands{0};
  std::atomic<uint64_t> blit_copies{0};
  std::atomic<uint64_t> blit_bytes{0};
  std::atomic<uint64_t> graphs{0};
  std::atomic<uint64_t> graph_commits{0};
  std::atomic<uint64_t> waits{0};              // waitUntilCompleted and CPU waits for a shared event
  std::atomic<uint64_t> blocking_waits{0};     // of these, the ones whose work had not completed yet
  std::atomic<uint64_t> throttled{0};          // commandBuffer calls that had to wait for max_in_flight
  std::atomic<uint64_t> invalid_commands{0};   // Validation::Skip
  std::atomic<uint64_t> cpu_access_hazards{0}; // CpuAccess::Checked
  std::atomic<uint64_t> allocated_bytes{0};    // MTLDevice.currentAllocatedSize
  std::atomic<uint64_t> peak_allocated_bytes{0};
};
Counters& counters();

// The GPU stops before the next command buffer, and goes on.
void pauseGPU();
void resumeGPU();
// Waits until every committed command buffer has completed and every asynchronous block has run.
void waitIdle();
// Virtual clock: lets the GPU work for that long, and returns when what it finished in that time has completed, its
// handlers included. With the wall clock it does nothing.
void advance(uint64_t microseconds);
// True while anything committed has not completed.
bool busy();

// The first hazard that CpuAccess::Checked recorded, in words; empty when there was none.
std::string first_cpu_access_hazard();
#ifdef __OBJC__
// The host memory behind any simulated buffer, private ones too, as the GPU sees it: never checked.
void* hostPointer(id<MTLBuffer> buffer);
#endif

// What MPSGraph's cast and conjugation nodes run; a plug-in that has tensor kernels sets it. Types are MPSDataType.
using CastKernel = void (*)(const void* source,
                            uint32_t source_type,
                            void* destination,
                            uint32_t destination_type,
                            uint64_t elements,
                            bool conjugate);
void setCastKernel(CastKernel kernel);

} // namespace simulated_metal
