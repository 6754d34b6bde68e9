// SPDX-License-Identifier: Apache-2.0
#include <tulle/model/parallel_attention.hpp>

#include <catch2/catch_all.hpp>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include <tulle/cache/contiguous.hpp>
#include <tulle/cache/paged.hpp>
#include <tulle/cache/sliding.hpp>
#include <tulle/core/half.hpp>

#include "unit/kernel/encoded_matrix.hpp"
#include "unit/kernel/instruction_sets.hpp"
#include "unit/model/filled_cache.hpp"

using namespace tulle;
using testing::fill;
using testing::random_floats;

namespace {

/// Blocks of rows: the position of the first, and how many.
struct Block {
  Position first;
  std::size_t rows;
};

/// Attention of the blocks, [blocks][rows, kv heads, group, head_dim] one after the other. Threads 0: one query after
/// the other, without `ParallelAttention`.
template <class Cache>
std::vector<float> attended(const Cache& cache, std::size_t threads, std::size_t group,
                            const std::vector<Block>& blocks, Window own, bool terms) {
  const std::size_t kv_heads = cache.shape().layers[0].kv_heads, size = cache.shape().layers[0].head_dim,
                    width = kv_heads * group * size;
  std::vector<std::size_t> starts{0};
  for (const Block& block : blocks) starts.push_back(starts.back() + block.rows * width);
  const std::vector<float> query = random_floats(starts.back(), 35, -2, 2), slopes = random_floats(group, 36, 0, 0.02f),
                           sinks = random_floats(group, 37, -1, 4);
  std::vector<float> out(starts.back(), 7.0f);
  const auto rows_of = [&](std::size_t at, std::size_t kv_head) {
    const std::size_t offset = starts[at] + kv_head * group * size;
    return AttentionRows{.window = own,
                         .first = blocks[at].first,
                         .rows = blocks[at].rows,
                         .kv_head = kv_head,
                         .group = group,
                         .query = query.data() + offset,
                         .query_stride = width,
                         .out = out.data() + offset,
                         .out_stride = width,
                         .score_cap = terms ? 3.0f : 0.0f,
                         .slopes = terms ? slopes.data() : nullptr,
                         .sinks = terms ? sinks.data() : nullptr};
  };
  if (threads == 0) {
    std::vector<float> scratch(size);
    for (std::size_t at = 0; at < blocks.size(); ++at) {
      for (std::size_t kv_head = 0; kv_head < kv_heads; ++kv_head) {
        AttentionRows of = rows_of(at, kv_head);
        of.scratch = scratch.data();
        attend(cache, of);
      }
    }
    return out;
  }
  ThreadPool pool(threads);
  ParallelAttention attention(pool, kv_heads * group, kv_heads, size);
  attention.attend(cache, blocks.size(), rows_of);
  return out;
}

template <class Cache>
void check_threads(const Cache& cache, std::size_t group, const std::vector<Block>& blocks, Window own = {},
                   bool terms = false) {
  const std::vector<float> wanted = attended(cache, 0, group, blocks, own, terms);
  for (const std::size_t threads : {1, 2, 4, 7}) {
    CAPTURE(threads, group, blocks.size(), blocks.front().first, blocks.front().rows, own.positions, terms);
    const std::vector<float> found = attended(cache, threads, group, blocks, own, terms);
    CHECK(std::memcmp(found.data(), wanted.data(), sizeof(float) * found.size()) == 0);
  }
}

constexpr Position length = 3 * attention_segment + 100;

}  // namespace

TEMPLATE_TEST_CASE("threads that share a text give the bits of one query after the other", "[model][attention]", float,
                   Half, std::int8_t) {
  for (const InstructionSet set : instruction_sets) {
    if (!machine_has(set)) continue;
    const testing::ActiveSet active(set);
    CAPTURE(instruction_set_name(set));
    ContiguousCache<TestType> cache({1, {3, 64}}, 1, length);
    fill(cache, length);
    check_threads(cache, 3, {{length - 1, 1}});
    check_threads(cache, 3, {{length - 9, 9}}, {}, true);
    check_threads(cache, 1, {{length - 70, 40}}, {700});  // too many rows to share segments
    check_threads(cache, 2, {{attention_segment - 3, 8}, {30, 1}, {length - 2, 2}});
  }
}

TEST_CASE("so do windows, blocks, sinks and single heads of a text", "[model][attention]") {
  PagedCache<Half> blocks({1, {1, 24}}, 1, length / 64 + 1);
  SlidingCache<Half> window({1, {1, 24}}, 1, 900, 4, 16);
  ContiguousCache<Half> odd({1, {5, 18}}, 1, length);
  fill(blocks, length);
  fill(window, length);
  fill(odd, length);
  for (const bool terms : {false, true}) {
    check_threads(blocks, 8, {{length - 3, 3}}, {}, terms);
    check_threads(blocks, 70, {{length - 1, 1}}, {}, terms);  // more heads than a block takes
    check_threads(blocks, 4, {{length - 1, 1}}, {600}, terms);
    check_threads(window, 4, {{length - 1, 1}}, {}, terms);
    check_threads(window, 2, {{length - 12, 12}}, {}, terms);
    check_threads(odd, 2, {{2 * attention_segment, 1}}, {}, terms);
  }
}

TEST_CASE("a text of more segments than there is room for is shared in several rounds", "[model][attention]") {
  constexpr Position far = 66 * attention_segment;
  ContiguousCache<std::int8_t> cache({1, {1, 8}}, 1, far);
  fill(cache, far);
  check_threads(cache, 2, {{far - 1, 1}}, {}, true);
  check_threads(cache, 1, {{far - 20, 20}});
}

TEST_CASE("segments add up to attention in double", "[model][attention]") {
  ContiguousCache<float> cache({1, {1, 16}}, 1, length);
  fill(cache, length);
  const std::vector<float> query = random_floats(16, 35, -2, 2);
  for (const Position position : {Position{attention_segment - 1}, Position{attention_segment}, length - 1}) {
    const std::vector<float> out = attended(cache, 2, 1, {{position, 1}}, {}, false);
    const std::vector<double> wanted = testing::reference(cache, position, 0, query.data());
    for (std::size_t d = 0; d < 16; ++d) CHECK(std::fabs(out[d] - wanted[d]) < 3e-6);
  }
}
