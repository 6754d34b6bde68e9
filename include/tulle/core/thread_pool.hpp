// SPDX-License-Identifier: Apache-2.0
/// \file A persistent pool for short parallel regions (L0).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <type_traits>
#include <vector>

#include <tulle/core/error.hpp>
#include <tulle/core/processor_cores.hpp>

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

/// Where the helpers of a pool run.
enum class ThreadPlacement {
  anywhere,   ///< where the system puts them
  own_cores,  ///< each bound to its own core; the first core is left to the caller, whose thread is never bound
};

/// Runs the parts of short regions on all threads at once; the caller takes part, so one thread costs no synchronisation.
///
/// Parts are claimed, not assigned. When a helper is late (asleep, or its core is busy), the caller runs the helper's
/// part instead of waiting, so a busy neighbour costs only its share of the machine. A waiting helper spins for about
/// the gap between two regions of a token, then yields, then sleeps. It reacts within a microsecond during generation
/// and uses no time otherwise.
/// Threads: `run` is called by one thread at a time and must not be nested.
class ThreadPool {
 public:
  /// `threads` 0 means one per core that the process may use.
  /// Errors: invalid_argument for too many; memory; unsupported where helpers cannot be bound.
  explicit ThreadPool(std::size_t threads = 0, ThreadPlacement placement = ThreadPlacement::anywhere) {
    if (threads == 0) threads = usable_core_count();
    constexpr std::size_t max_threads = 1024;
    if (threads > max_threads)
      fail(ErrorCode::invalid_argument, "threads must be at most ", max_threads, ", not ", threads);
    std::vector<unsigned> cores;
    if (placement == ThreadPlacement::own_cores) cores = cores_for(threads);
    parts_ = static_cast<std::uint32_t>(threads);
    helpers_.reserve(threads - 1);
    try {
      for (std::size_t helper = 1; helper < threads; ++helper) helpers_.emplace_back([this] { serve(); });
    } catch (...) {
      stop();
      fail(ErrorCode::memory, "could not start ", threads, " threads; ask for fewer");
    }
    for (std::size_t helper = 1; helper < cores.size(); ++helper) {
      if (bind_thread(helpers_[helper - 1], cores[helper])) continue;
      stop();
      fail(ErrorCode::unsupported, "the system refused to bind a thread to core ", cores[helper],
           "; do without pinning");
    }
  }

  ~ThreadPool() { stop(); }
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  /// Number of threads, including the caller; also the number of parts of a region.
  std::size_t size() const noexcept { return parts_; }

  /// Calls `work(part)` once for every part = 0 .. size() - 1, on any of the threads, and returns when all are done.
  template <class Work>
  void run(Work&& work) noexcept {
    static_assert(std::is_nothrow_invocable_v<Work&, std::size_t>, "a parallel region must be noexcept");
    if (helpers_.empty()) {
      work(std::size_t{0});
      return;
    }
    context_ = const_cast<void*>(static_cast<const void*>(&work));
    call_ = [](void* context, std::size_t part) noexcept {
      (*static_cast<std::remove_reference_t<Work>*>(context))(part);
    };
    unfinished_.store(parts_, std::memory_order_relaxed);
    const std::uint32_t region = region_.load(std::memory_order_relaxed) + 1;
    ticket_.store(std::uint64_t{region} << 32 | 1, std::memory_order_release);  // part 0 is the caller's
    region_.store(region, std::memory_order_seq_cst);
    if (sleepers_.load(std::memory_order_seq_cst) != 0) region_.notify_all();
    finish(0);
    while (run_next_part()) {
    }
    for (unsigned turn = 0; unfinished_.load(std::memory_order_acquire) != 0; ++turn) {
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

  /// A core for each of `threads`. Errors: unsupported, invalid_argument.
  static std::vector<unsigned> cores_for(std::size_t threads) {
    if (!can_bind_threads) {
      fail(ErrorCode::unsupported, "threads cannot be bound to cores on this platform; do without pinning");
    }
    std::vector<unsigned> cores = usable_cores();
    if (threads > cores.size()) {
      fail(ErrorCode::invalid_argument, "cannot bind ", threads, " threads to cores of their own: the process may use ",
           cores.size(), "; ask for fewer threads, or do without pinning");
    }
    cores.resize(threads);
    return cores;
  }

  void finish(std::size_t part) noexcept {
    call_(context_, part);
    unfinished_.fetch_sub(1, std::memory_order_release);
  }

  /// Claims and runs one part of the current region; false when all are claimed. A claim that succeeded keeps the region,
  /// and with it `call_` and `context_`, alive until `finish` is done.
  bool run_next_part() noexcept {
    std::uint64_t ticket = ticket_.load(std::memory_order_acquire);
    while (static_cast<std::uint32_t>(ticket) < parts_) {
      if (ticket_.compare_exchange_weak(ticket, ticket + 1, std::memory_order_acq_rel, std::memory_order_acquire)) {
        finish(static_cast<std::uint32_t>(ticket));
        return true;
      }
    }
    return false;
  }

  void serve() noexcept {
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
      if (stopping_.load(std::memory_order_acquire)) return;
      while (run_next_part()) {
      }
    }
  }

  void stop() noexcept {
    stopping_.store(true, std::memory_order_release);
    region_.fetch_add(1, std::memory_order_seq_cst);
    region_.notify_all();
    for (std::thread& helper : helpers_) helper.join();
    helpers_.clear();
  }

  std::vector<std::thread> helpers_;
  std::uint32_t parts_ = 1;
  void (*call_)(void*, std::size_t) noexcept = nullptr;
  void* context_ = nullptr;
  std::atomic<bool> stopping_{false};
  alignas(64) std::atomic<std::uint32_t> region_{0};  // counts regions; a change wakes the helpers
  std::atomic<std::uint32_t> sleepers_{0};
  alignas(64) std::atomic<std::uint64_t> ticket_{~std::uint64_t{0}};  // region << 32 | the next part to claim
  alignas(64) std::atomic<std::uint32_t> unfinished_{0};
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

/// Calls `work(begin, end)` for parts of `count` rows: on this thread for one tile of rows, on all of them for more. A
/// region costs as much as one to three normalized rows: a small tile is for steps that take longer.
template <class Work>
void for_rows(ThreadPool& pool, std::size_t count, Work&& work, std::size_t tile = 8) noexcept {
  if (count <= tile) {
    work(std::size_t{0}, count);
    return;
  }
  pool.run([&](std::size_t worker) noexcept {
    const Share share = share_of(count, tile, worker, pool.size());
    if (share.begin < share.end) work(share.begin, share.end);
  });
}

}  // namespace tulle
