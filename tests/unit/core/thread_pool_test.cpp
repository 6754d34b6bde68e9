// SPDX-License-Identifier: Apache-2.0
#include <tulle/core/thread_pool.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <ctime>
#include <iterator>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include <catch2/catch_all.hpp>

#if defined(__linux__)
#include <sys/resource.h>
#endif

using namespace tulle;
using namespace std::chrono_literals;

namespace {

/// Runs `regions` regions in which every worker counts its turns, and checks that none missed one.
void check_regions(ThreadPool& pool, int regions) {
  std::vector<int> turns(pool.size());
  bool all = true;
  for (int region = 1; region <= regions; ++region) {
    pool.run([&](std::size_t worker) noexcept { ++turns[worker]; });
    for (const int count : turns) all &= count == region;  // also shows that run() waits for everybody
  }
  REQUIRE(all);
}

ErrorCode code_of_pool(std::size_t threads, std::string& message,
                       ThreadPlacement placement = ThreadPlacement::anywhere) {
  try {
    const ThreadPool pool(threads, placement);
  } catch (const Error& error) {
    message = error.what();
    return error.code();
  }
  return ErrorCode{};
}

}  // namespace

TEST_CASE("every part runs once a region, part 0 on the caller", "[core][thread_pool]") {
  for (std::size_t threads = 1; threads <= 8; ++threads) {
    ThreadPool pool(threads);
    REQUIRE(pool.size() == threads);
    check_regions(pool, 50);
    std::vector<std::thread::id> ran(threads);
    pool.run([&](std::size_t part) noexcept { ran[part] = std::this_thread::get_id(); });
    CHECK(ran[0] == std::this_thread::get_id());
    CHECK(std::find(ran.begin(), ran.end(), std::thread::id()) == ran.end());
  }
}

TEST_CASE("a part that lasts is left to its thread while the caller takes the others", "[core][thread_pool]") {
  ThreadPool pool(2);
  bool apart = false;
  for (int attempt = 0; attempt < 100 && !apart; ++attempt) {  // a helper that is late leaves its part to the caller
    std::vector<std::thread::id> ran(2);
    pool.run([&](std::size_t part) noexcept {
      ran[part] = std::this_thread::get_id();
      std::this_thread::sleep_for(5ms);
    });
    apart = ran[0] != ran[1];
  }
  CHECK(apart);
}

TEST_CASE("0 threads means one per core that may be used", "[core][thread_pool]") {
  CHECK(ThreadPool().size() == usable_core_count());
}

#if defined(__linux__)
TEST_CASE("helpers bound to cores have one each, and the caller stays free", "[core][thread_pool]") {
  const std::vector<unsigned> cores = usable_cores();
  if (cores.size() < 2) SKIP("this machine has no second core");
  const std::size_t threads = std::min<std::size_t>(cores.size(), 4);
  ThreadPool pool(threads, ThreadPlacement::own_cores);
  std::vector<std::vector<unsigned>> bound(threads);
  const auto caller = std::this_thread::get_id();
  std::vector<std::vector<unsigned>> helpers;
  for (int attempt = 0; attempt < 100 && helpers.size() + 1 < threads; ++attempt) {
    pool.run([&](std::size_t part) noexcept {
      bound[part].clear();
      if (std::this_thread::get_id() != caller) bound[part] = usable_cores();
      std::this_thread::sleep_for(5ms);
    });
    helpers.clear();
    std::copy_if(bound.begin(), bound.end(), std::back_inserter(helpers),
                 [](const auto& each) { return !each.empty(); });
  }
  std::sort(helpers.begin(), helpers.end());
  REQUIRE(helpers.size() + 1 == threads);
  for (std::size_t i = 0; i + 1 < threads; ++i) CHECK(helpers[i] == std::vector<unsigned>{cores[i + 1]});
  CHECK(usable_cores() == cores);
  check_regions(pool, 50);

  std::string message;
  CHECK(code_of_pool(cores.size() + 1, message, ThreadPlacement::own_cores) == ErrorCode::invalid_argument);
  CHECK(message.find("the process may use " + std::to_string(cores.size())) != std::string::npos);
  CHECK(code_of_pool(1, message, ThreadPlacement::own_cores) == ErrorCode{});
}
#else
TEST_CASE("binding helpers to cores is refused where the platform cannot", "[core][thread_pool]") {
  std::string message;
  CHECK(code_of_pool(2, message, ThreadPlacement::own_cores) == ErrorCode::unsupported);
}
#endif

TEST_CASE("work may be any noexcept callable, and sees what the caller and the last region wrote",
          "[core][thread_pool]") {
  ThreadPool pool(3);
  std::vector<int> values(pool.size()), sums(pool.size());
  const auto fill = [&](std::size_t worker) noexcept { values[worker] = static_cast<int>(worker) + 1; };
  auto sum = [&, runs = std::vector<int>(3)](std::size_t worker) mutable noexcept {
    sums[worker] = std::accumulate(values.begin(), values.end(), 10 * runs[worker]++);
  };
  pool.run(fill);
  pool.run(sum);
  CHECK(sums == std::vector<int>{6, 6, 6});
  values = {1, 1, 1};
  pool.run(sum);
  CHECK(sums == std::vector<int>{13, 13, 13});
}

