// SPDX-License-Identifier: Apache-2.0
/// \file How main memory is read fastest: as how many streams, and asked for how far ahead (L2).
#pragma once

#include <cstddef>
#include <cstdint>

#include <tulle/tensor/isa.hpp>

namespace tulle::detail {

#if defined(TULLE_X86)
// Both are asked once, for loops.
inline const bool foresees_pages_only = made_by_intel();
/// Whether a thread reads one stream faster than several: so on Zen 4 (6 to 17 %), unlike Zen 3 and processors of Intel.
inline const bool reads_one_stream = !made_by_intel() && machine_has(InstructionSet::avx512);
#else
// Known to the compiler, so that programs for other processors carry no loops for these.
inline constexpr bool foresees_pages_only = false;
inline constexpr bool reads_one_stream = false;
#endif

/// For a loop that is about to read the `Bytes` (at most a page) at `at`, and later what follows, which need not exist.
///
/// Processors of Intel foresee a stream from the first lines of a page of 4 KiB on, but not into the next, where they begin
/// anew: so these lines are asked for a page ahead, by the second cache, which waits for more lines at a time than the first.
/// AMD's foresee what lies at a fixed stride (asking loses there), and nothing else: `Foreseen` is false where strides differ.
/// (Always inline: GCC takes the call of a function that does nothing else for one without effect.)
template <std::size_t Bytes, bool Foreseen = true>
__attribute__((always_inline)) inline void prefetch_stream([[maybe_unused]] const void* at) noexcept {
#if defined(TULLE_X86)
  constexpr std::size_t line = 64, page = 4096, first_lines = 4 * line;
  const auto address =
      reinterpret_cast<std::uintptr_t>(at);  // a number, as what is asked for may lie beyond every array
  if (foresees_pages_only) {
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
  } else if (!Foreseen) {
#pragma GCC unroll 8
    for (std::size_t i = 0; i < Bytes; i += line) {
      __builtin_prefetch(reinterpret_cast<const void*>(address + page + i));
    }
  }
#endif
}

}  // namespace tulle::detail
