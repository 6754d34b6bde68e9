// SPDX-License-Identifier: Apache-2.0
/// \file Cost of a parallel region of the thread pool, alone and beside busy threads of other programs.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>

#include <tulle/core/thread_pool.hpp>

#include "measure.hpp"

namespace {

/// Work measured in instructions, not by the clock: a preempted thread makes no progress.
class Work {
 public:
  Work() {
    constexpr std::size_t trial = 100000;
    double shortest = 1;
    for (int i = 0; i < 50; ++i) shortest = std::min(shortest, bench::seconds_of([] { spin(trial); }));
    per_second_ = static_cast<double>(trial) / shortest;
  }

  std::size_t turns(double seconds) const noexcept { return static_cast<std::size_t>(per_second_ * seconds); }

  static void spin(std::size_t turns) noexcept {
    std::uint64_t state = turns;
    for (std::size_t i = 0; i < turns; ++i) state = state * 6364136223846793005u + 1442695040888963407u;
    if (state == 1) std::puts("");  // never true, but the compiler cannot know that
  }

 private:
  double per_second_;
};

/// Threads that compute until they are destroyed.
class Neighbours {
 public:
  explicit Neighbours(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      threads_.emplace_back([this] {
        while (!stopping_.load(std::memory_order_relaxed)) Work::spin(1000);
      });
    }
  }
  ~Neighbours() {
    stopping_ = true;
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  std::atomic<bool> stopping_{false};
  std::vector<std::thread> threads_;
};

struct Contestant {
  std::string name;
  std::unique_ptr<tulle::ThreadPool> pool;
};

constexpr std::size_t token_regions = 81;  // of CodeGen-350M, as one matrix product each
constexpr double short_part = 20e-6, token_part = 100e-6;

/// `count` regions in which every thread gets a part of `turns`.
void run_regions(tulle::ThreadPool& pool, std::size_t count, std::size_t turns) {
  for (std::size_t region = 0; region < count; ++region) {
    pool.run([turns](std::size_t) noexcept { Work::spin(turns); });
  }
}

void measure(const std::vector<Contestant>& contestants, const Work& work, std::size_t neighbours,
             std::size_t repeats) {
  const Neighbours busy(neighbours * tulle::usable_core_count());
  constexpr std::size_t empty_regions = 1000, short_regions = 100;
  std::vector<std::function<void()>> tasks;
  for (const Contestant& contestant : contestants) {
    tulle::ThreadPool& pool = *contestant.pool;
    tasks.push_back([&pool] { run_regions(pool, empty_regions, 0); });
    tasks.push_back([&pool, turns = work.turns(short_part)] { run_regions(pool, short_regions, turns); });
    tasks.push_back([&pool, turns = work.turns(token_part)] { run_regions(pool, token_regions, turns); });
  }
  const auto times = bench::interleaved(tasks, repeats);
  for (std::size_t i = 0; i < contestants.size(); ++i) {
    const bench::Times& token = times[3 * i + 2];
    // Beside n neighbours per core the pool's share is 1 / (n + 1) of the machine.
    const double fair = static_cast<double>(token_regions * (neighbours + 1)) * token_part;
    std::printf("| %s | %zu | %.2f | %.1f | %.2f (%.2f - %.2f) | %.2f |\n", contestants[i].name.c_str(), neighbours,
                1e6 * times[3 * i].median() / empty_regions, 1e6 * times[3 * i + 1].median() / short_regions,
                1e3 * token.median(), 1e3 * token.min(), 1e3 * token.max(), token.median() / fair);
  }
}

}  // namespace

int main(int argc, char** argv) try {
  CLI::App app("Parallel regions of the thread pool, alone and beside busy neighbours");
  std::size_t threads = tulle::usable_core_count(), neighbours = 2, repeats = 21;
  app.add_option("--threads", threads, "Threads")->capture_default_str();
  app.add_option("--neighbours", neighbours, "Busy threads a core, in a second run; 0: none")->capture_default_str();
  app.add_option("--repeats", repeats, "Runs of each measurement")->capture_default_str();
  app.footer("Example: bench_pool --threads 2 --neighbours 1");
  CLI11_PARSE(app, argc, argv);

  const Work work;
  std::vector<Contestant> contestants;
  contestants.push_back({"1 thread", std::make_unique<tulle::ThreadPool>(1)});
  contestants.push_back({std::to_string(threads) + " threads", std::make_unique<tulle::ThreadPool>(threads)});
  if (tulle::can_bind_threads && threads <= tulle::usable_core_count()) {
    contestants.push_back({std::to_string(threads) + " threads, pinned",
                           std::make_unique<tulle::ThreadPool>(threads, tulle::ThreadPlacement::own_cores)});
  }
  std::printf("%s, %zu cores; %zu runs\n\n", bench::processor_name().c_str(), tulle::usable_core_count(), repeats);
  std::puts(
      "| pool | neighbours a core | empty region us | 20 us a thread: us | token of 81 x 100 us: ms (min - max) | x "
      "fair share |");
  std::puts("|---|---|---|---|---|---|");
  measure(contestants, work, 0, repeats);
  if (neighbours != 0) measure(contestants, work, neighbours, repeats);
} catch (const std::exception& error) {
  std::fprintf(stderr, "bench_pool: %s\n", error.what());
  return 1;
}
