// SPDX-License-Identifier: Apache-2.0
/// \file Software prefetching of weights that are read front to back (L2).
#pragma once

#include <cstddef>
#include <cstdint>

#include <tulle/tensor/machine.hpp>

namespace tulle::detail {

/// For a loop that is about to read the `Bytes` (at most a page) at `at`, and later the bytes that follow, which need
/// not exist.
///
/// `Prefetching::every_stream`: the hardware prefetchers of Intel CPUs follow a stream from the first lines of a page
/// of 4 KiB on, and start again with the next page. So the first lines of the next page are prefetched into L2, which
/// tracks more outstanding lines than L1. `Prefetching::varying_strides`: those of AMD CPUs follow a fixed stride,
/// where a software prefetch costs time, and nothing else: `FixedStride` is false where strides differ. (Always inline:
/// GCC takes the call of a function that does nothing else for one without effect.)
template <std::size_t Bytes, bool FixedStride = true>
__attribute__((always_inline)) inline void prefetch_stream([[maybe_unused]] const void* at) noexcept {
#if defined(TULLE_X86)
  constexpr std::size_t line = 64, page = 4096, first_lines = 4 * line;
  // A number, as the prefetched address may lie beyond every array.
  const auto address = reinterpret_cast<std::uintptr_t>(at);
  if (this_machine.prefetching == Prefetching::every_stream) {
    if (address % page < Bytes) {
#pragma GCC unroll 4
      for (std::size_t i = 0; i < first_lines; i += line) {
        __builtin_prefetch(reinterpret_cast<const void*>(address - address % page + page + i), 0, 2);
      }
    }
#pragma GCC unroll 8
    for (std::size_t i = 0; i < Bytes; i += line) {
      __builtin_prefetch(reinterpret_cast<const void*>(address + page / 2 + i));
    }
  } else if (!FixedStride) {
#pragma GCC unroll 8
    for (std::size_t i = 0; i < Bytes; i += line) {
      __builtin_prefetch(reinterpret_cast<const void*>(address + page + i));
    }
  }
#endif
}

}  // namespace tulle::detail
