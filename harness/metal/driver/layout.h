// What is read or written of a storage by a copy, for all who make copies of views up.
#pragma once
#include <cstdint>
#include <vector>

namespace umpatch {

// Everything: all of the memory, so that a copy could exchange it. Whole: all of a contiguous part; from an offset;
// every second element; transposed; one row, which is repeated.
enum class Layout { Everything, Whole, Offset, EverySecond, Transposed, Row };

struct Placement {
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;
  int64_t offset;
};

inline const char* nameOf(Layout layout) {
  switch (layout) {
    case Layout::Everything:
      return "everything";
    case Layout::Whole:
      return "whole";
    case Layout::Offset:
      return "offset";
    case Layout::EverySecond:
      return "every second";
    case Layout::Transposed:
      return "transposed";
    case Layout::Row:
      return "row";
  }
  return "";
}

// Where the elements are, in elements.
inline Placement placementOf(Layout layout, int64_t rows, int64_t columns) {
  switch (layout) {
    case Layout::Offset:
      return {{rows, columns}, {columns, 1}, 3};
    case Layout::EverySecond:
      return {{rows, columns}, {2 * columns, 2}, 1};
    case Layout::Transposed:
      return {{rows, columns}, {1, rows}, 0};
    case Layout::Row:
      return {{1, columns}, {columns, 1}, 2};
    case Layout::Everything:
    case Layout::Whole:
      break;
  }
  return {{rows, columns}, {columns, 1}, 0};
}

} // namespace umpatch
