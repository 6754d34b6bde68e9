// SPDX-License-Identifier: Apache-2.0
/// \file What an engine is made of (L4).
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace tulle {

inline constexpr std::array<std::string_view, 3> cache_names{"contiguous", "sliding", "paged"};
inline constexpr std::array<std::string_view, 4> cache_dtype_names{"auto", "f32", "f16", "i8"};

/// Cache, sizes and threads of an engine.
struct EngineOptions {
  std::string cache = "contiguous";  ///< one of `cache_names`
  std::string cache_dtype = "auto";  ///< f32 for models whose matrices run in float, f16 for quantized ones
  std::size_t sequence_length = 0;   ///< positions a sequence can reach; 0: the model's own, at most 4096.
                                     ///< Rotary tables of dynamic and longrope are those of so long a text
  std::size_t prefill_chunk = 256;   ///< prompt tokens in one forward pass
  std::size_t max_sequences = 16;    ///< at most so many at once; unused ones cost nothing
  std::size_t window = 0;            ///< of the sliding cache; 0: sequence_length
  std::size_t sinks = 4;             ///< first positions that the sliding cache keeps
  std::size_t cache_positions = 0;   ///< of all sequences of the paged cache together; 0: each may reach its length
  bool share_prefixes = false;       ///< finished prompts stay in the paged cache until their blocks are needed, and
                                     ///< prompts that begin alike do not run again (whole blocks of 64 tokens)
  std::size_t threads = 0;           ///< 0: one per core that the process may use
  bool pin_threads = false;          ///< helper threads each keep to a core of their own; the caller's stays free
  std::string packed_cache = {};     ///< where packed weights are kept: "" or "off", "on", "auto" or a file; see
                                     ///< `PackedCache`. Of no use to an engine whose model is loaded already
  bool verify_packed = false;        ///< all of what was kept is hashed before it is used
};

}  // namespace tulle
