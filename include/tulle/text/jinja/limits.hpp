// SPDX-License-Identifier: Apache-2.0
/// \file Limits of steps, memory and nesting for one rendering of a template (L2, text).
#pragma once

#include <cstddef>

#include <tulle/core/error.hpp>

namespace tulle::jinja {

/// Bounds of one rendering. Templates come inside downloaded model files, so a hostile one must not hang or fill
/// memory.
struct Limits {
  std::size_t steps = 20'000'000;  ///< expressions evaluated, items visited, and the like
  std::size_t bytes = 128u << 20;  ///< allocated by values and output together; nothing is subtracted when freed
  int levels = 500;  ///< expressions, statements, macro calls and loops inside each other; under 512 KiB of stack

  static constexpr std::size_t source_bytes = 1u << 20;  ///< longest template
  static constexpr int syntax_levels = 150;              ///< deepest nesting of blocks and expressions in a source
  static constexpr int value_levels = 100;               ///< deepest nesting of lists and dicts
};

/// Counts what a rendering uses against its limits.
/// Errors:  capacity, from every member, once a limit is passed. Call before doing the work or the allocation.
/// Threads: one rendering, one budget, one thread.
class Budget {
 public:
  explicit Budget(const Limits& limits) : steps_(limits.steps), bytes_(limits.bytes), levels_(limits.levels) {}

  void spend(std::size_t steps) {
    if (steps > steps_) fail(ErrorCode::capacity, "the template runs for too long; is there an endless loop in it?");
    steps_ -= steps;
  }

  void allocate(std::size_t bytes) {
    if (bytes > bytes_) fail(ErrorCode::capacity, "the template makes more text and lists than allowed");
    bytes_ -= bytes;
  }

  /// `count` things of `size` bytes each.
  void allocate(std::size_t count, std::size_t size) {
    if (size != 0 && count > bytes_ / size) allocate(bytes_ + 1);
    allocate(count * size);
  }

  /// The worst case of searching `needle` in `haystack`, both in bytes.
  void spend_search(std::size_t haystack, std::size_t needle) {
    spend(1 + haystack / 8 + haystack / 64 * (needle / 16));
  }

  /// One pass over a text of that many bytes.
  void spend_pass(std::size_t bytes) { spend(1 + bytes / 8); }

  /// One level of recursion for as long as it lives.
  class Level {
   public:
    explicit Level(Budget& budget) : budget_(budget) {
      if (budget_.levels_ == 0) fail(ErrorCode::capacity, "the template nests or calls itself too deeply");
      --budget_.levels_;
    }
    ~Level() { ++budget_.levels_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    Budget& budget_;
  };

 private:
  std::size_t steps_;
  std::size_t bytes_;
  int levels_;
};

}  // namespace tulle::jinja
