// SPDX-License-Identifier: Apache-2.0
/// \file Token ids in, token ids out: a decoder, a cache and a sampler put together (L4).
#pragma once

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <tulle/cache/cache_layout.hpp>
#include <tulle/core/thread_pool.hpp>
#include <tulle/generate/continuation.hpp>
#include <tulle/generate/logits_rows.hpp>
#include <tulle/generate/scheduler.hpp>
#include <tulle/generate/sequence.hpp>
#include <tulle/generate/sequences.hpp>
#include <tulle/generate/step_report.hpp>
#include <tulle/kernel/linear_kernel.hpp>
#include <tulle/model/decoder.hpp>
#include <tulle/sampling/sampler.hpp>

namespace tulle {

/// Generates for several sequences at once: plan, run, accept. Every step is one forward pass over a mixture of prefill
/// chunks, single decode rows and drafted tokens. What a sequence produces depends on its tokens, sampler and options:
/// not on its neighbours, the prefix that it shares with them, the chunk size, the draft or on having been preempted.
///
///   while (generator.running())
///     for (const Emission& emission : generator.step(generator.plan()).emissions) ...
///
/// Threads: one thread at a time; `cancel` flags may be set from any thread.
template <LinearKernel Kernel, CacheLayout Cache, Sampler SamplerType>
class Generator {
 public:
  using Sampling = SamplerType;

  /// At most `chunk` tokens of a sequence go through the model in one step. `vocabulary` limits what is sampled to the
  /// ids below it (rows beyond the tokenizer are padding); 0 means all of the model's. `architecture`, `weights` and
  /// `pool` must outlive the generator. Errors: memory, invalid_argument.
  [[gnu::noinline]] Generator(const Architecture& architecture, const ModelWeights<Kernel>& weights, ThreadPool& pool,
                              Cache cache, std::size_t chunk = 256, std::size_t vocabulary = 0)
      : vocabulary_(vocabulary == 0 ? architecture.vocabulary : std::min(vocabulary, architecture.vocabulary)),
        sequences_(std::move(cache), architecture.vocabulary),
        continuations_(sequences_.size()),
        decoder_(architecture, weights, pool, std::max(chunk, sequences_.size())),
        scheduler_(decoder_.max_rows(), chunk),
        logits_(sequences_.size(), architecture.vocabulary) {
    if (chunk == 0) fail(ErrorCode::invalid_argument, "the prefill chunk must be at least 1 token");
    plan_.rows.reserve(decoder_.max_rows());
    rows_.reserve(decoder_.max_rows());
    emissions_.reserve(decoder_.max_rows() + sequences_.size());
  }

  const Architecture& architecture() const noexcept { return decoder_.architecture(); }
  Sequences<Cache>& sequences() noexcept { return sequences_; }
  const Sequences<Cache>& sequences() const noexcept { return sequences_; }
  const Cache& cache() const noexcept { return sequences_.cache(); }
  std::size_t chunk() const noexcept { return scheduler_.chunk(); }
  std::size_t memory_bytes() const noexcept {
    return cache().size_bytes() + decoder_.workspace_bytes() + logits_.size_bytes();
  }

  /// Lets a sequence generate after its last token. Errors: invalid_argument for one without tokens, state when it is
  /// running, capacity when its tokens do not fit, memory.
  [[gnu::noinline]] void run(SequenceId id, Sampling sampling, SequenceOptions options) {
    sequences_.run(id, options.max_new_tokens);
    const std::size_t length = sequences_.history(id).size();
    const auto last = static_cast<Position>(length - 1);
    if (options.prompt_logits) {
      sequences_.set_logits_from(id, std::min(std::max(cache().length(id), options.prompt_from), last));
    } else if (options.max_new_tokens > 0 || options.last_logits) {
      sequences_.set_logits_from(id, last);
    }
    try {
      logits_.reserve(wanted_logits());
      if (options.log_probabilities) logits_.reserve_copy();
      continuations_[id].sampling.emplace(std::move(sampling));
    } catch (...) {
      sequences_.stop(id);
      throw;
    }
    continuations_[id].prompt_length = length - std::min(length, options.generated_before);
    continuations_[id].options = std::move(options);
    continuations_[id].generated = 0;
  }

