// SPDX-License-Identifier: Apache-2.0
#include <tulle/tensor/simd.hpp>

#include <catch2/catch_all.hpp>
#include <vector>

using namespace tulle;

TEST_CASE("a batch holds a power of two of floats and reads them from any address", "[tensor][simd]") {
  constexpr std::size_t size = DefaultBatch::size;
  STATIC_REQUIRE(size >= 1);
  STATIC_REQUIRE((size & (size - 1)) == 0);
  std::vector<float> values(size + 1), copy(size + 1, -1.0f);
  for (std::size_t i = 0; i <= size; ++i) values[i] = static_cast<float>(i) + 0.5f;
  DefaultBatch::load_unaligned(values.data() + 1).store_unaligned(copy.data() + 1);
  CHECK(copy[0] == -1.0f);
  for (std::size_t i = 1; i <= size; ++i) CHECK(copy[i] == values[i]);
}
