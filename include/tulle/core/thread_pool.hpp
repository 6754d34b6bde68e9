// SPDX-License-Identifier: Apache-2.0
/// \file A persistent pool for short parallel regions (L0).
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include <tulle/core/error.hpp>

namespace tulle {

namespace detail {

inline void relax_processor() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace detail

/// Runs one function on all workers at once; the caller is worker 0, so one worker costs no synchronisation.
/// A waiting worker spins for about the gap between two regions of a token, then yields, then sleeps: it reacts within a
/// microsecond while text is generated and costs nothing when none is, and gives way to a busy neighbour.
/// Threads: `run` is called by one thread at a time and must not be nested.
class ThreadPool {
 public:
  /// `threads` 0 means as many as the machine has.
  explicit ThreadPool(std::size_t threads = 0) {
    if (threads == 0) threads = std::max<std::size_t>(1, std::thread::hardware_concurrency());
    constexpr std::size_t most = 1024;
    if (threads > most) fail(ErrorCode::invalid_argument, "threads must be at most ", most, ", not ", threads);
    helpers_.reserve(threads - 1);
    try {
      for (std::size_t worker = 1; worker < threads; ++worker) helpers_.emplace_back([this, worker] { serve(worker); });
    } catch (...) {
      stop();
      fail(ErrorCode::memory, "could not start ", threads, " threads; ask for fewer");
    }
  }

  ~ThreadPool() { stop(); }
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  std::size_t size() const noexcept { return helpers_.size() + 1; }

  /// Calls `work(worker)` for worker = 0 .. size() - 1, each on its own thread, and returns when all are done.
  template <class Work>
  void run(Work&& work) noexcept {
    static_assert(std::is_nothrow_invocable_v<Work&, std::size_t>, "a parallel region must be noexcept");
    if (helpers_.empty()) {
      work(std::size_t{0});
      return;
    }
    context_ = const_cast<void*>(static_cast<const void*>(&work));
    call_ = [](void* context, std::size_t worker) noexcept { (*static_cast<std::remove_reference_t<Work>*>(context))(worker); };
    busy_.store(helpers_.size(), std::memory_order_relaxed);
    region_.fetch_add(1, std::memory_order_seq_cst);
    if (sleepers_.load(std::memory_order_seq_cst) != 0) region_.notify_all();
    work(std::size_t{0});
    for (unsigned turn = 0; busy_.load(std::memory_order_acquire) != 0; ++turn) {
      if (turn < spins) {
        detail::relax_processor();
      } else {
        std::this_thread::yield();
      }
    }
  }

 private:
  static constexpr unsigned spins = 4000;  // about 50 to 100 microseconds of pauses
  static constexpr unsigned yields = 50;

  void serve(std::size_t worker) noexcept {
    std::uint32_t seen = 0;
    while (true) {
      unsigned turn = 0;
      while (region_.load(std::memory_order_acquire) == seen) {
        if (turn < spins) {
          detail::relax_processor();
        } else if (turn < spins + yields) {
          std::this_thread::yield();
        } else {
          sleepers_.fetch_add(1, std::memory_order_seq_cst);
          region_.wait(seen, std::memory_order_seq_cst);
          sleepers_.fetch_sub(1, std::memory_order_seq_cst);
        }
        ++turn;
      }
      seen = region_.load(std::memory_order_acquire);
      if (stopping_) return;
      call_(context_, worker);
      busy_.fetch_sub(1, std::memory_order_release);
    }
  }

  void stop() noexcept {
    stopping_ = true;
    region_.fetch_add(1, std::memory_order_seq_cst);
    region_.notify_all();
    for (std::thread& helper : helpers_) helper.join();
    helpers_.clear();
  }

  std::vector<std::thread> helpers_;
  void (*call_)(void*, std::size_t) noexcept = nullptr;
  void* context_ = nullptr;
  bool stopping_ = false;
  alignas(64) std::atomic<std::uint32_t> region_{0};  // counts regions; a change wakes the helpers
  std::atomic<std::uint32_t> sleepers_{0};
  alignas(64) std::atomic<std::size_t> busy_{0};
};

/// Worker `worker` of `workers` gets part [begin, end) of `count` items, in whole steps.
struct Share {
  std::size_t begin;
  std::size_t end;
};

constexpr Share share_of(std::size_t count, std::size_t step, std::size_t worker, std::size_t workers) noexcept {
  const std::size_t steps = (count + step - 1) / step;
  const std::size_t begin = steps * worker / workers * step;
  const std::size_t end = steps * (worker + 1) / workers * step;
  return {begin < count ? begin : count, end < count ? end : count};
}

}  // namespace tulle
