// SPDX-License-Identifier: Apache-2.0
/// \file Which rows go through the model next (L4).
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include <tulle/core/types.hpp>
#include <tulle/generate/sequences.hpp>

namespace tulle {

/// The rows of one forward pass. Rows of one sequence lie together, begin with its first pending token and are
/// consecutive positions; drafted tokens follow the last pending one. The last pending row of a sequence that draws a
/// token, and all drafted ones, get logits.
struct StepPlan {
  std::vector<Row> rows;
};

/// Plans in order of arrival: every running sequence gets a row, and earlier ones a chunk of their pending tokens.
///
/// A sequence without room in the cache waits. The one that arrived first does not: others are evicted for it, first
/// those that do not run, then the one that arrived last. So it always goes on, and each is the first at some time.
/// Sequences that hold nothing, new or evicted, adopt what others have published before anything is planned.
class Scheduler {
 public:
  /// At most `max_rows` rows a step, and `chunk` of a sequence. `max_rows` is no less than the number of sequences.
  Scheduler(std::size_t max_rows, std::size_t chunk) : max_rows_(max_rows), chunk_(chunk) {}

  std::size_t chunk() const noexcept { return chunk_; }

  /// Allocates nothing where `plan` has room for `max_rows` rows and nothing is adopted.
  template <class Cache>
  void plan(Sequences<Cache>& sequences, StepPlan& plan) const {
    plan.rows.clear();
    const std::span<const SequenceId> running = sequences.running();
    for (const SequenceId id : running) {
      if (!sequences.waits(id)) sequences.adopt(id);
    }
    for (std::size_t i = 0; i < running.size(); ++i) {
      const SequenceId id = running[i];
      const std::size_t others = running.size() - i - 1;  // each of them gets a row
      const std::size_t rows = std::min(chunk_, max_rows_ - plan.rows.size() - others);
      if (i == 0) {
        make_room(sequences);
      } else if (sequences.waits(id)) {
        continue;
      }
      const std::size_t room = sequences.cache().room(id);
      // Where the first finds none even alone, the plan holds a row that cannot run.
      if (room != 0 || i == 0) add(sequences, id, std::min(rows, std::max<std::size_t>(room, 1)), plan);
    }
  }

 private:
  template <class Cache>
  static void make_room(Sequences<Cache>& sequences) {
    const std::span<const SequenceId> running = sequences.running();
    const Cache& cache = sequences.cache();
    for (SequenceId id = 0; id < sequences.size() && cache.room(running.front()) == 0; ++id) {
      if (!sequences.is_running(id) && cache.length(id) != 0) sequences.evict(id);
    }
    for (std::size_t last = running.size(); --last > 0 && cache.room(running.front()) == 0;) {
      if (cache.length(running[last]) != 0) sequences.evict(running[last]);
    }
  }

  /// Up to `count` pending rows of a sequence and, behind the last of them, drafted ones.
  template <class Cache>
  static void add(const Sequences<Cache>& sequences, SequenceId id, std::size_t count, StepPlan& plan) {
    Position position = sequences.cache().length(id);
    const Position logits_from = sequences.logits_from(id);
    const auto add_rows = [&](std::span<const Token> tokens) {
      const std::span<const Token> part = tokens.first(std::min(count, tokens.size()));
      count -= part.size();
      for (const Token token : part) {
        plan.rows.push_back({id, position, token, position >= logits_from});
        ++position;
      }
    };
    add_rows(sequences.pending(id));
    if (count != 0) add_rows(sequences.drafted(id));
  }

  std::size_t max_rows_, chunk_;
};

}  // namespace tulle
