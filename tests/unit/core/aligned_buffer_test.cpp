// SPDX-License-Identifier: Apache-2.0
#include <tulle/core/aligned_buffer.hpp>

#include <algorithm>
#include <catch2/catch_all.hpp>
#include <cstdint>
#include <limits>
#include <utility>

using namespace tulle;

namespace {

std::uintptr_t address(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer);
}

}  // namespace

TEST_CASE("a buffer is zero, aligned, and readable behind its end", "[core][aligned_buffer]") {
  for (const std::size_t size : {std::size_t{1}, std::size_t{17}, std::size_t{1000}, std::size_t{600000}}) {
    const AlignedBuffer<float> buffer(size);
    CHECK(buffer.size() == size);
    CHECK(buffer.size_bytes() == 4 * size);
    CHECK(address(buffer.data()) % 64 == 0);
    CHECK(std::all_of(buffer.begin(), buffer.end(), [](float value) { return value == 0; }));
    const auto* behind = reinterpret_cast<const unsigned char*>(buffer.end());
    CHECK(
        std::all_of(behind, behind + AlignedBuffer<float>::slack_bytes, [](unsigned char byte) { return byte == 0; }));
  }
}

TEST_CASE("large buffers begin on a huge page, where there are such", "[core][aligned_buffer]") {
  const AlignedBuffer<std::uint8_t> buffer(std::size_t{3} << 20);
  CHECK(address(buffer.data()) % (HugePages::are_offered ? HugePages::page_bytes : buffer.alignment) == 0);
}

TEST_CASE("buffers that share pages are zero, move, and outlive each other", "[core][aligned_buffer]") {
  AlignedBuffer<float> kept;
  {
    AlignedBuffer<float> first(1000, Pages::shared), second(1000, Pages::shared),
        large(std::size_t{4} << 20, Pages::shared);
    CHECK(std::all_of(second.begin(), second.end() + 16, [](float value) { return value == 0; }));
    std::fill(second.begin(), second.end(), 2.0f);
    std::fill(first.begin(), first.end(), 1.0f);
    large[large.size() - 1] = 3;
    kept = std::move(second);
    AlignedBuffer<float> own(10);
    own = std::move(first);
    CHECK(own[999] == 1);
  }
  CHECK(std::all_of(kept.begin(), kept.end(), [](float value) { return value == 2; }));
}

TEST_CASE("buffers move and never copy", "[core][aligned_buffer]") {
  STATIC_REQUIRE_FALSE(std::is_copy_constructible_v<AlignedBuffer<int>>);
  AlignedBuffer<int> first(3);
  first[1] = 7;
  AlignedBuffer<int> second(std::move(first));
  CHECK(second.size() == 3);
  CHECK(second.span()[1] == 7);
  AlignedBuffer<int> third;
  CHECK(third.size() == 0);
  CHECK(third.begin() == third.end());
  third = std::move(second);
  CHECK(third[1] == 7);
}

TEST_CASE("a size that does not fit is refused before anything is allocated", "[core][aligned_buffer]") {
  CHECK_THROWS_AS(AlignedBuffer<double>(std::numeric_limits<std::size_t>::max() / 4), Error);
  CHECK_THROWS_AS(AlignedBuffer<char>(std::numeric_limits<std::size_t>::max() - 10), Error);
}
