// SPDX-License-Identifier: Apache-2.0
#include <tulle/core/processor_cores.hpp>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include <catch2/catch_all.hpp>

using namespace tulle;

TEST_CASE("usable cores are in order, and there is at least one", "[core][processor_cores]") {
  const std::vector<unsigned> cores = usable_cores();
  CHECK(cores.empty() != can_bind_threads);
  CHECK(std::is_sorted(cores.begin(), cores.end()));
  CHECK(std::adjacent_find(cores.begin(), cores.end()) == cores.end());
  CHECK(usable_core_count() >= 1);
  if (can_bind_threads) CHECK(usable_core_count() == cores.size());
}

TEST_CASE("a bound thread, and what it asks, knows one core", "[core][processor_cores]") {
  if (!can_bind_threads) SKIP("this platform binds no threads");
  const std::vector<unsigned> cores = usable_cores();
  for (const unsigned core : cores) {
    std::atomic<bool> bound{false};
    std::vector<unsigned> seen;
    std::thread thread([&] {
      bound.wait(false);
      seen = usable_cores();
    });
    const bool worked = bind_thread(thread, core);
    bound = true;
    bound.notify_one();
    thread.join();
    CHECK(worked);
    CHECK(seen == std::vector<unsigned>{core});
    CHECK(usable_cores() == cores);
  }
  std::atomic<bool> done{false};
  std::thread thread([&] { done.wait(false); });
  CHECK_FALSE(bind_thread(thread, 1023));  // no machine that runs this has so many
  done = true;
  done.notify_one();
  thread.join();
}
