// SPDX-License-Identifier: Apache-2.0
#include <tulle/core/huge_pages.hpp>

#if defined(__linux__)
#include <sys/mman.h>

#include <catch2/catch_all.hpp>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

using namespace tulle;

namespace {

constexpr std::size_t page_bytes = HugePages::page_bytes;

std::uintptr_t region_of(const void* array) {
  return reinterpret_cast<std::uintptr_t>(array) / HugePages::region_bytes;
}

char* allocate(std::size_t bytes) {
  auto* array = static_cast<char*>(HugePages::allocate(bytes));
  REQUIRE(array != nullptr);
  return array;
}

/// Whether the system provides memory behind the huge page number `page` after that of `array`.
bool is_resident(const char* array, std::size_t page) {
  const auto begin = (reinterpret_cast<std::uintptr_t>(array) / page_bytes + page) * page_bytes;
  unsigned char resident = 0;
  REQUIRE(::mincore(reinterpret_cast<void*>(begin), 1, &resident) == 0);
  return (resident & 1) != 0;
}

}  // namespace

TEST_CASE("arrays lie side by side in one region, each at a line of its own", "[core][huge_pages]") {
  char *first = allocate(100), *second = allocate(64);
  CHECK(reinterpret_cast<std::uintptr_t>(first) % 64 == 0);
  CHECK(second == first + 128);
  CHECK(region_of(first) == region_of(second));
  HugePages::release(first, 100);
  HugePages::release(second, 64);
}

TEST_CASE("what does not fit begins a region, and the arrays of the one before stay whole", "[core][huge_pages]") {
  constexpr std::size_t bytes = HugePages::max_bytes - 64;
  CHECK(HugePages::allocate(HugePages::max_bytes + 1) == nullptr);
  char *first = allocate(1000), *large = allocate(bytes), *next = allocate(bytes);  // does not fit beside the others
  std::memset(first, 1, 1000);
  CHECK(region_of(first) == region_of(large));
  CHECK(region_of(next) != region_of(large));
  for (char* array : {large, next}) array[0] = array[bytes - 1] = 2;
  HugePages::release(large, bytes);
  char* last = allocate(64);  // the place of one that went is not used again
  CHECK(region_of(last) == region_of(next));
  CHECK((first[0] == 1 && first[999] == 1 && next[0] == 2 && next[bytes - 1] == 2));
  HugePages::release(first, 1000);
  HugePages::release(next, bytes);
  HugePages::release(last, 64);
}

TEST_CASE("pages that no array reaches into any more go back to the system", "[core][huge_pages]") {
  char *first = allocate(64), *large = allocate(4 * page_bytes), *neighbour = allocate(64);
  std::memset(large, 1, 4 * page_bytes);
  neighbour[0] = 3;
  const std::size_t begin = region_of(large) * HugePages::region_bytes;
  const std::size_t last = (reinterpret_cast<std::uintptr_t>(neighbour) - begin) / page_bytes;
  REQUIRE(last == 4);
  for (std::size_t page = 0; page <= last; ++page) CHECK(is_resident(first, page));
  HugePages::release(large, 4 * page_bytes);
  CHECK(is_resident(first, 0));
  for (std::size_t page = 1; page < last; ++page) CHECK_FALSE(is_resident(first, page));
  CHECK(neighbour[0] == 3);
  HugePages::release(first, 64);
  HugePages::release(neighbour, 64);
}

TEST_CASE("threads take and give back arrays at the same time", "[core][huge_pages]") {
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([thread] {
      for (int i = 0; i < 200; ++i) {
        auto* array = static_cast<unsigned char*>(HugePages::allocate(1000));
        std::memset(array, thread, 1000);
        const bool kept = array[0] == thread && array[999] == thread;
        HugePages::release(array, 1000);
        if (!kept) std::terminate();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}
#endif
