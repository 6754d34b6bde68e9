// SPDX-License-Identifier: Apache-2.0
/// \file Token ids in, token ids out: a decoder, a cache and a sampler put together (L4).
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <tulle/cache/cache_layout.hpp>
#include <tulle/core/thread_pool.hpp>
#include <tulle/generate/sequence.hpp>
#include <tulle/kernel/linear_kernel.hpp>
#include <tulle/model/decoder.hpp>
#include <tulle/sampling/sampler.hpp>

namespace tulle {

/// Generates for several sequences at once. Every `step` is one forward pass over a mixture of prefill chunks and single
/// decode rows; what a sequence produces does not depend on its neighbours or on the chunk size.
/// A sequence is its history of tokens; the cache holds a prefix of it and the rest is pending. So a session continues by
/// appending tokens, is rolled back by truncating, and its prompt is shared by forking.
///
/// Threads: one thread at a time; `cancel` flags may be set from any thread.
template <LinearKernel Kernel, CacheLayout Cache, Sampler Sampling>
class Generator {
 public:
  /// At most `chunk` prompt tokens of a sequence go through the model in one step. `vocabulary` limits what is sampled to
  /// the ids below it (rows beyond the tokenizer are padding); 0 means all of the model's.
  /// `architecture`, `weights` and `pool` must outlive the generator. Errors: memory, invalid_argument.
  [[gnu::noinline]] Generator(const Architecture& architecture, const ModelWeights<Kernel>& weights, ThreadPool& pool,
                              Cache cache, std::size_t chunk = 256, std::size_t vocabulary = 0)
      : cache_(std::move(cache)),
        chunk_(chunk),
        vocabulary_(vocabulary == 0 ? architecture.vocabulary : std::min(vocabulary, architecture.vocabulary)),
        sequences_(cache_.sequences()),
        decoder_(architecture, weights, pool, std::max(chunk, cache_.sequences())),
        logits_(cache_.sequences() * architecture.vocabulary) {
    if (chunk == 0) fail(ErrorCode::invalid_argument, "the prefill chunk must be at least 1 token");
    rows_.reserve(decoder_.max_rows());
    for (Sequence& sequence : sequences_) sequence.history.reserve(256);
  }

  const Architecture& architecture() const noexcept { return decoder_.architecture(); }
  const Cache& cache() const noexcept { return cache_; }
  std::size_t chunk() const noexcept { return chunk_; }
  std::size_t memory_bytes() const noexcept {
    return cache_.size_bytes() + decoder_.workspace_bytes() + logits_.size_bytes();
  }

  /// Starts a sequence in a free slot. Errors: capacity when there is no slot or the tokens do not fit, invalid_argument for
  /// no tokens or tokens outside the vocabulary.
  SequenceId start(std::span<const Token> prompt, Sampling sampling, SequenceOptions options) {
    const SequenceId id = free_slot();
    Sequence& sequence = sequences_[id];
    sequence.used = true;
    try {
      resume(id, prompt, std::move(sampling), std::move(options));
    } catch (...) {
      remove(id);
      throw;
    }
    return id;
  }

  /// Appends tokens to a sequence that is not running and lets it generate again. Without tokens it goes on after its last
  /// one. Errors: as `start`, state when it is running.
  [[gnu::noinline]] void resume(SequenceId id, std::span<const Token> tokens, Sampling sampling,
                                SequenceOptions options) {
    Sequence& sequence = used(id);
    if (sequence.running) fail(ErrorCode::state, "sequence ", id, " is still generating");
    if (sequence.history.empty() && tokens.empty()) {
      fail(ErrorCode::invalid_argument, "the prompt is empty; give at least one token");
    }
    if (const Token* token = first_outside(tokens, architecture().vocabulary)) {
      fail(ErrorCode::invalid_argument, "token ", *token, " is outside the model's vocabulary of ",
           architecture().vocabulary);
    }
    const std::size_t length = sequence.history.size() + tokens.size();
    if (length > cache_.capacity()) {
      fail(ErrorCode::capacity, "the prompt has ", length, " tokens and the sequence length is ", cache_.capacity(),
           "; shorten the prompt or ask for a larger sequence length");
    }
    constexpr std::size_t max_ahead = 65536;  // a text without end grows its history as it goes
    sequence.history.reserve(std::min<std::size_t>(length + std::min(options.max_new_tokens, max_ahead),
                                                   std::size_t{cache_.capacity()} + 1));
    sequence.history.insert(sequence.history.end(), tokens.begin(), tokens.end());
    sequence.prompt_length = sequence.history.size();
    // The last token's logits are needed, so it has to go through the model (again).
    if (cache_.length(id) >= length) roll_back(id, length - 1);
    if (options.prompt_logits && logits_.size() < decoder_.max_rows() * architecture().vocabulary) {
      logits_ = AlignedBuffer<float>(decoder_.max_rows() * architecture().vocabulary);
    }
    sequence.sampling.emplace(std::move(sampling));
    sequence.options = std::move(options);
    sequence.generated = 0;
    sequence.running = true;
  }

