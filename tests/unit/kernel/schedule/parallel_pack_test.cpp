// SPDX-License-Identifier: Apache-2.0
#include <tulle/kernel/schedule/parallel_pack.hpp>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include <catch2/catch_all.hpp>

#include <tulle/core/error.hpp>

using namespace tulle;

namespace {

/// A pool of `threads`, or none for one.
std::unique_ptr<ThreadPool> pool_of(std::size_t threads) {
  return threads == 1 ? nullptr : std::make_unique<ThreadPool>(threads);
}

}  // namespace

TEST_CASE("every panel is worked on once, and no part twice at the same time", "[kernel][panel_work]") {
  for (const std::size_t threads : {1, 2, 5}) {
    const auto pool = pool_of(threads);
    REQUIRE(detail::panel_parts(pool.get()) == (detail::packs_on_threads ? threads : 1));
    std::vector<std::atomic<int>> visits(100), busy(threads);
    std::atomic<int> overlaps{0};
    detail::for_each_panel(pool.get(), 3, 100, [&](std::size_t part, std::size_t panel) {
      overlaps += busy[part]++;
      ++visits[panel];
      --busy[part];
    });
    CHECK(overlaps == 0);
    for (std::size_t panel = 0; panel < 100; ++panel) CHECK(visits[panel] == (panel >= 3));
    detail::for_each_panel(pool.get(), 7, 7, [&](std::size_t, std::size_t) { ++overlaps; });
    CHECK(overlaps == 0);
  }
}

TEST_CASE("of several panels that fail, the error of the first comes out", "[kernel][panel_work]") {
  for (const std::size_t threads : {1, 2, 5}) {
    const auto pool = pool_of(threads);
    for (std::size_t bad = 0; bad < 60; ++bad) {
      std::string message;
      try {
        detail::for_each_panel(pool.get(), 0, 60, [&](std::size_t, std::size_t panel) {
          if (panel >= bad) fail(ErrorCode::unsupported, "panel ", panel);
        });
      } catch (const Error& error) {
        message = error.what();
      }
      CHECK(message == "panel " + std::to_string(bad));
    }
  }
}
