// SPDX-License-Identifier: Apache-2.0
/// \file The sequences of a generator: histories of tokens, and the cache that holds a prefix of each (L4).
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include <tulle/cache/cache_layout.hpp>
#include <tulle/core/error.hpp>
#include <tulle/core/types.hpp>
#include <tulle/generate/sequence.hpp>

namespace tulle {

/// A sequence is its history of tokens. The cache holds a prefix of the history; the rest is pending. So a session
/// continues by appending tokens, is rolled back by truncating, shares its prompt by forking, and is preempted by
/// evicting: the whole history is pending then and is run again. Drafted tokens are guesses that follow the history.
///
/// A sequence that runs is only changed by the generator. Errors: state for an id that is not open.
/// Threads: one at a time.
template <CacheLayout Cache>
class Sequences {
 public:
  /// Tokens are ids below `vocabulary`. Errors: memory.
  Sequences(Cache cache, std::size_t vocabulary)
      : cache_(std::move(cache)), vocabulary_(vocabulary), slots_(cache_.sequences()) {
    running_.reserve(slots_.size());
  }

  const Cache& cache() const noexcept { return cache_; }
  /// For the generator, which puts rows into it.
  Cache& cache() noexcept { return cache_; }
  std::size_t size() const noexcept { return slots_.size(); }  ///< open or not
  std::size_t vocabulary() const noexcept { return vocabulary_; }
  std::size_t free() const noexcept {
    return static_cast<std::size_t>(
        std::count_if(slots_.begin(), slots_.end(), [](const Slot& each) { return !each.open; }));
  }

  /// A new, empty sequence. Errors: capacity when all are open.
  SequenceId open() {
    for (SequenceId id = 0; id < slots_.size(); ++id) {
      if (slots_[id].open) continue;
      slots_[id].open = true;
      return id;
    }
    fail(ErrorCode::capacity, "all ", slots_.size(), " sequences of the cache are in use");
  }

  /// Errors: invalid_argument for tokens outside the vocabulary, capacity when a history of `before` tokens and these
  /// is longer than the cache can ever hold.
  void check(std::span<const Token> tokens, std::size_t before = 0) const {
    if (const Token* token = first_outside(tokens, vocabulary_)) {
      fail(ErrorCode::invalid_argument, "token ", *token, " is outside the model's vocabulary of ", vocabulary_);
    }
    const std::size_t length = before + tokens.size();
    if (length > cache_.capacity()) {
      fail(ErrorCode::capacity, "the prompt has ", length, " tokens and the sequence length is ", cache_.capacity(),
           "; shorten the prompt or ask for a larger sequence length");
    }
  }

  /// Errors: those of `check`, state when it is running.
  void append(SequenceId id, std::span<const Token> tokens) {
    Slot& slot = resting(id);
    check(tokens, slot.history.size());
    slot.history.insert(slot.history.end(), tokens.begin(), tokens.end());
    slot.draft.clear();
  }

  /// Guesses of the tokens that follow the history, in place of earlier ones. The next steps run as many of them as
  /// there is room for beside the pending tokens and keep those that the sampler draws as well: the text is the same
  /// with any draft. `distributions` [tokens, any number of ids], or none where the guesses were certain: what each
  /// token was drawn from, for `Verification::rejection`. Errors: invalid_argument for tokens outside the vocabulary.
  void draft(SequenceId id, std::span<const Token> tokens, std::span<const float> distributions = {}) {
    Slot& slot = opened(id);
    check(tokens);
    slot.draft.tokens.assign(tokens.begin(), tokens.end());
    slot.draft.distributions.assign(distributions.begin(), distributions.end());
    slot.draft.accepted = 0;
  }

  /// Forgets all but the first `length` tokens. Where the cache no longer holds what was before (a window that moved
  /// on), all of them are pending. Errors: state when it is running.
  void truncate(SequenceId id, std::size_t length) {
    Slot& slot = resting(id);
    if (length >= slot.history.size()) return;
    roll_back(id, length);
    slot.history.resize(length);
    slot.draft.clear();
  }

