// See copy_case.h.
#include "copy_case.h"
#include <ATen/ops/conj_physical.h>
#include <ATen/ops/imag.h>
#include <ATen/ops/neg.h>
#include <ATen/ops/real.h>
#include <sstream>

namespace umpatch {

using at::ScalarType;
using at::mps::SyncType;

namespace {

// A base tensor on the CPU with small integers, which every dtype can hold, and a view of it of the wanted shape.
struct Operand {
  Tensor base;
  Tensor view;
};

Tensor viewOf(const Tensor& base, Layout layout, Shape shape) {
  const Placement placement = placementOf(layout, shape.rows, shape.columns);
  return base.as_strided(placement.sizes, placement.strides, placement.offset);
}

Operand hostOperand(Session& session, ScalarType type, Layout layout, Shape shape) {
  const int64_t elements = 2 * shape.rows * shape.columns + 16;
  Tensor base = at::empty({elements}, at::TensorOptions().dtype(at::kInt));
  for (int64_t i = 0; i < elements; i++) {
    // without zeros, as the sign of a zero depends on the way
    base.data_ptr<int>()[i] = type == at::kBool ? (int)(session.random()() % 2) : 1 + (int)(session.random()() % 99);
  }
  base = base.to(type);
  if (base.is_complex()) {
    at::imag(base).copy_(at::real(base).add(1));
  }
  return {base, viewOf(base, layout, shape)};
}

// The same storage on the device, byte for byte, put there without Copy.mm: at once, or by work that is late.
Operand onDevice(Session& session, const Operand& host, Layout layout, Shape shape, Late late) {
  Tensor base = at::empty(host.base.sizes(), host.base.options().device(at::kMPS));
  uint8_t* memory = deviceBytes(base);
  if (late == Late::Nothing) {
    memcpy(memory, host.base.data_ptr(), host.base.nbytes());
  } else {
    constexpr int kBefore = 1; // a value of every dtype
    memset(memory, kBefore, host.base.nbytes());
    const Tensor bytes = host.base.clone();
    session.operation({}, {bufferOf(base)}, [memory, bytes] { memcpy(memory, bytes.data_ptr(), bytes.nbytes()); });
    if (late == Late::Committed) {
      session.synchronize(SyncType::COMMIT);
    }
  }
  return {base, viewOf(base, layout, shape)};
}

Operand copyOf(const Operand& host, Layout layout, Shape shape) {
  Tensor base = host.base.clone();
  return {base, viewOf(base, layout, shape)};
}

const char* nameOf(Direction direction) {
  return direction == Direction::ToDevice ? "host to device"
         : direction == Direction::ToHost ? "device to host"
                                          : "on device";
}

// Whether a memcpy would have done: unified memory, same dtype and both sides contiguous, with equal bits.
bool isEligible(const Case& c) {
  const auto isContiguous = [](Layout layout) { return layout == Layout::Whole || layout == Layout::Offset; };
  return simulated_metal::configuration().unified && c.direction == Direction::ToDevice && c.from_type == c.to_type &&
         isContiguous(c.from) && isContiguous(c.to) && !c.conj && !c.neg && !c.to_conj && !c.to_neg &&
         c.late == Late::Nothing && c.shape.rows * c.shape.columns > 0;
}

Tensor withBits(Tensor tensor, bool is_conj, bool is_neg) {
  if (is_conj) {
    tensor = tensor.conj();
  }
  if (is_neg) {
    tensor = tensor._neg_view();
  }
  return tensor;
}

// What the copy has to leave in the destination's memory. Nothing is lazy: a cast of a lazily negated CPU tensor to
// half loses the sign in PyTorch 2.6.
Tensor inMemory(const Tensor& source, const Case& c) {
  Tensor value = source;
  if (c.conj) {
    value = at::conj_physical(value);
  }
  if (c.neg) {
    value = at::neg(value);
  }
  value = value.to(c.to_type);
  if (c.to_neg) {
    value = at::neg(value);
  }
  return c.to_conj ? at::conj_physical(value) : value;
}

// A blocking copy from the host is done with the host's memory.
void overwrite(const Tensor& host) {
  constexpr int kAfter = 0;
  memset(host.data_ptr(), kAfter, host.nbytes());
}

} // namespace

const std::vector<ScalarType>& types() {
  static const std::vector<ScalarType> all{at::kFloat, at::kHalf, at::kBFloat16, at::kInt,  at::kLong,
                                           at::kShort, at::kChar, at::kByte,     at::kBool, at::kComplexFloat};
  return all;
}

std::string Case::text() const {
  const auto bits = [](bool is_conj, bool is_neg) {
    return std::string(is_conj ? ", conj" : "") + (is_neg ? ", neg" : "");
  };
  std::ostringstream words;
  words << nameOf(direction) << ", " << toString(from_type) << " (" << nameOf(from) << bits(conj, neg) << ") to "
        << toString(to_type) << " (" << nameOf(to) << bits(to_conj, to_neg) << "), " << shape.rows << "x"
        << shape.columns << (non_blocking ? ", non_blocking" : "")
        << (late == Late::Encoded     ? ", of encoded work"
            : late == Late::Committed ? ", of committed work"
                                      : "");
  return words.str();
}

bool runCase(Session& session, const Case& c) {
  const Operand source = hostOperand(session, c.from_type, c.from, c.shape);
  const Operand target = hostOperand(session, c.to_type, c.to, c.shape);
  const Operand expected = copyOf(target, c.to, c.shape);
  expected.view.copy_(inMemory(source.view, c));

  const bool from_device = c.direction != Direction::ToDevice;
  const bool to_device = c.direction != Direction::ToHost;
  const Operand actual_source =
      from_device ? onDevice(session, source, c.from, c.shape, c.late) : copyOf(source, c.from, c.shape);
  const Operand actual = to_device ? onDevice(session, target, c.to, c.shape, c.late) : copyOf(target, c.to, c.shape);
  const auto copy = [&] {
    const Tensor view = withBits(actual.view, c.to_conj, c.to_neg);
    view.copy_(withBits(actual_source.view, c.conj, c.neg), c.non_blocking);
  };
  try {
    isEligible(c) ? session.countEligibleCopy(copy) : copy();
  } catch (const std::exception& error) {
    const std::string text = error.what();
    session.count("refused", 1);
    session.fault(Fault::UnexpectedError, c.text() + ": " + text.substr(0, text.find('\n')));
    session.synchronize(SyncType::COMMIT_AND_WAIT); // what is late must not come when the memory is another's
    return false;
  }
  const auto expectSame = [&](const Operand& shown, bool is_on_device, const Operand& wanted, const char* what) {
    const void* bytes = is_on_device ? (const void*)deviceBytes(shown.base) : shown.base.data_ptr();
    session.expectBytes(Fault::WrongData, bytes, wanted.base.data_ptr(), wanted.base.nbytes(), c.text() + what);
  };
  if (!to_device && !c.non_blocking) {
    expectSame(actual, to_device, expected, ": the destination's storage at once");
  }
  if (!from_device) {
    expectSame(actual_source, from_device, source, ": the source");
    if (!c.non_blocking) {
      overwrite(actual_source.base);
    }
  }
  session.synchronize(SyncType::COMMIT_AND_WAIT);
  expectSame(actual, to_device, expected, ": the destination's storage");
  if (from_device) {
    expectSame(actual_source, from_device, source, ": the source");
  }
  session.pass();
  return true;
}

Shape randomShape(Session& session) {
  static const Shape shapes[] = {{1, 1}, {1, 7}, {4, 4}, {3, 5}, {16, 33}, {64, 64}, {2, 8192}, {0, 4}};
  return shapes[session.random()() % (sizeof shapes / sizeof shapes[0])];
}

} // namespace umpatch