  /// How sequence `id` goes on, while it runs.
  const Continuation<Sampling>& continuation(SequenceId id) const noexcept { return continuations_[id]; }
  std::size_t vocabulary() const noexcept { return vocabulary_; }  ///< ids below it are sampled

  /// Opens a sequence, appends the prompt and runs it. Errors: those of `Sequences::open`, `append` and `run`.
  SequenceId start(std::span<const Token> prompt, Sampling sampling, SequenceOptions options) {
    const SequenceId id = sequences_.open();
    try {
      sequences_.append(id, prompt);
      run(id, std::move(sampling), std::move(options));
    } catch (...) {
      sequences_.release(id);
      throw;
    }
    return id;
  }

  /// Whether any sequence still has something to do.
  bool running() const noexcept { return !sequences_.running().empty(); }

  /// What the default scheduler runs next; valid until the next call, and until a sequence changes.
  const StepPlan& plan() {
    scheduler_.plan(sequences_, plan_);
    return plan_;
  }

  /// One forward pass, then accepts a token of every sequence whose last pending row was run, and drafted tokens as
  /// long as they are those that the sampler draws. Rows that the cache has no room for are left out, and their
  /// sequences wait; where no row at all has room, the first sequence ends with `capacity`. The pass is abandoned in
  /// the middle when all of it is cancelled by one flag. Allocates only where the plan needs more logits than before.
  /// Errors: memory, which changes nothing.
  [[gnu::noinline]] StepReport step(const StepPlan& plan, const LogitsObserver& observe = {}) {
    emissions_.clear();
    end_cancelled();
    try {
      extend(plan);
    } catch (...) {
      if (emissions_.empty()) throw;
      rows_.clear();  // the ends are told first: the next step meets the error again
    }
    if (!rows_.empty()) run_rows(observe);
    logits_.shrink(wanted_logits());
    return {rows_.size(), emissions_};
  }

 private:
  void run_rows(const LogitsObserver& observe) {
    const MatrixView<float> logits = logits_.view();
    if (decoder_.forward(rows_, sequences_.cache(), logits, common_flag())) {
      accept(logits, observe);
    } else {
      roll_back_rows();  // that did not get through every layer
      end_cancelled();
    }
  }

  /// Rows of logits that the next step may need.
  std::size_t wanted_logits() const {
    std::size_t rows = 0;
    for (const SequenceId id : sequences_.running()) {
      const std::size_t end = sequences_.history(id).size();
      const std::size_t begin = std::max(cache().length(id), sequences_.logits_from(id));
      rows += std::min(chunk(), end - std::min(begin, end) + sequences_.drafted(id).size());
    }
    return std::min(rows, decoder_.max_rows());
  }

  /// Takes those rows of the plan that the cache has room for, and extends it to them.
  void extend(const StepPlan& plan) {
    rows_.clear();
    logits_.reserve(static_cast<std::size_t>(
        std::count_if(plan.rows.begin(), plan.rows.end(), [](const Row& row) { return row.wants_logits; })));
    std::optional<SequenceId> refused;
    try {
      for (std::size_t begin = 0, end = 0; begin < plan.rows.size(); begin = end) {
        const SequenceId id = plan.rows[begin].sequence;
        while (end < plan.rows.size() && plan.rows[end].sequence == id) ++end;
        if (!sequences_.is_running(id)) continue;
        assert(plan.rows[begin].position == cache().length(id));
        if (sequences_.cache().extend(id, plan.rows[end - 1].position + 1)) {
          for (std::size_t row = begin; row < end; ++row) rows_.push_back(plan.rows[row]);
        } else if (!refused) {
          refused = id;
        }
      }
    } catch (...) {
      roll_back_rows();
      throw;
    }
    if (rows_.empty() && refused) finish(*refused, FinishReason::capacity);
  }

  void roll_back_rows() noexcept {
    for (std::size_t row = rows_.size(); row-- > 0;) sequences_.roll_back(rows_[row].sequence, rows_[row].position);
  }

  static bool is_set(const std::atomic<bool>* flag) noexcept {
    return flag != nullptr && flag->load(std::memory_order_relaxed);
  }

