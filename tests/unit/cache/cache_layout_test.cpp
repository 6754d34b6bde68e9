// SPDX-License-Identifier: Apache-2.0
#include <tulle/cache/cache_layout.hpp>

#include <tulle/cache/contiguous.hpp>

#include <catch2/catch_all.hpp>

using namespace tulle;

namespace {

struct Silent : ContiguousCache<float> {
  using ContiguousCache::ContiguousCache;
  bool truncate(SequenceId, Position) { return true; }  // hides the noexcept one
};

static_assert(CacheLayout<ContiguousCache<float>>);
static_assert(!CacheLayout<Silent>, "truncate must be noexcept");
static_assert(!CacheLayout<int>);

}  // namespace

TEST_CASE("a row of a cache is as wide as the heads that share keys and values", "[cache][cache_layout]") {
  CHECK(CacheShape{.layers = 30, .kv_heads = 3, .head_dim = 64}.row_elements() == 192);
  CHECK(CacheShape{}.row_elements() == 0);
}
