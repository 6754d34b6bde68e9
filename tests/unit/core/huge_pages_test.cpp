// SPDX-License-Identifier: Apache-2.0
#include <tulle/core/huge_pages.hpp>

#include <catch2/catch_all.hpp>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

using namespace tulle;

namespace {

std::uintptr_t region_of(const void* array) {
  return reinterpret_cast<std::uintptr_t>(array) / HugePages::region_bytes;
}

}  // namespace

TEST_CASE("arrays lie side by side in one region, each at a line of its own", "[core][huge_pages]") {
  auto* first = static_cast<char*>(HugePages::allocate(100));
  auto* second = static_cast<char*>(HugePages::allocate(64));
  REQUIRE(first != nullptr);
  CHECK(reinterpret_cast<std::uintptr_t>(first) % 64 == 0);
  CHECK(second == first + 128);
  CHECK(region_of(first) == region_of(second));
  HugePages::release(first);
  HugePages::release(second);
}

TEST_CASE("what does not fit begins a region, and the arrays of the one before stay whole", "[core][huge_pages]") {
  std::vector<char*> arrays;
  for (int i = 0; i < 3; ++i) {  // the last does not fit beside the others
    arrays.push_back(static_cast<char*>(HugePages::allocate(HugePages::max_bytes - 64)));
    REQUIRE(arrays.back() != nullptr);
    std::memset(arrays.back(), i + 1, HugePages::max_bytes - 64);
  }
  CHECK(region_of(arrays[0]) == region_of(arrays[1]));
  CHECK(region_of(arrays[2]) != region_of(arrays[1]));
  for (int i = 0; i < 3; ++i) {
    CHECK(arrays[static_cast<std::size_t>(i)][0] == i + 1);
    CHECK(arrays[static_cast<std::size_t>(i)][HugePages::max_bytes - 65] == i + 1);
  }
  HugePages::release(arrays[1]);
  auto* next = static_cast<char*>(HugePages::allocate(64));  // the place of one that went is not used again
  CHECK(region_of(next) == region_of(arrays[2]));
  CHECK(arrays[0][HugePages::max_bytes - 65] == 1);
  for (char* array : {arrays[0], arrays[2], next}) HugePages::release(array);
}

#if !defined(__wasm__) || defined(__EMSCRIPTEN_PTHREADS__)
TEST_CASE("threads take and give back arrays at the same time", "[core][huge_pages]") {
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread) {
    threads.emplace_back([thread] {
      for (int i = 0; i < 200; ++i) {
        auto* array = static_cast<unsigned char*>(HugePages::allocate(1000));
        std::memset(array, thread, 1000);
        const bool kept = array[0] == thread && array[999] == thread;
        HugePages::release(array);
        if (!kept) std::terminate();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}
#endif
