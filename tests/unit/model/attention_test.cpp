// SPDX-License-Identifier: Apache-2.0
#include <tulle/model/attention.hpp>

#include <catch2/catch_all.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include <tulle/cache/contiguous.hpp>
#include <tulle/cache/paged.hpp>
#include <tulle/cache/sliding.hpp>

#include "unit/kernel/encoded_matrix.hpp"
#include "unit/kernel/instruction_sets.hpp"
#include "unit/model/filled_cache.hpp"

using namespace tulle;
using testing::fill;
using testing::random_floats;
using testing::reference;

namespace {

constexpr std::size_t kv_heads = 2;

template <class Cache>
std::vector<float> attend_all(const Cache& cache, Position position, const std::vector<float>& query,
                              std::size_t group) {
  std::vector<float> out(query.size());
  const std::size_t width = group * cache.shape().layers[0].head_dim;
  for (std::size_t head = 0; head < kv_heads; ++head) {
    attend(cache, {.first = position,
                   .kv_head = head,
                   .group = group,
                   .query = query.data() + head * width,
                   .out = out.data() + head * width});
  }
  return out;
}

/// How far results may be from those of doubles, for elements up to 2; over an int8 cache, queries and weights may be
/// codes.
template <class Cache>
constexpr double tolerance = std::is_same_v<typename Cache::Element, std::int8_t> ? 2e-4 : 3e-6;

template <class Cache>
void check_against_doubles(const Cache& cache, Position position, std::size_t group) {
  const std::size_t size = cache.shape().layers[0].head_dim;
  const auto query = random_floats(kv_heads * group * size, 33);
  const auto out = attend_all(cache, position, query, group);
  for (std::size_t head = 0; head < kv_heads * group; ++head) {
    const auto wanted = reference(cache, position, head / group, query.data() + head * size);
    for (std::size_t d = 0; d < size; ++d) {
      CAPTURE(size, position, head, d);
      CHECK(std::fabs(out[head * size + d] - wanted[d]) < tolerance<Cache>);
    }
  }
}

}  // namespace

TEMPLATE_TEST_CASE("attention is that of doubles on every instruction set", "[model][attention]", float, Half,
                   std::int8_t) {
  for (const InstructionSet set : instruction_sets) {
    if (!machine_has(set)) continue;
    const testing::ActiveSet active(set);
    CAPTURE(instruction_set_name(set));
    for (const std::size_t size : {8, 12, 64, 80, 256}) {
      ContiguousCache<TestType> cache({1, {kv_heads, size}}, 1, 140);
      fill(cache, 140);
      for (const Position position : {0u, 1u, 63u, 64u, 65u, 139u})
        check_against_doubles(cache, position, position == 65 ? 3 : 1);
    }
  }
}

TEST_CASE("scores are capped, and fall with the distance by a slope a head", "[model][attention]") {
  constexpr std::size_t size = 24, group = 2;
  const std::vector<float> slopes{0.5f, 0.03f};
  SlidingCache<float> sliding({1, {kv_heads, size}}, 1, 50, 3, 16);
  ContiguousCache<float> contiguous({1, {kv_heads, size}}, 1, 140);
  fill(sliding, 140);
  fill(contiguous, 140);
  const auto query = random_floats(group * size, 33, -4, 4);
  const auto check = [&](const auto& cache, Position position) {
    std::vector<float> out(group * size);
    attend(cache, {.first = position,
                   .kv_head = 1,
                   .group = group,
                   .query = query.data(),
                   .out = out.data(),
                   .score_cap = 1.5f,
                   .slopes = slopes.data()});
    for (std::size_t head = 0; head < group; ++head) {
      const auto wanted = reference(cache, position, 1, query.data() + head * size, {1.5f, slopes[head]});
      for (std::size_t d = 0; d < size; ++d) CHECK(std::fabs(out[head * size + d] - wanted[d]) < 3e-6);
    }
  };
  for (const Position position : {0u, 63u, 64u, 139u}) check(contiguous, position);
  check(sliding, 139);
}

TEMPLATE_TEST_CASE("attention over blocks has the bits of attention over one piece of memory", "[model][attention]",
                   float, Half, std::int8_t) {
  ContiguousCache<TestType> contiguous({1, {kv_heads, 24}}, 1, 200);
  PagedCache<TestType> blocks({1, {kv_heads, 24}}, 1, 4), wide_blocks({1, {kv_heads, 24}}, 1, 2, 128);
  SlidingCache<TestType> window({1, {kv_heads, 24}}, 1, 200, 4, 16);
  fill(contiguous, 200);
  fill(blocks, 200);
  fill(wide_blocks, 200);
  fill(window, 200);
  const auto query = random_floats(kv_heads * 2 * 24, 34);
  for (const Position position : {0u, 5u, 63u, 64u, 127u, 128u, 199u}) {
    CAPTURE(position);
    const auto wanted = attend_all(contiguous, position, query, 2);
    CHECK(attend_all(blocks, position, query, 2) == wanted);
    CHECK(attend_all(wide_blocks, position, query, 2) == wanted);
    CHECK(attend_all(window, position, query, 2) == wanted);
  }
}