  /// Makes the open sequence `to` a copy of `from`; the cache shares its rows where the layout can.
  /// Errors: capacity when the cache has no room, state when `to` is running.
  void fork(SequenceId from, SequenceId to) {
    const Slot& source = opened(from);
    Slot& copy = resting(to);
    std::vector<Token> history = source.history;
    if (!cache_.fork(from, to)) fail(ErrorCode::capacity, "the cache has no room for another sequence");
    copy.history = std::move(history);
    copy.draft.clear();
    copy.adopted = source.adopted;
  }

  /// Ends a sequence, running or not. One that is not open is left alone.
  void release(SequenceId id) noexcept {
    if (id >= slots_.size() || !slots_[id].open) return;
    stop(id);
    cache_.release(id);
    slots_[id] = Slot();
  }

  /// Gives the rows of a sequence back to the cache: its whole history is pending. A running one waits until another
  /// one ends.
  void evict(SequenceId id) {
    Slot& slot = opened(id);
    cache_.release(id);
    slot.adopted = 0;
    slot.waits = slot.running;
    if (slot.running) ++preemptions_;
  }
  /// How often a running sequence was evicted.
  std::size_t preemptions() const noexcept { return preemptions_; }

  /// Lets the cache take what other sequences have published of the history of a running sequence that holds nothing,
  /// up to the first row whose logits are wanted. Errors: memory.
  void adopt(SequenceId id) {
    if constexpr (PrefixSharing<Cache>) {
      Slot& slot = slots_[id];
      if (cache_.length(id) != 0) return;
      const std::size_t run = std::min<std::size_t>(slot.history.size() - 1, slot.logits_from);
      slot.adopted = cache_.adopt(id, std::span<const Token>(slot.history).first(run + 1));
    }
  }
  /// How many of the positions in the cache were adopted.
  std::size_t adopted(SequenceId id) const { return opened(id).adopted; }
  /// Lets other sequences take what the cache holds of this one.
  void publish(SequenceId id) noexcept {
    if constexpr (PrefixSharing<Cache>) cache_.publish(id, slots_[id].history);
  }

  /// Makes the cache hold at most `length` positions of a sequence; none where its window has moved on.
  void roll_back(SequenceId id, std::size_t length) noexcept {
    if (cache_.length(id) <= length) return;
    if (!cache_.truncate(id, static_cast<Position>(length))) cache_.release(id);
    slots_[id].adopted = std::min(slots_[id].adopted, cache_.length(id));
  }

  std::span<const Token> history(SequenceId id) const { return opened(id).history; }
  std::span<const Token> pending(SequenceId id) const {
    const std::vector<Token>& history = opened(id).history;
    return std::span(history).subspan(std::min<std::size_t>(cache_.length(id), history.size()));
  }
  /// Those that follow the history.
  std::span<const Token> drafted(SequenceId id) const {
    const Guesses& draft = opened(id).draft;
    return std::span(draft.tokens).subspan(draft.accepted);
  }
  /// What the first of them was drawn from; empty where it was certain.
  std::span<const float> draft_distribution(SequenceId id) const {
    const Guesses& draft = opened(id).draft;
    if (draft.accepted == draft.tokens.size()) return {};
    const std::size_t ids = draft.distributions.size() / draft.tokens.size();
    return std::span(draft.distributions).subspan(draft.accepted * ids, ids);
  }

  /// The tokens of a sequence and what the cache holds of them.
  void save(SequenceId id, std::vector<Token>& tokens, std::vector<std::byte>& state) const {
    tokens = opened(id).history;
    cache_.save(id, state);
  }

