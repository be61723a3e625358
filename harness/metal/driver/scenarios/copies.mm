// Copies in all directions through the tree's own Copy.mm, compared bit for bit with the same copy between CPU tensors:
// dtypes, offsets, strides, broadcasts, zero sizes, unaligned storage, views, conj and neg bits.
#include "../copy_case.h"

namespace umpatch {
namespace {

using at::ScalarType;
using at::mps::SyncType;

// Device-to-host copies that stock gets wrong or refuses, kept in scenarios of their own (copies-to-host-known-faults,
// copies-unaligned), so that the others have no fault in stock:
// equal strides with gaps are blitted as if there were none; a cast with an offset on either side takes the offset in
// the wrong unit and converts the source in place; a blit needs a host address that is a multiple of four.
bool isKnownFault(const Case& c) {
  if (c.direction != Direction::ToHost || c.shape.rows * c.shape.columns == 0) {
    return false;
  }
  const bool has_gaps = c.from == Layout::EverySecond && c.to == Layout::EverySecond;
  const bool is_cast = c.from_type != c.to_type;
  return has_gaps || is_cast;
}

bool isAligned(const Case& c) {
  if (c.direction != Direction::ToHost) {
    return true;
  }
  const int64_t offset = c.to == Layout::Offset ? 3 : c.to == Layout::EverySecond ? 1 : c.to == Layout::Row ? 2 : 0;
  return offset * (int64_t)elementSize(c.to_type) % 4 == 0;
}

Case randomCase(Session& session, Direction direction) {
  auto pick = [&session](const auto& list, size_t count) { return list[session.random()() % count]; };
  Case c{direction,         pick(types(), types().size()), at::kFloat, pick(kLayouts, 5),
         pick(kLayouts, 4), randomShape(session)};
  const bool is_same_type = session.random()() % 2 || c.from_type == at::kComplexFloat;
  c.to_type = is_same_type ? c.from_type : pick(types(), types().size() - 1); // complex to real is an error everywhere
  return c;
}

// As random as it can be: late work, non_blocking, lazy bits on either side.
Case anyCase(Session& session) {
  const auto chance = [&session](unsigned of) { return session.random()() % of == 0; };
  constexpr Direction kDirections[] = {Direction::ToDevice, Direction::ToHost, Direction::OnDevice};
  constexpr Late kLate[] = {Late::Nothing, Late::Encoded, Late::Committed};
  Case c = randomCase(session, kDirections[session.random()() % 3]);
  if (chance(4)) {
    c.from_type = c.to_type = at::kComplexFloat;
  }
  c.non_blocking = chance(2);
  c.late = kLate[session.random()() % 3];
  const auto isComplex = [](ScalarType type) { return type == at::kComplexFloat; };
  const auto hasSign = [&](ScalarType type) { return isComplex(type) || c10::isFloatingType(type); };
  c.conj = isComplex(c.from_type) && chance(2);
  c.to_conj = isComplex(c.to_type) && chance(2);
  c.neg = hasSign(c.from_type) && chance(3);
  c.to_neg = hasSign(c.to_type) && chance(3);
  return c;
}

void anyWay(Session& session) {
  while (session.step() < session.steps()) {
    for (int i = 0; i < 20; i++) {
      runCase(session, anyCase(session));
    }
    session.endStep();
  }
}

enum class Among { KnownFaults, Others };

void fuzz(Session& session, Direction direction, Among among = Among::Others) {
  while (session.step() < session.steps()) {
    for (int i = 0; i < 10; i++) {
      Case c = randomCase(session, direction);
      while (!isAligned(c) || isKnownFault(c) != (among == Among::KnownFaults)) {
        c = randomCase(session, direction);
      }
      runCase(session, c);
    }
    session.endStep();
  }
}

void toDevice(Session& session) {
  fuzz(session, Direction::ToDevice);
}
void toHost(Session& session) {
  fuzz(session, Direction::ToHost);
}
void toHostKnownFaults(Session& session) {
  fuzz(session, Direction::ToHost, Among::KnownFaults);
}
void onDevice(Session& session) {
  fuzz(session, Direction::OnDevice);
}

// Contiguous copies of one dtype, the ones that a memcpy is for, at every kind of offset and size.
void contiguous(Session& session) {
  while (session.step() < session.steps()) {
    const ScalarType type = types()[session.random()() % types().size()];
    const Layout from = session.random()() % 2 ? Layout::Whole : Layout::Offset;
    const Layout to = session.random()() % 2 ? Layout::Whole : Layout::Offset;
    const Direction direction = session.random()() % 2 ? Direction::ToDevice : Direction::ToHost;
    const Shape shape{1 + (int64_t)(session.random()() % 40), 1 + (int64_t)(session.random()() % 700)};
    const Case c{direction, type, type, from, to, shape};
    if (isAligned(c)) {
      runCase(session, c);
    }
    session.endStep();
  }
}

// Lazy conjugation and negation. Stock is wrong for some of these: the figure of each arm is what counts.
void conjAndNeg(Session& session) {
  while (session.step() < session.steps()) {
    for (const Direction direction : {Direction::ToDevice, Direction::ToHost}) {
      for (int bits = 1; bits < 4; bits++) {
        Case c{direction, at::kComplexFloat, at::kComplexFloat, Layout::Whole, Layout::Whole, {4, 9}};
        c.conj = bits & 1;
        c.neg = bits & 2;
        runCase(session, c);
      }
    }
    session.endStep();
  }
}

// Device to host at addresses that are not a multiple of four: stock refuses them with an exception.
void unaligned(Session& session) {
  while (session.step() < session.steps()) {
    const ScalarType type = session.random()() % 2 ? at::kHalf : at::kByte;
    const Case c{Direction::ToHost, type, type, Layout::Whole, Layout::Offset, {3, 5}};
    session.count(runCase(session, c) ? "unaligned_copied" : "unaligned_refused", 1);
    session.endStep();
  }
}

// P:189563. Float to half, device to host, into a slice: the source must stay what it was.
void castIntoSlice(Session& session) {
  while (session.step() < session.steps()) {
    const int64_t elements = 8 + (int64_t)(session.random()() % 2000);
    const Tensor host = at::arange(elements, at::kFloat);
    Tensor device = at::empty({elements}, host.options().device(at::kMPS));
    memcpy(deviceBytes(device), host.data_ptr(), host.nbytes());
    Tensor result = at::empty({elements + 2}, at::TensorOptions().dtype(at::kHalf));
    result.slice(0, 2).copy_(device);
    const Tensor expected = host.to(at::kHalf);
    session.expectBytes(Fault::WrongData, result.slice(0, 2).data_ptr(), expected.data_ptr(), expected.nbytes(),
                        "the slice");
    session.expectBytes(Fault::WrongData, deviceBytes(device), host.data_ptr(), host.nbytes(), "the source");
    session.pass();
    session.endStep();
  }
}

// P:189961. Device to host between views of every second element: the values, and the gaps between them.
void betweenStrided(Session& session) {
  while (session.step() < session.steps()) {
    const Shape shape{1, 1 + (int64_t)(session.random()() % 2000)};
    runCase(session, {Direction::ToHost, at::kFloat, at::kFloat, Layout::EverySecond, Layout::EverySecond, shape});
    session.endStep();
  }
}

// P:114197. 128 by 128 half to CPU float and back to half, over and over: memory has to stay flat.
void copyCast(Session& session) {
  Tensor device = at::empty({128, 128}, at::TensorOptions().dtype(at::kHalf).device(at::kMPS));
  const Tensor host = at::arange(128 * 128, at::kFloat).to(at::kHalf).view({128, 128});
  memcpy(deviceBytes(device), host.data_ptr(), host.nbytes());
  while (session.step() < session.steps()) {
    const Tensor on_host = device.to(at::kCPU, at::kFloat);
    device = on_host.to(at::kMPS, at::kHalf);
    session.pass();
    session.endStep();
  }
  session.synchronize(SyncType::COMMIT_AND_WAIT);
  session.expectBytes(Fault::WrongData, deviceBytes(device), host.data_ptr(), host.nbytes(), "after all round trips");
}

// P:124335, scaled by the setting bytes: a copy that has to be split into blits of 2 GiB, or moved as one memcpy. By
// default it stays below that; with bytes=4294967296 it is the report's own.
void large(Session& session) {
  const size_t bytes = session.number("bytes");
  while (session.step() < session.steps()) {
    Tensor host = emptyBytes(bytes, at::kCPU);
    auto* words = static_cast<uint64_t*>(host.data_ptr());
    constexpr size_t kStride = 512; // one word a page is enough to tell where bytes came from
    for (size_t i = 0; i < bytes / sizeof *words; i += kStride) {
      words[i] = i * 0x9e3779b97f4a7c15ull;
    }
    Tensor device = emptyBytes(bytes, at::kMPS);
    session.countEligibleCopy([&] { device.copy_(host); });
    const auto* copied = reinterpret_cast<const uint64_t*>(deviceBytes(device));
    uint64_t wrong = 0;
    for (size_t i = 0; i < bytes / sizeof *words; i += kStride) {
      wrong += copied[i] != words[i];
    }
    if (wrong) {
      session.fault(Fault::WrongData, "pages of a large copy differ", wrong * sizeof *words);
    }
    session.pass();
    session.endStep();
  }
}

using Settings = std::map<std::string, std::string>;

const Scenarios added({
    {"copies-to-device",
     "random copies host to device",
     "ours",
     "copy",
     {"memcpy-copy"},
     60,
     2000,
     true,
     Settings{},
     toDevice},
    {"copies-to-host",
     "random copies device to host",
     "ours",
     "copy",
     {"copy-values", "memcpy-copy"},
     60,
     2000,
     true,
     Settings{},
     toHost},
    {"copies-to-host-known-faults",
     "device-to-host casts, and views with gaps, that stock gets wrong",
     "ours",
     "copy",
     {"copy-values"},
     20,
     400,
     true,
     Settings{},
     toHostKnownFaults},
    {"copies-on-device",
     "random copies on the device",
     "ours",
     "copy",
     {"copy-values"},
     40,
     1000,
     true,
     Settings{},
     onDevice},
    {"copies-contiguous",
     "contiguous copies of one dtype at every offset",
     "ours",
     "copy",
     {"memcpy-copy"},
     200,
     4000,
     true,
     Settings{},
     contiguous},
    {"copies-any-way",
     "random copies, non_blocking or not, of work that is late or not, with lazy bits on either side",
     "ours",
     "copy",
     {"copy-values", "memcpy-copy"},
     60,
     2000,
     true,
     Settings{},
     anyWay},
    {"copies-any-way-discrete",
     "the same without unified memory",
     "ours",
     "copy",
     {"copy-values", "memcpy-copy"},
     30,
     1000,
     true,
     Settings{{"unified", "0"}, {"mode", "asynchronous"}},
     anyWay},
    {"copies-conj-neg",
     "lazily conjugated and negated tensors",
     "ours",
     "copy",
     {"copy-values"},
     6,
     60,
     true,
     Settings{},
     conjAndNeg},
    {"copies-unaligned",
     "device to host at odd addresses",
     "ours",
     "copy",
     {"copy-values"},
     20,
     200,
     true,
     Settings{},
     unaligned},
    {"d2h-cast-into-slice",
     "float to half into a slice [2:] of the host",
     "pytorch/pytorch#189563",
     "copy",
     {"copy-values"},
     40,
     400,
     true,
     Settings{},
     castIntoSlice},
    {"d2h-between-strided",
     "device to host between views [::2]",
     "pytorch/pytorch#189961",
     "copy",
     {"copy-values"},
     40,
     400,
     true,
     Settings{},
     betweenStrided},
    {"copy-cast",
     "half to CPU float and back, over and over",
     "pytorch/pytorch#114197",
     "copy",
     {"memcpy-copy"},
     200,
     2000,
     true,
     Settings{},
     copyCast},
    {"h2d-4gib",
     "a large host-to-device copy (scaled)",
     "pytorch/pytorch#124335",
     "copy",
     {"memcpy-copy"},
     2,
     3,
     true,
     Settings{{"bytes", "67108864"}},
     large},
});

} // namespace
} // namespace umpatch