namespace {

/// Rows first .. first + rows - 1 at once, and one after the other, with gaps between the rows of the queries.
template <class Cache>
void check_rows_at_once(const Cache& cache, Position first, std::size_t rows, std::size_t group, Window own = {}) {
  const std::size_t width = group * cache.shape().layers[0].head_dim, query_stride = kv_heads * width + 3,
                    out_stride = kv_heads * width + 5;
  const auto query = random_floats(rows * query_stride, 35);
  std::vector<float> together(rows * out_stride, 7.0f), apart(together);
  const std::vector<float> slopes(group, 0.1f);
  for (std::size_t head = 0; head < kv_heads; ++head) {
    AttentionRows of{.window = own,
                     .first = first,
                     .rows = rows,
                     .kv_head = head,
                     .group = group,
                     .query = query.data() + head * width,
                     .query_stride = query_stride,
                     .out = together.data() + head * width,
                     .out_stride = out_stride,
                     .score_cap = head == 0 ? 0 : 2.0f,
                     .slopes = head == 0 ? nullptr : slopes.data()};
    attend_rows(cache, of);
    of.out = apart.data() + head * width;
    attend(cache, of);
  }
  CAPTURE(first, rows, group, own.positions, cache.shape().layers[0].head_dim);
  CHECK(std::memcmp(together.data(), apart.data(), sizeof(float) * together.size()) == 0);
}

}  // namespace

TEMPLATE_TEST_CASE("rows attended to at once have the bits of one after the other", "[model][attention]", float, Half,
                   std::int8_t) {
  for (const InstructionSet set : instruction_sets) {
    if (!machine_has(set)) continue;
    const testing::ActiveSet active(set);
    CAPTURE(instruction_set_name(set));
    // Halves: a size that is a multiple of a vector and one that is not.
    for (const std::size_t size : std::is_same_v<TestType, Half> ? std::vector<std::size_t>{12, 136}
                                                                 : std::vector<std::size_t>{12, 64, 136, 264}) {
      ContiguousCache<TestType> cache({1, {kv_heads, size}}, 1, 200);
      fill(cache, 200);
      for (const auto& [first, rows] :
           std::vector<std::pair<Position, std::size_t>>{{0, 1}, {0, 16}, {60, 9}, {120, 16}, {128, 2}, {30, 70}}) {
        check_rows_at_once(cache, first, rows, 1);
        check_rows_at_once(cache, first, rows, 3);
      }
      check_rows_at_once(cache, 199, 1, 5);
    }
  }
  PagedCache<TestType> blocks({1, {kv_heads, 24}}, 1, 4);
  SlidingCache<TestType> window({1, {kv_heads, 24}}, 1, 50, 3, 16);
  fill(blocks, 200);
  fill(window, 200);
  check_rows_at_once(blocks, 57, 16, 1);
  check_rows_at_once(blocks, 190, 5, 2);
  check_rows_at_once(window, 190, 10, 1);  // every row sees another window
  check_rows_at_once(blocks, 100, 16, 1, {40});
  check_rows_at_once(blocks, 150, 5, 3, {3});
  check_rows_at_once(blocks, 120, 80, 2, {70});
  check_rows_at_once(window, 186, 14, 1, {20});
  check_rows_at_once(window, 190, 7, 2, {51});
  check_rows_at_once(window, 199, 1, 2);
}

TEMPLATE_TEST_CASE("rows have the bits of one after the other while a window leaves its sinks", "[model][attention]",
                   float, std::int8_t) {
  for (const Position length : {52u, 53u, 56u, 60u, 69u, 75u, 134u}) {
    SlidingCache<TestType> window({1, {kv_heads, 24}}, 1, 50, 3, 16);
    fill(window, length);
    check_rows_at_once(window, length - 16, 16, 1);
    check_rows_at_once(window, length - 8, 8, 2, {52});
  }
}

TEST_CASE("attention over a window sees the sinks and the window alone", "[model][attention]") {
  SlidingCache<float> cache({1, {kv_heads, 16}}, 1, 50, 3, 16);
  fill(cache, 230);
  for (const Position position : {214u, 228u, 229u}) {
    std::size_t seen = 0;
    cache.for_each_span(0, 0, {0, position + 1}, [&](const auto& span) { seen += span.count; });
    CHECK(seen == 53);
    check_against_doubles(cache, position, 2);
  }
}

TEST_CASE("scores far apart, or all alike, neither overflow nor vanish", "[model][attention]") {
  ContiguousCache<float> cache({1, {1, 8}}, 1, 130);
  REQUIRE(cache.extend(0, 130));
  for (Position at = 0; at < 130; ++at) {
    const std::vector<float> key(8, at == 100 ? 300.0f : -300.0f), value(8, static_cast<float>(at));
    cache.append(0, 0, at, key.data(), value.data());
  }
  const std::vector<float> query(8, 100.0f), zero(8, 0.0f);
  std::vector<float> out(8);
  attend(cache, {.first = 129, .query = query.data(), .out = out.data()});
  for (const float value : out) CHECK(value == 100.0f);
  attend(cache, {.first = 129, .query = zero.data(), .out = out.data()});
  for (const float value : out) CHECK(std::fabs(value - 64.5f) < 1e-4f);
}

TEMPLATE_TEST_CASE("a key that is not finite shows in the result", "[model][attention]", float, Half, std::int8_t) {
  for (const InstructionSet set : instruction_sets) {
    if (!machine_has(set)) continue;
    const testing::ActiveSet active(set);
    ContiguousCache<TestType> cache({1, {1, 8}}, 1, 10);
    REQUIRE(cache.extend(0, 10));
    for (Position at = 0; at < 10; ++at) {
      std::vector<float> key(8, 1.0f);
      if (at == 4) key[3] = std::numeric_limits<float>::quiet_NaN();
      cache.append(0, 0, at, key.data(), key.data());
    }
    const std::vector<float> query(8, 1.0f);
    std::vector<float> out(8);
    attend(cache, {.first = 3, .query = query.data(), .out = out.data()});
    for (const float value : out) CHECK(std::fabs(value - 1.0f) < 1e-6f);
    attend(cache, {.first = 9, .query = query.data(), .out = out.data()});
    for (const float value : out) CHECK(std::isnan(value));
  }
}
