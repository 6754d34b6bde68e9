// SPDX-License-Identifier: Apache-2.0
/// \file Packing one panel after the other, on several threads (L2).
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>

#include <tulle/core/thread_pool.hpp>
#include <tulle/core/types.hpp>

namespace tulle::detail {

/// WebAssembly modules pack on one thread, so that they contain the packing code once.
inline constexpr bool packs_on_threads = !is_web;

/// Parts that `for_each_panel` works in.
inline std::size_t panel_parts(const ThreadPool* pool) noexcept {
  return packs_on_threads && pool != nullptr ? pool->size() : 1;
}

/// `for_each_panel` on all threads of a pool.
template <class Work>
void for_each_panel_on(ThreadPool& pool, std::size_t begin, std::size_t end, Work& work) {
  std::atomic<std::size_t> next{begin}, last{end};
  std::mutex mutex;
  std::exception_ptr error;
  pool.run([&](std::size_t part) noexcept {
    // A panel before one that failed was claimed before it, so it is still worked on and may fail in its turn.
    for (std::size_t panel;
         (panel = next.fetch_add(1, std::memory_order_relaxed)) < last.load(std::memory_order_relaxed);) {
      try {
        work(part, panel);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (panel < last.load(std::memory_order_relaxed)) {
          last.store(panel, std::memory_order_relaxed);
          error = std::current_exception();
        }
      }
    }
  });
  if (error != nullptr) std::rethrow_exception(error);
}

/// Calls work(part, panel) once for every panel in [begin, end), on all threads of `pool`, or on the caller's where
/// there is none. Panels are claimed in increasing order. No two calls of one part (below `panel_parts`) overlap, so
/// that each part may have memory of its own. Errors: what `work` throws, of several panels that of the first.
template <class Work>
void for_each_panel(ThreadPool* pool, std::size_t begin, std::size_t end, Work&& work) {
  if (!packs_on_threads || panel_parts(pool) == 1) {
    for (std::size_t panel = begin; panel < end; ++panel) work(std::size_t{0}, panel);
    return;
  }
  if constexpr (packs_on_threads) for_each_panel_on(*pool, begin, end, work);
}

}  // namespace tulle::detail