  /// A new sequence from what `save` gave. Errors: malformed when it does not fit this cache, capacity.
  SequenceId restore(std::span<const Token> tokens, std::span<const std::byte> state) {
    const SequenceId id = open();
    try {
      if (const Token* token = first_outside(tokens, vocabulary_)) {
        fail(ErrorCode::malformed, "the saved session holds token ", *token, ", which this model does not have");
      }
      const std::size_t room = cache_.room(id);
      if (!cache_.restore(id, state) || cache_.length(id) > tokens.size()) {
        const std::size_t capacity = cache_.capacity();
        const bool has_end = capacity != std::numeric_limits<Position>::max();  // a window has none
        const bool is_full = has_end && tokens.size() > room + 1 && tokens.size() <= capacity + 1;
        if (is_full) {  // of the last token the cache may hold nothing
          fail(ErrorCode::capacity, "the saved session has ", tokens.size(), " tokens, and the cache has room for ",
               room, " now");
        }
        fail(ErrorCode::malformed, "the saved session does not fit this model and cache");
      }
      slots_[id].history.assign(tokens.begin(), tokens.end());
    } catch (...) {
      release(id);
      throw;
    }
    return id;
  }

  /// The sequences that run, in order of arrival.
  std::span<const SequenceId> running() const noexcept { return running_; }
  bool is_running(SequenceId id) const noexcept { return id < slots_.size() && slots_[id].running; }
  /// Was evicted while it ran, and no sequence has ended since.
  bool waits(SequenceId id) const { return opened(id).waits; }
  /// Rows from this position on are run for their logits, too.
  Position logits_from(SequenceId id) const { return opened(id).logits_from; }

  /// Lets a sequence run after the others; at least its last token is pending then. Reserves room for `more` tokens.
  /// Errors: invalid_argument without tokens, capacity when they are more than the cache can ever hold, state when it
  /// is running already.
  void run(SequenceId id, std::size_t more) {
    Slot& slot = resting(id);
    if (slot.history.empty()) fail(ErrorCode::invalid_argument, "the prompt is empty; give at least one token");
    check({}, slot.history.size());
    constexpr std::size_t max_reserved = 65536;  // a text without end grows its history as it goes
    slot.history.reserve(
        std::min<std::size_t>(slot.history.size() + std::min(more, max_reserved), std::size_t{cache_.capacity()} + 1));
    roll_back(id, slot.history.size() - 1);
    slot.logits_from = std::numeric_limits<Position>::max();
    slot.running = true;
    running_.push_back(id);
  }

  /// A sequence that runs stops where it is; its history stays.
  void stop(SequenceId id) noexcept {
    if (!is_running(id)) return;
    slots_[id].running = false;
    slots_[id].draft.clear();
    std::erase(running_, id);
    for (Slot& each : slots_) each.waits = false;
  }

  /// For the generator: the token that was drawn, which is pending now. The draft goes on behind it, or is forgotten
  /// where it is another one.
  void accept(SequenceId id, Token token) {
    Guesses& draft = slots_[id].draft;
    slots_[id].history.push_back(token);
    if (draft.accepted < draft.tokens.size() && draft.tokens[draft.accepted] == token) {
      ++draft.accepted;
    } else {
      draft.clear();
    }
  }
  void set_logits_from(SequenceId id, Position position) noexcept { slots_[id].logits_from = position; }

 private:
  struct Guesses {
    std::vector<Token> tokens;
    std::vector<float> distributions;
    std::size_t accepted = 0;  // tokens that are in the history by now

    void clear() noexcept {
      tokens.clear();
      distributions.clear();
      accepted = 0;
    }
  };
  struct Slot {
    bool open = false, running = false, waits = false;
    Position logits_from = 0, adopted = 0;
    std::vector<Token> history;
    Guesses draft;
  };

  const Slot& opened(SequenceId id) const {
    if (id >= slots_.size() || !slots_[id].open) fail(ErrorCode::state, "there is no sequence ", id);
    return slots_[id];
  }
  Slot& opened(SequenceId id) { return const_cast<Slot&>(std::as_const(*this).opened(id)); }
  Slot& resting(SequenceId id) {
    Slot& slot = opened(id);
    if (slot.running) fail(ErrorCode::state, "sequence ", id, " is still generating");
    return slot;
  }

  Cache cache_;
  std::size_t vocabulary_;
  std::vector<Slot> slots_;
  std::vector<SequenceId> running_;
  std::size_t preemptions_ = 0;
};

}  // namespace tulle
