// See shaped.h.
#include "shaped.h"
#include "../../metal/driver/layout.h"
#include "../trace/random.h"
#include "../trace/trace.h"
#include "report.h"
#include "worker.h"
#include <ATen/ATen.h>
#include <ATen/native/Resize.h>
#include <cstdio>
#include <cstring>
#include <simulated_metal/control.h>

namespace explore {
namespace {

using at::ScalarType;
using at::Tensor;
using umpatch::Layout;

constexpr ScalarType kTypes[] = {at::kFloat, at::kHalf, at::kInt, at::kLong, at::kByte, at::kBool, at::kComplexFloat};
constexpr ScalarType kRealTypes[] = {at::kFloat, at::kHalf, at::kInt, at::kLong, at::kByte};

constexpr Layout kLayouts[] = {Layout::Whole, Layout::Offset, Layout::EverySecond, Layout::Transposed};

struct Shape {
  int64_t rows;
  int64_t columns;
  // elements that the memory under any layout must have
  int64_t room() const {
    return 2 * rows * columns + 4;
  }
  // on the host with some more behind them, in which a copy that goes too far
  // is seen
  int64_t hostBytes(ScalarType type) const {
    return (2 * room() + 64) * (int64_t)elementSize(type);
  }
};

struct Copy {
  Direction direction;
  ScalarType from_type;
  ScalarType to_type;
  Layout from;
  Layout to;
  Shape shape;
  bool non_blocking;
  bool conj;
  bool neg;

