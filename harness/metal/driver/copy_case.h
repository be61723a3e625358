// One copy between tensors of any kind, done by the tree's own Copy.mm and by its twin between CPU tensors.
#pragma once
#include <string>
#include "layout.h"
#include "tensors.h"

namespace umpatch {

constexpr Layout kLayouts[] = {Layout::Whole, Layout::Offset, Layout::EverySecond, Layout::Transposed, Layout::Row};

enum class Direction { ToDevice, ToHost, OnDevice };

// What the GPU still has to do with the tensors when the copy is called: nothing, or all that the source and the
// destination hold is yet to be written, by work that is encoded, or that is committed too.
enum class Late { Nothing, Encoded, Committed };

struct Shape {
  int64_t rows;
  int64_t columns;
};

struct Case {
  Direction direction;
  at::ScalarType from_type;
  at::ScalarType to_type;
  Layout from;
  Layout to;
  Shape shape;
  bool non_blocking = false;
  bool conj = false;
  bool neg = false;
  bool to_conj = false;
  bool to_neg = false;
  Late late = Late::Nothing;

  std::string text() const;
};

// The dtypes that are copied; the complex one is the last.
const std::vector<at::ScalarType>& types();
Shape randomShape(Session& session);

// Runs one copy on the device and its twin on the CPU; compares the whole destination storage, and the source's too.
// Returns false when the device refused it with an exception that the CPU did not raise.
bool runCase(Session& session, const Case& c);

} // namespace umpatch
