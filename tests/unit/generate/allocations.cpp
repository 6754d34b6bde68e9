// SPDX-License-Identifier: Apache-2.0
// Counts what this program allocates; everything else is as it was.
#include "unit/generate/allocations.hpp"

#include <cstdlib>
#include <new>

[[gnu::noinline]] void* operator new(std::size_t size) {
  tulle::testing::allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  tulle::testing::allocations.fetch_add(1, std::memory_order_relaxed);
  return std::malloc(size == 0 ? 1 : size);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
