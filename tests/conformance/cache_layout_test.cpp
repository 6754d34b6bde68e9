// SPDX-License-Identifier: Apache-2.0
#include "conformance/cache_layout_suite.hpp"

#include <numeric>
#include <tuple>

#include <tulle/cache/contiguous.hpp>
#include <tulle/cache/paged.hpp>
#include <tulle/cache/sliding.hpp>

using namespace tulle;
using namespace tulle::conformance;

namespace {

std::vector<Position> all_until(Position position) {
  std::vector<Position> positions(position + 1);
  std::iota(positions.begin(), positions.end(), Position{0});
  return positions;
}

template <class Element>
struct Contiguous {
  using Cache = ContiguousCache<Element>;
  static constexpr Position max_extension = 90;
  static constexpr Position rollback = 1000;
  static Cache make() { return Cache(small_shape, 4, 300); }
  static std::vector<Position> visible(Position position) { return all_until(position); }
};

template <class Element, Position block_size>
struct Paged {
  using Cache = PagedCache<Element>;
  static constexpr Position max_extension = 90;
  static constexpr Position rollback = 1000;
  static Cache make() { return Cache(small_shape, 4, 1024 / block_size, block_size); }
  static std::vector<Position> visible(Position position) { return all_until(position); }
};

template <class Element, Position window, Position sinks, Position max_chunk>
struct Sliding {
  using Cache = SlidingCache<Element>;
  static constexpr Position max_extension = max_chunk;
  static constexpr Position rollback = max_chunk;
  static Cache make() { return Cache(small_shape, 4, window, sinks, max_chunk); }
  static std::vector<Position> visible(Position position) {
    std::vector<Position> positions = all_until(position);
    std::erase_if(positions, [&](Position at) { return at >= sinks && at + window <= position; });
    return positions;
  }
};

using Layouts = std::tuple<Contiguous<float>, Contiguous<Half>, Contiguous<std::int8_t>,                  //
                           Paged<float, 64>, Paged<Half, 128>, Paged<std::int8_t, 64>,                    //
                           Sliding<float, 70, 5, 40>, Sliding<Half, 64, 0, 64>, Sliding<float, 1, 0, 1>,  //
                           Sliding<std::int8_t, 30, 70, 28>>;

}  // namespace

TEMPLATE_LIST_TEST_CASE("random operations on a cache leave what they leave in a map of rows",
                        "[conformance][cache_layout]", Layouts) {
  for (const std::uint64_t seed : {1, 2}) random_operations<TestType>(seed, 300);
}

TEMPLATE_LIST_TEST_CASE("extending beyond the capacity of a cache fails and changes nothing",
                        "[conformance][cache_layout]", Layouts) {
  refused_extension_changes_nothing<TestType>();
}

TEMPLATE_LIST_TEST_CASE("forks of a sequence share their beginning and nothing else", "[conformance][cache_layout]",
                        Layouts) {
  forks_are_independent<TestType>();
}

TEMPLATE_LIST_TEST_CASE("rows of a chunk see the same through rollbacks and chunk sizes", "[conformance][cache_layout]",
                        Layouts) {
  chunks_and_rollbacks<TestType>(290);
}

TEMPLATE_LIST_TEST_CASE("a saved sequence restores to the same rows and nothing else restores",
                        "[conformance][cache_layout]", Layouts) {
  for (const Position length : {0, 1, 63, 64, 65, 150, 250}) saved_states_restore<TestType>(length);
}

TEMPLATE_LIST_TEST_CASE("threads append different rows of a cache at the same time", "[conformance][cache_layout]",
                        Layouts) {
  appends_run_concurrently<TestType>();
}
