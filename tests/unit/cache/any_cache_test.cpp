// SPDX-License-Identifier: Apache-2.0
#include <tulle/cache/any_cache.hpp>

#include <catch2/catch_all.hpp>
#include <cstddef>
#include <cstring>
#include <vector>

using namespace tulle;

namespace {

const CacheShape shape(2, {2, 4});

/// Stores `positions` rows of recognisable numbers in sequence 0.
template <class Cache>
void fill(Cache& cache, Position positions) {
  REQUIRE(cache.extend(0, positions));
  std::vector<float> row(shape.layers.front().row_elements());
  for (std::size_t layer = 0; layer < shape.layers.size(); ++layer) {
    for (Position position = 0; position < positions; ++position) {
      for (std::size_t i = 0; i < row.size(); ++i) row[i] = static_cast<float>(1000 * layer + 10 * position + i);
      cache.append(layer, 0, position, row.data(), row.data());
    }
  }
}

/// The keys of one head that a query at `position` sees, as bytes.
template <class Cache>
std::vector<std::byte> visible_keys(const Cache& cache, std::size_t layer, Position position) {
  std::vector<std::byte> bytes;
  cache.for_each_span(layer, 0, {0, position + 1}, [&]<class Element>(const KeyValueSpan<Element>& span) {
    const auto* first = reinterpret_cast<const std::byte*>(span.keys + span.head_stride);
    bytes.insert(bytes.end(), first, first + span.count * shape.layers.front().head_dim * sizeof(Element));
  });
  return bytes;
}

template <class Cache>
void compare(Cache plain, Cache inside) {
  AnyCache any(std::move(inside));
  fill(plain, 70);
  fill(any, 70);
  CHECK(any.length(0) == 70);
  CHECK(any.capacity() == plain.capacity());
  CHECK(any.sequences() == plain.sequences());
  CHECK(any.size_bytes() == plain.size_bytes());
  CHECK(any.shape().layers == shape.layers);
  for (const Position position : {0u, 5u, 63u, 64u, 69u}) {
    const auto expected = visible_keys(plain, 1, position);
    CHECK_FALSE(expected.empty());
    CHECK(visible_keys(any, 1, position) == expected);
  }
  CHECK(any.fork(0, 1));
  CHECK(any.truncate(0, 68));
  CHECK(any.length(0) == 68);
  CHECK(any.length(1) == 70);
  std::vector<std::byte> saved;
  any.save(1, saved);
  any.release(1);
  CHECK(any.length(1) == 0);
  CHECK(any.restore(1, saved));
  CHECK(any.length(1) == 70);
}

}  // namespace

TEST_CASE("AnyCache does what the layout it holds does", "[cache][any_cache]") {
  SECTION("contiguous f32") {
    compare(ContiguousCache<float>(shape, 2, 80), ContiguousCache<float>(shape, 2, 80));
  }
  SECTION("contiguous int8") {
    compare(ContiguousCache<std::int8_t>(shape, 2, 80), ContiguousCache<std::int8_t>(shape, 2, 80));
  }
  SECTION("sliding f16") {
    compare(SlidingCache<Half>(shape, 2, 16, 2, 70), SlidingCache<Half>(shape, 2, 16, 2, 70));
  }
  SECTION("paged f16") {
    compare(PagedCache<Half>(shape, 2, 8), PagedCache<Half>(shape, 2, 8));
  }
}