  /// A copy of a sequence in a free slot, sharing its cached prefix where the layout can. The copy is not running.
  SequenceId fork(SequenceId from) {
    const Sequence& source = used(from);
    const SequenceId id = free_slot();
    if (!cache_.fork(from, id)) fail(ErrorCode::capacity, "the cache has no room for another sequence");
    sequences_[id].used = true;
    sequences_[id].history = source.history;
    sequences_[id].prompt_length = source.prompt_length;
    return id;
  }

  /// Forgets all but the first `length` tokens of a sequence that is not running. Where the cache no longer holds what was
  /// before (a window that moved on), the text goes through the model anew when it is resumed.
  /// Errors: state when it is running.
  void truncate(SequenceId id, std::size_t length) {
    Sequence& sequence = used(id);
    if (sequence.running) fail(ErrorCode::state, "sequence ", id, " is still generating");
    if (length >= sequence.history.size()) return;
    if (cache_.length(id) > length) roll_back(id, length);
    sequence.history.resize(length);
  }

  /// Stops a sequence where it is; its history stays. One that does not exist is left alone.
  void stop(SequenceId id) noexcept {
    if (id < sequences_.size()) sequences_[id].running = false;
  }

  /// Frees the slot of a sequence. One that does not exist is left alone.
  void remove(SequenceId id) noexcept {
    if (id >= sequences_.size()) return;
    cache_.release(id);
    sequences_[id] = Sequence();
  }

  std::span<const Token> history(SequenceId id) const { return const_cast<Generator*>(this)->used(id).history; }

  /// The tokens of a sequence and what the cache holds of them.
  void save(SequenceId id, std::vector<Token>& tokens, std::vector<std::byte>& state) const {
    tokens.assign(history(id).begin(), history(id).end());
    cache_.save(id, state);
  }

  /// A sequence from what `save` gave. Errors: malformed when it does not fit this cache.
  [[gnu::noinline]] SequenceId restore(std::span<const Token> tokens, std::span<const std::byte> state) {
    const SequenceId id = free_slot();
    if (const Token* token = first_outside(tokens, architecture().vocabulary)) {
      fail(ErrorCode::malformed, "the saved session holds token ", *token, ", which this model does not have");
    }
    if (!cache_.restore(id, state) || cache_.length(id) > tokens.size()) {
      cache_.release(id);
      fail(ErrorCode::malformed, "the saved session does not fit this model and cache");
    }
    sequences_[id].used = true;
    sequences_[id].history.assign(tokens.begin(), tokens.end());
    sequences_[id].prompt_length = tokens.size();
    return id;
  }

  /// Slots that no sequence is in.
  std::size_t free_sequences() const noexcept {
    return static_cast<std::size_t>(
        std::count_if(sequences_.begin(), sequences_.end(), [](const Sequence& each) { return !each.used; }));
  }

  /// Whether any sequence still has something to do.
  bool running() const noexcept {
    return std::any_of(sequences_.begin(), sequences_.end(), [](const Sequence& each) { return each.running; });
  }

  /// One forward pass; calls emit(const Emission&) for every new token, in order of sequence. A sequence that ends without
  /// a token (capacity, cancelled, max_new_tokens 0) is emitted with token -1. `emit` may stop sequences.
  /// Returns `running()`. Allocates and throws nothing unless `emit` or `observe` do.
  template <class Emit>
  [[gnu::noinline]] bool step(Emit&& emit, const std::atomic<bool>* cancel = nullptr,
                              const LogitsObserver& observe = {}) {
    if (cancel != nullptr && cancel->load(std::memory_order_relaxed)) return finish_all(FinishReason::cancelled, emit);
    gather(emit, static_cast<bool>(observe));
    if (rows_.empty()) return running();
    const MatrixView<float> logits(logits_.data(), logits_.size() / architecture().vocabulary,
                                   architecture().vocabulary);
    if (!decoder_.forward(rows_, cache_, logits, cancel)) {
      // Rows that did not get through every layer are worthless: forget them.
      for (std::size_t row = rows_.size(); row-- > 0;) (void)cache_.truncate(rows_[row].sequence, rows_[row].position);
      return finish_all(FinishReason::cancelled, emit);
    }
    std::size_t line = 0;
    for (const Row& row : rows_) {
      Sequence& sequence = sequences_[row.sequence];
      const bool is_last = sequence.running && row.position + 1 == sequence.history.size();
      if (!row.wants_logits) {
        if (is_last) finish(row.sequence, FinishReason::length, emit);  // a prompt that was only to be read
        continue;
      }
      const std::span<float> all = logits.row(line++);
      if (observe) observe(row.sequence, row.position, all);
      if (is_last && sequence.running) sample(row.sequence, all, emit);
    }
    return running();
  }

