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

TEST_CASE("a window begins as many positions back as it is wide", "[cache][cache_layout]") {
  CHECK(Window{}.begin(1000) == 0);
  CHECK(Window{3}.begin(0) == 0);
  CHECK(Window{3}.begin(2) == 0);
  CHECK(Window{3}.begin(3) == 1);
  CHECK(Window{1}.begin(7) == 7);
  CHECK_FALSE(CacheShape(3, {1, 1}).has_windows());
  CHECK(CacheShape({{1, 1}, {1, 1, {4}}}).has_windows());
}

TEST_CASE("a row of a cache is as wide as the heads that share keys and values", "[cache][cache_layout]") {
  CHECK(LayerShape{.kv_heads = 3, .head_dim = 64}.row_elements() == 192);
  CHECK(LayerShape{}.row_elements() == 0);
  CHECK(CacheShape(30, {3, 64}).layers == std::vector<LayerShape>(30, {3, 64}));
}
