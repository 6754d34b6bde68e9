// SPDX-License-Identifier: Apache-2.0
/// \file Token, position and sequence ids, and what all folders ask of the platform (L0).
#pragma once

#include <cstddef>
#include <cstdint>

namespace tulle {

using Token = std::int32_t;        ///< an entry of the vocabulary; never negative when valid
using Position = std::uint32_t;    ///< of a token in its sequence, from 0
using SequenceId = std::uint32_t;  ///< a slot of a cache: 0 .. capacity - 1

/// One row of work for the decoder. A prefill chunk, a decode step, a verification and a mixed batch are lists of these.
struct Row {
  SequenceId sequence = 0;
  Position position = 0;
  Token token = 0;
  bool wants_logits = true;
};

/// A half-open range of rows of a matrix.
struct RowRange {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::size_t count() const noexcept { return end - begin; }
};

/// Whether this is a module for the web, which is to be small.
#if defined(__EMSCRIPTEN__)
inline constexpr bool is_web = true;
#else
inline constexpr bool is_web = false;
#endif

}  // namespace tulle
