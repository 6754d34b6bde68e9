// SPDX-License-Identifier: Apache-2.0
/// \file Shared by all benchmarks: interleaved runs, medians, and the read bandwidth of the machine.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <tulle/core/aligned_buffer.hpp>
#include <tulle/core/thread_pool.hpp>
#include <tulle/kernel/schedule/prefetch.hpp>
#include <tulle/tensor/machine.hpp>

namespace bench {

inline double seconds_of(const std::function<void()>& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// The value below which `share` of them lie, between neighbours in proportion.
inline double quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  const double place = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (place - std::floor(place)) * (values[above] - values[below]);
}

inline double median(std::vector<double> values) {
  return quantile(std::move(values), 0.5);
}

struct Times {
  std::vector<double> seconds;

  double median() const { return bench::median(seconds); }
  double min() const { return *std::min_element(seconds.begin(), seconds.end()); }
  double max() const { return *std::max_element(seconds.begin(), seconds.end()); }
};

/// Runs every task `repeats` times, one after the other, so that a slow minute of the machine affects all of them
/// equally. The first round warms up and does not count.
inline std::vector<Times> interleaved(const std::vector<std::function<void()>>& tasks, std::size_t repeats) {
  std::vector<Times> times(tasks.size());
  for (std::size_t round = 0; round <= repeats; ++round) {
    for (std::size_t task = 0; task < tasks.size(); ++task) {
      const double seconds = seconds_of(tasks[task]);
      if (round != 0) times[task].seconds.push_back(seconds);
    }
  }
  return times;
}

/// Reads memory once, by default 512 MiB, every thread its share as in the kernels: as 1, 2 or 4 distant streams, with
/// prefetch. In vectors: compiled for size, a loop over words would be slower than the memory.
class BandwidthProbe {
 public:
  explicit BandwidthProbe(tulle::ThreadPool& pool, std::size_t bytes = std::size_t{512} << 20)
      : pool_(pool), lines_(bytes / sizeof(Line)) {}

  std::size_t bytes() const noexcept { return lines_.size() * sizeof(Line); }

  void operator()() noexcept {
    pool_.run([this](std::size_t worker) noexcept {
      switch (tulle::this_machine.streams) {
        case tulle::Streams::one: return read<1>(worker);
        case tulle::Streams::two: return read<2>(worker);
        case tulle::Streams::four: return read<4>(worker);
      }
    });
  }

 private:
  using Words = std::uint64_t __attribute__((vector_size(16)));
  struct Line {
    Words a, b, c, d;
  };

  template <std::size_t Streams>
  void read(std::size_t worker) noexcept {
    const tulle::Share share = tulle::share_of(lines_.size(), Streams, worker, pool_.size());
    const std::size_t apart = (share.end - share.begin) / Streams;
    Line sum{};
    for (std::size_t at = share.begin; at < share.begin + apart; ++at) {
      for (std::size_t stream = 0; stream < Streams; ++stream) {
        const Line& line = lines_[at + stream * apart];
        tulle::detail::prefetch_stream<sizeof line>(&line);
        sum.a += line.a;
        sum.b += line.b;
        sum.c += line.c;
        sum.d += line.d;
      }
    }
    sum.a += sum.b + sum.c + sum.d;
    // The sum never has this value, but the compiler cannot know that.
    if (sum.a[0] + sum.a[1] == 1) lines_[0] = sum;
  }

  tulle::ThreadPool& pool_;
  tulle::AlignedBuffer<Line> lines_;
};

/// The name of the CPU, printed with every figure.
inline std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "unknown processor";
}

}  // namespace bench