  std::string text() const {
    char words[200];
    snprintf(words, sizeof words, "a copy to the %s%s, %s (%s%s%s) to %s (%s), %lldx%lld",
             direction == Direction::ToDevice ? "device" : "host", non_blocking ? ", non_blocking" : "",
             toString(from_type), nameOf(from), conj ? ", conj" : "", neg ? ", neg" : "", toString(to_type), nameOf(to),
             (long long)shape.rows, (long long)shape.columns);
    return words;
  }
};

// A typed view of memory that a tensor of bytes has.
Tensor typed(const Tensor& bytes, ScalarType type, at::IntArrayRef sizes, at::IntArrayRef strides, int64_t offset) {
  auto result = at::detail::make_tensor<c10::TensorImpl>(c10::TensorImpl::VIEW, c10::Storage(bytes.storage()),
                                                         bytes.key_set(), c10::scalarTypeToTypeMeta(type));
  at::native::setStrided(result, sizes, strides, offset);
  return result;
}

Tensor viewOf(const Tensor& bytes, ScalarType type, Layout layout, Shape shape) {
  const auto placement = umpatch::placementOf(layout, shape.rows, shape.columns);
  return typed(bytes, type, placement.sizes, placement.strides, placement.offset);
}

// On the CPU lazy bits are carried out first: its copy of negated floats to
// transposed halves loses them (PyTorch 2.6.0).
Tensor valuesOf(const Tensor& lazy) {
  return lazy.resolve_conj().resolve_neg();
}

Tensor withBits(Tensor tensor, const Copy& copy) {
  if (copy.conj) {
    tensor = tensor.conj();
  }
  return copy.neg ? tensor._neg_view() : tensor;
}

// Small numbers, which every dtype can hold, as bytes. None is zero, whose sign
// a lazy bit may or may not keep.
Tensor pattern(Random& random, ScalarType type, int64_t bytes) {
  const auto part = type == at::kComplexFloat ? at::kFloat : type;
  const int64_t elements = bytes / (int64_t)elementSize(part);
  Tensor numbers = at::empty({elements}, at::TensorOptions().dtype(at::kInt));
  const int first = (int)random.below(99);
  for (int64_t i = 0; i < elements; i++) {
    numbers.data_ptr<int>()[i] = 1 + (int)((first + i * 7) % 99);
  }
  const Tensor values = numbers.to(part);
  Tensor result = at::zeros({bytes}, at::TensorOptions().dtype(at::kByte));
  memcpy(result.data_ptr(), values.const_data_ptr(), values.nbytes());
  return result;
}

// Memory that a slot has, as the GPU leaves it when it has done all.
Tensor contents(const Slot& slot) {
  Tensor result = at::empty({(int64_t)slot.bytes}, at::TensorOptions().dtype(at::kByte));
  if (slot.has_value && slot.is_full) {
    memset(result.data_ptr(), slot.value, slot.bytes);
    return result;
  }
  synchronize(at::mps::SyncType::COMMIT_AND_WAIT);
  memcpy(result.data_ptr(), simulated_metal::hostPointer(slot.buffer()), slot.bytes);
  return result;
}

void compare(const void* seen, const Tensor& expected, const Copy& copy, const char* what, uint32_t slot) {
  const auto* actual = static_cast<const uint8_t*>(seen);
  const auto* wanted = static_cast<const uint8_t*>(expected.const_data_ptr());
  for (size_t i = 0; i < expected.nbytes(); i++) {
    if (actual[i] != wanted[i]) {
      char text[320];
      snprintf(text, sizeof text, "%s, %s: byte %zu of %s is 0x%02x, and 0x%02x on the CPU", slotName(slot).c_str(),
               copy.text().c_str(), i, what, actual[i], wanted[i]);
      report::violation("wrong-copy", text);
    }
  }
}

Shape drawShape(Random& random, int64_t elements) {
  const Shape shapes[] = {{1, 1}, {1, 7}, {4, 4}, {3, 5}, {16, 33}, {2, 500}};
  const Shape shape = random.of(shapes);
  return shape.room() <= elements ? shape : Shape{1, std::max<int64_t>(1, elements / 4 - 2)};
}

// Where a blit is not refused by stock's Metal: host addresses are multiples of
// four.
bool isAligned(const Copy& copy) {
  const int64_t offset = copy.to == Layout::Offset ? 3 : copy.to == Layout::EverySecond ? 1 : 0;
  return copy.direction == Direction::ToDevice || offset * (int64_t)elementSize(copy.to_type) % 4 == 0;
}

Copy drawCopy(Random& random, Direction direction, int64_t bytes) {
  Copy copy{};
  copy.direction = direction;
  copy.from_type = random.of(kTypes);
  const bool is_cast = random.oneIn(3) && copy.from_type != at::kComplexFloat; // complex to real is an error everywhere
  copy.to_type = is_cast ? random.of(kRealTypes) : copy.from_type;
  copy.from = random.oneIn(8) && direction == Direction::ToDevice ? Layout::Row : random.of(kLayouts);
  copy.to = random.of(kLayouts);
  copy.non_blocking = random.oneIn(3);
  const uint64_t bits = random.below(6);
  copy.conj = copy.from_type == at::kComplexFloat && (bits & 1);
  copy.neg = (copy.from_type == at::kComplexFloat || copy.from_type == at::kFloat) && (bits & 2);
  const auto device_type = direction == Direction::ToDevice ? copy.to_type : copy.from_type;
  const int64_t elements = bytes / (int64_t)elementSize(device_type);
  copy.shape = drawShape(random, elements);
  if (random.oneIn(4) && elements > 0) {
    (direction == Direction::ToDevice ? copy.to : copy.from) = Layout::Everything;
    copy.shape = {1, elements};
  }
  if (!isAligned(copy)) {
    copy.to = Layout::Whole;
  }
  return copy;
}

bool fits(const Copy& copy, int64_t bytes) {
  const bool to_device = copy.direction == Direction::ToDevice;
  const int64_t elements = bytes / (int64_t)elementSize(to_device ? copy.to_type : copy.from_type);
  const bool everything = (to_device ? copy.to : copy.from) == Layout::Everything;
  return everything ? elements > 0 : copy.shape.room() <= elements;
}

void copyToDevice(Slot& slot, uint32_t index, Random& random, const Copy& copy) {
  const Tensor source = pattern(random, copy.from_type, copy.shape.hostBytes(copy.from_type));
  const Tensor before = source.clone();
  const Tensor expected = contents(slot);
  viewOf(expected, copy.to_type, copy.to, copy.shape)
      .copy_(valuesOf(withBits(viewOf(source, copy.from_type, copy.from, copy.shape), copy)));
  viewOf(slot.tensor, copy.to_type, copy.to, copy.shape)
      .copy_(withBits(viewOf(source, copy.from_type, copy.from, copy.shape), copy), copy.non_blocking);
  synchronize(at::mps::SyncType::COMMIT_AND_WAIT);
  compare(simulated_metal::hostPointer(slot.buffer()), expected, copy, "the destination", index);
  compare(source.const_data_ptr(), before, copy, "the source", index);
}

void copyToHost(Slot& slot, uint32_t index, Random& random, const Copy& copy) {
  const Tensor source = pattern(random, copy.from_type, (int64_t)slot.bytes);
  slot.tensor.copy_(source, /*non_blocking=*/false);
  const Tensor target = pattern(random, copy.to_type, copy.shape.hostBytes(copy.to_type));
  const Tensor expected = target.clone();
  viewOf(expected, copy.to_type, copy.to, copy.shape)
      .copy_(valuesOf(withBits(viewOf(source, copy.from_type, copy.from, copy.shape), copy)));
  viewOf(target, copy.to_type, copy.to, copy.shape)
      .copy_(withBits(viewOf(slot.tensor, copy.from_type, copy.from, copy.shape), copy), copy.non_blocking);
  if (copy.non_blocking) {
    synchronize(at::mps::SyncType::COMMIT_AND_WAIT);
  }
  compare(target.const_data_ptr(), expected, copy, "the destination", index);
  synchronize(at::mps::SyncType::COMMIT_AND_WAIT);
  compare(simulated_metal::hostPointer(slot.buffer()), source, copy, "the source", index);
}

void expectRoom(const Tensor& tensor, uint64_t bytes, const char* way, uint32_t slot) {
  if (tensor.storage().nbytes() < bytes) {
    char text[160];
    snprintf(text, sizeof text, "%s: %s made a storage of %zu bytes where %llu are needed", slotName(slot).c_str(), way,
             tensor.storage().nbytes(), (unsigned long long)bytes);
    report::violation("state", text);
  }
}

// Whichever way it was made, a tensor's memory is of the same kind.
void expectSameStorageMode(const Tensor& tensor, const char* way, uint32_t slot) {
  constexpr int64_t kMostScalar = 8; // these are in a pool of their own
  if (tensor.storage().nbytes() <= kMostScalar) {
    return;
  }
  const Tensor plain = at::empty({kMostScalar + 1}, at::TensorOptions().dtype(at::kByte).device(at::kMPS));
  auto* allocator = at::mps::getIMPSAllocator();
  if (allocator->isSharedBuffer(plain.storage().data()) != allocator->isSharedBuffer(tensor.storage().data())) {
    char text[160];
    snprintf(text, sizeof text,
             "%s: the memory of empty is shared or private, and that of %s is "
             "not the same",
             slotName(slot).c_str(), way);
    report::violation("state", text);
  }
}

} // namespace

void copyView(Slot& slot, uint32_t index, uint64_t number, Direction direction) {
  Random random(number);
  const Copy copy = drawCopy(random, direction, (int64_t)slot.bytes);
  if (!fits(copy, (int64_t)slot.bytes)) {
    return;
  }
  report::log("%s", copy.text().c_str());
  if (direction == Direction::ToDevice) {
    copyToDevice(slot, index, random, copy);
  } else {
    copyToHost(slot, index, random, copy);
  }
  slot.has_value = slot.is_full = false;
}

void makeShaped(Slot& slot, uint32_t index, uint64_t number) {
  Random random(number);
  const ScalarType type = random.of(kTypes);
  const int64_t size = (int64_t)elementSize(type);
  const auto options = at::TensorOptions().dtype(type).device(at::kMPS);
  const int64_t rows = 1 + (int64_t)random.below(30), columns = 1 + (int64_t)random.below(60);
  const char* ways[] = {"empty", "empty_strided", "resize_", "set_ and resize_"};
  const char* way = random.of(ways);
  uint64_t bytes = (uint64_t)(rows * columns * size);
  Tensor tensor;
  if (way == ways[0]) {
    tensor = at::empty({rows, columns}, options);
  } else if (way == ways[1]) {
    tensor = at::empty_strided({rows, columns}, {columns + 3, 1}, options);
    bytes = (uint64_t)(((rows - 1) * (columns + 3) + columns) * size);
  } else {
    tensor = at::empty({way == ways[2] ? 0 : 1 + (int64_t)random.below(40)}, options);
    if (way == ways[3]) {
      tensor.set_();
    }
    tensor.resize_({rows, columns});
  }
  expectRoom(tensor, bytes, way, index);
  expectSameStorageMode(tensor, way, index);
  slot.tensor = typed(tensor, at::kByte, {(int64_t)bytes}, {1}, 0);
  slot.bytes = bytes;
  slot.kind = Slot::Kind::Tensor;
}

void resizeView(Slot& slot, uint32_t index, uint64_t number) {
  Random random(number);
  const int64_t bytes = (int64_t)slot.bytes;
  const int64_t offset = (int64_t)random.below(slot.bytes);
  const int64_t wanted = bytes - offset + (int64_t)random.below(2 * slot.bytes);
  Tensor view = typed(slot.tensor, at::kByte, {bytes - offset}, {1}, offset);
  view.resize_({wanted});
  expectRoom(view, (uint64_t)(offset + wanted), "resize_ of a view", index);
  expectSameStorageMode(view, "resize_ of a view", index);
}

} // namespace explore