TEST_CASE("many short regions follow each other without a loss", "[core][thread_pool]") {
  ThreadPool pool(2);
  const auto end = std::chrono::steady_clock::now() + 1s;  // a machine whose processors are all busy gets less far
  for (int thousand = 0; thousand < 20 && std::chrono::steady_clock::now() < end; ++thousand) check_regions(pool, 1000);
}

TEST_CASE("more threads than processors get through", "[core][thread_pool]") {
  ThreadPool pool(4 * std::max(1u, std::thread::hardware_concurrency()));
  check_regions(pool, 100);
}

TEST_CASE("sleeping workers wake, and cost nothing while they sleep", "[core][thread_pool]") {
  ThreadPool pool(4);
  check_regions(pool, 3);
  for (int pause = 0; pause < 3; ++pause) {
    std::this_thread::sleep_for(50ms);
    check_regions(pool, 3);
  }
#if !defined(__EMSCRIPTEN__)  // whose clock() is the time of day
  std::this_thread::sleep_for(50ms);
  const std::clock_t before = std::clock();  // processor time of all threads
  std::this_thread::sleep_for(100ms);
  CHECK(static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC < 0.02);
#endif
}

TEST_CASE("workers that are just going to sleep miss nothing", "[core][thread_pool]") {
  ThreadPool pool(3);
  for (int step = 0; step < 200; ++step) {  // pauses around the time that workers spin
    const auto until = std::chrono::steady_clock::now() + step * 2us;
    while (std::chrono::steady_clock::now() < until) {
    }
    check_regions(pool, 1);
  }
}

TEST_CASE("a pool ends whether its workers never ran, spin or sleep", "[core][thread_pool]") {
  for (int repeat = 0; repeat < 20; ++repeat) {
    {
      const ThreadPool never_ran(4);
    }
    ThreadPool spinning(4);
    check_regions(spinning, 1);
  }
  auto sleeping = std::make_unique<ThreadPool>(4);
  check_regions(*sleeping, 1);
  std::this_thread::sleep_for(50ms);
  sleeping.reset();
}

TEST_CASE("too many threads are an error", "[core][thread_pool]") {
  std::string message;
  CHECK(code_of_pool(1025, message) == ErrorCode::invalid_argument);
  CHECK(message == "threads must be at most 1024, not 1025");
  CHECK(code_of_pool(std::size_t(-1), message) == ErrorCode::invalid_argument);
}

// Sanitizers need more address space than the limit below allows.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TULLE_TEST_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TULLE_TEST_SANITIZER 1
#endif
#endif
#if defined(__linux__) && !defined(TULLE_TEST_SANITIZER)
TEST_CASE("threads that the system refuses are an error, and the ones that had started end", "[core][thread_pool]") {
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_AS, &before) == 0);
  const rlimit tight{rlim_t{1} << 30,
                     before.rlim_max};  // a gigabyte holds the stacks of some threads, not of a thousand
  REQUIRE(setrlimit(RLIMIT_AS, &tight) == 0);
  std::string message;
  const ErrorCode code = code_of_pool(1000, message);
  REQUIRE(setrlimit(RLIMIT_AS, &before) == 0);
  CHECK(code == ErrorCode::memory);
  CHECK(message == "could not start 1000 threads; ask for fewer");
  ThreadPool pool(3);
  check_regions(pool, 10);
}
#endif

TEST_CASE("shares follow each other in whole steps and cover everything", "[core][thread_pool]") {
  for (const std::size_t step : {1, 8, 16}) {
    for (std::size_t count = 0; count <= 100; ++count) {
      for (std::size_t workers = 1; workers <= 9; ++workers) {
        std::size_t next = 0, largest = 0, smallest = count;
        for (std::size_t worker = 0; worker < workers; ++worker) {
          const Share share = share_of(count, step, worker, workers);
          CAPTURE(step, count, workers, worker);
          REQUIRE(share.begin == next);
          REQUIRE(share.end >= share.begin);
          REQUIRE((share.begin % step == 0 || share.begin == count));
          next = share.end;
          const std::size_t steps = (share.end - share.begin + step - 1) / step;
          largest = std::max(largest, steps);
          smallest = std::min(smallest, steps);
        }
        REQUIRE(next == count);
        REQUIRE(largest - smallest <= 1);
      }
    }
  }
}

TEST_CASE("every row is worked on once, those of one tile on the caller", "[core][thread_pool]") {
  ThreadPool pool(3);
  for (std::size_t count = 0; count <= 60; ++count) {
    std::vector<std::atomic<int>> visits(count);
    std::atomic<bool> elsewhere = false;
    for_rows(pool, count, [&, caller = std::this_thread::get_id()](std::size_t begin, std::size_t end) noexcept {
      if (std::this_thread::get_id() != caller) elsewhere = true;
      for (std::size_t row = begin; row < end; ++row) ++visits[row];
    });
    CHECK(std::all_of(visits.begin(), visits.end(), [](const auto& each) { return each == 1; }));
    if (count <= 8) CHECK_FALSE(elsewhere);
  }
}