  void end_cancelled() {
    for (std::size_t i = 0; i < sequences_.running().size();) {
      const SequenceId id = sequences_.running()[i];
      if (is_set(continuations_[id].options.cancel)) {
        finish(id, FinishReason::cancelled);
      } else {
        ++i;
      }
    }
  }

  /// The flag that cancels all rows, where there is one.
  const std::atomic<bool>* common_flag() const noexcept {
    const auto flag_of = [&](const Row& row) { return continuations_[row.sequence].options.cancel; };
    const std::atomic<bool>* first = flag_of(rows_.front());
    const bool common = std::all_of(rows_.begin(), rows_.end(), [&](const Row& row) { return flag_of(row) == first; });
    return common ? first : nullptr;
  }

  /// Goes through the rows that were run. A drafted row counts while its token is the one that was drawn there; from
  /// the first that is not, the cache forgets the sequence's rows.
  void accept(const MatrixView<float>& logits, const LogitsObserver& observe) {
    std::size_t line = 0;
    for (std::size_t at = 0; at < rows_.size(); ++at) {
      const Row& row = rows_[at];
      const std::span<float> values = row.wants_logits ? logits.row(line++) : std::span<float>();
      const std::span<const Token> history = sequences_.history(row.sequence);
      if (row.position >= history.size() || history[row.position] != row.token) {
        sequences_.roll_back(row.sequence, row.position);
      } else if (sequences_.is_running(row.sequence)) {
        accept(at, values, observe);
      }
    }
    for (const Row& row : rows_) sequences_.publish(row.sequence);
  }

  void accept(std::size_t at, std::span<float> logits, const LogitsObserver& observe) {
    const Row& row = rows_[at];
    const bool last = row.position + 1 == sequences_.history(row.sequence).size();
    if (row.wants_logits) {
      if (observe) observe(row.sequence, row.position, logits);
      sequences_.set_logits_from(row.sequence, row.position + 1);
    }
    if (!last) return;
    if (continuations_[row.sequence].options.max_new_tokens == 0) {
      finish(row.sequence, FinishReason::length);  // a prompt that was only to be read
    } else {
      const bool first = emissions_.empty() || emissions_.back().sequence != row.sequence;
      sample(row.sequence, logits, first ? guesses_at(at) : 0);
    }
  }

  /// Drafted tokens of which the step can tell whether they are right: that behind row `at` and those that it ran.
  std::uint32_t guesses_at(std::size_t at) const noexcept {
    const std::size_t drafted = sequences_.drafted(rows_[at].sequence).size();
    std::uint32_t guesses = 0;
    do {
      if (guesses == drafted) break;
      ++guesses;
    } while (++at < rows_.size() && rows_[at].sequence == rows_[at - 1].sequence);
    return guesses;
  }

  void sample(SequenceId id, std::span<float> logits, std::uint32_t draft) {
    Continuation<Sampling>& going = continuations_[id];
    // A sampler may overwrite its logits: what is reported are the raw ones.
    if (going.options.log_probabilities) logits_.copy(logits);
    const std::span<const Token> drafted = sequences_.drafted(id);
    const Token token =
        going.draw(logits.first(vocabulary_), sequences_.history(id), drafted, sequences_.draft_distribution(id));
    Emission emission{id, token, FinishReason::none, 0, !drafted.empty() && drafted.front() == token, draft};
    sequences_.accept(id, token);
    ++going.generated;
    if (going.options.log_probabilities) emission.log_probability = log_probability(logits_.copied(), token);
    emission.finish = going.finish_after(token);
    if (emission.finish == FinishReason::none && sequences_.history(id).size() > cache().capacity()) {
      emission.finish = FinishReason::capacity;
    }
    if (emission.finish != FinishReason::none) sequences_.stop(id);
    emissions_.push_back(emission);
  }

  void finish(SequenceId id, FinishReason reason) {
    sequences_.stop(id);
    emissions_.push_back({id, -1, reason, 0});
  }

  std::size_t vocabulary_;
  Sequences<Cache> sequences_;
  std::vector<Continuation<Sampling>> continuations_;  // [sequences]
  Decoder<Kernel, Cache> decoder_;
  Scheduler scheduler_;
  StepPlan plan_;
  detail::LogitsRows logits_;  // one for each sequence at any time
  std::vector<Row> rows_;      // of the step
  std::vector<Emission> emissions_;
};

}  // namespace tulle