 private:
  struct Sequence {
    bool used = false, running = false;
    std::vector<Token> history;
    std::size_t prompt_length = 0, generated = 0;
    std::optional<Sampling> sampling;
    SequenceOptions options;
  };

  Sequence& used(SequenceId id) {
    if (id >= sequences_.size() || !sequences_[id].used) fail(ErrorCode::state, "there is no sequence ", id);
    return sequences_[id];
  }

  /// Makes the cache hold at most `length` positions; none where its window has moved on.
  void roll_back(SequenceId id, std::size_t length) noexcept {
    if (!cache_.truncate(id, static_cast<Position>(length))) cache_.release(id);
  }

  SequenceId free_slot() const {
    for (SequenceId id = 0; id < sequences_.size(); ++id) {
      if (!sequences_[id].used) return id;
    }
    fail(ErrorCode::capacity, "all ", sequences_.size(), " sequences of the cache are in use");
  }

  /// The next pending rows of every running sequence: decode rows and then, as far as there is room, prefill chunks.
  template <class Emit>
  void gather(Emit& emit, bool observed) {
    rows_.clear();
    std::size_t waiting = 0;  // sequences that still have to get a row each
    for (const Sequence& sequence : sequences_) waiting += sequence.running ? 1 : 0;
    for (SequenceId id = 0; id < sequences_.size(); ++id) {
      Sequence& sequence = sequences_[id];
      if (!sequence.running) continue;
      --waiting;
      const std::size_t begin = cache_.length(id);
      const std::size_t room =
          decoder_.max_rows() - rows_.size() - std::min(waiting, decoder_.max_rows() - rows_.size());
      const std::size_t count = std::min({sequence.history.size() - begin, chunk_, std::max<std::size_t>(room, 1)});
      if (!cache_.extend(id, static_cast<Position>(begin + count))) {
        finish(id, FinishReason::capacity, emit);
        continue;
      }
      for (std::size_t position = begin; position < begin + count; ++position) {
        const bool last = position + 1 == sequence.history.size(),
                   wanted = sequence.options.max_new_tokens > 0 || observed;
        rows_.push_back({id, static_cast<Position>(position), sequence.history[position],
                         (last && wanted) || sequence.options.prompt_logits});
      }
    }
  }

  template <class Emit>
  void sample(SequenceId id, std::span<float> logits, Emit& emit) {
    Sequence& sequence = sequences_[id];
    if (sequence.options.max_new_tokens == 0) return finish(id, FinishReason::length, emit);
    const SamplingContext context{sequence.history, sequence.prompt_length,
                                  static_cast<Position>(sequence.history.size()), sequence.options.seed,
                                  sequence.options.stream};
    const auto candidates = logits.first(vocabulary_);
    // A sampler may overwrite its logits: what is reported are the raw ones.
    if (sequence.options.log_probabilities) raw_.assign(logits.begin(), logits.end());
    const Token token = sequence.sampling->sample(candidates, context);
    sequence.history.push_back(token);
    ++sequence.generated;
    Emission emission{id, token, FinishReason::none, 0};
    if (sequence.options.log_probabilities) emission.log_probability = log_probability(raw_, token);
    const auto& eos = sequence.options.eos;
    if (!sequence.options.ignore_eos && std::find(eos.begin(), eos.end(), token) != eos.end()) {
      emission.finish = FinishReason::stop;
    } else if (sequence.generated >= sequence.options.max_new_tokens) {
      emission.finish = FinishReason::length;
    } else if (sequence.history.size() > cache_.capacity()) {
      emission.finish = FinishReason::capacity;
    }
    if (emission.finish != FinishReason::none) sequence.running = false;
    emit(static_cast<const Emission&>(emission));
  }

  template <class Emit>
  void finish(SequenceId id, FinishReason reason, Emit& emit) {
    sequences_[id].running = false;
    const Emission emission{id, -1, reason, 0};
    emit(emission);
  }

  template <class Emit>
  bool finish_all(FinishReason reason, Emit& emit) {
    for (SequenceId id = 0; id < sequences_.size(); ++id) {
      if (sequences_[id].running) finish(id, reason, emit);
    }
    return false;
  }

  Cache cache_;
  std::size_t chunk_, vocabulary_;
  std::vector<Sequence> sequences_;
  Decoder<Kernel, Cache> decoder_;
  AlignedBuffer<float> logits_;
  std::vector<float> raw_;
  std::vector<Row> rows_;
};

}  // namespace tulle
