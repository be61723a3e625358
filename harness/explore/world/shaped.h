// Tensors of all dtypes and shapes over a slot's memory: made, resized, and copied as views with offsets, gaps, casts
// and lazy bits. What the CPU makes of the same copy is what must come out, byte for byte and gaps included.
#pragma once
#include "memory.h"

namespace explore {

enum class Direction { ToDevice, ToHost };

// A number stands for dtypes, layouts, bits and size. The slot's contents are unknown afterwards.
void copyView(Slot& slot, uint32_t index, uint64_t number, Direction direction);
// Makes the slot's tensor in one of several ways, with room for what it is asked for.
void makeShaped(Slot& slot, uint32_t index, uint64_t number);
// Resizes a view of the slot's tensor beyond the storage's end; the storage keeps its bytes.
void resizeView(Slot& slot, uint32_t index, uint64_t number);

} // namespace explore
