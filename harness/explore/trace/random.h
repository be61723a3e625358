// Random numbers that are the same everywhere.
#pragma once
#include <cstddef>
#include <cstdint>

namespace explore {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {
  }
  uint64_t next() { // splitmix64
    uint64_t z = (state_ += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
  uint64_t below(uint64_t n) {
    return next() % n;
  }
  bool oneIn(uint64_t n) {
    return below(n) == 0;
  }
  template <typename T, size_t N>
  T of(const T (&values)[N]) {
    return values[below(N)];
  }

 private:
  uint64_t state_;
};

} // namespace explore
