// SPDX-License-Identifier: Apache-2.0
/// \file Texts that must follow rules, such as a grammar: which tokens may come next (L2).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <tulle/core/types.hpp>
#include <tulle/sampling/logits.hpp>
#include <tulle/sampling/sampler.hpp>

namespace tulle {

/// Where one text stands in its rules. Threads: one at a time.
class ConstraintState {
 public:
  virtual ~ConstraintState() = default;

  /// Errors: memory.
  virtual std::unique_ptr<ConstraintState> clone() const = 0;
  /// Goes on by one token; false, and nothing changes, where the rules do not allow it.
  virtual bool accept(Token token) noexcept = 0;
  /// Forgets the last accepted tokens.
  virtual void rollback(std::size_t tokens) noexcept = 0;
  /// The tokens that may come next: id t is bit t % 32 of word t / 32; what lies behind the words may not come. Where the
  /// text must end, these are the eos tokens. Valid until the next call.
  virtual std::span<const std::uint32_t> allowed() noexcept = 0;
};

/// Rules, compiled for one vocabulary. Immutable, so shared between texts and threads.
class Constraint {
 public:
  virtual ~Constraint() = default;

  /// At the beginning of a text that ends with any of `eos`. Errors: memory.
  virtual std::unique_ptr<ConstraintState> begin(std::span<const Token> eos) const = 0;
};

/// Bans the tokens that a constraint does not allow after the generated ones. The state that it keeps only saves work:
/// it is brought to the generated tokens of each call, so what is banned depends on these alone, whatever was
/// rolled back, forked or drafted between two calls.
/// Threads: one at a time, which also holds for samplers with one; a copy has a state of its own.
class Constrained {
 public:
  Constrained() = default;
  /// Errors: memory.
  Constrained(const std::shared_ptr<const Constraint>& constraint, std::span<const Token> eos)
      : eos_(eos.begin(), eos.end()) {
    if (constraint) state_ = constraint->begin(eos);
  }
  Constrained(const Constrained& other)
      : state_(other.state_ ? other.state_->clone() : nullptr), accepted_(other.accepted_), eos_(other.eos_) {}
  Constrained(Constrained&&) noexcept = default;
  Constrained& operator=(Constrained&&) noexcept = default;
  Constrained& operator=(const Constrained& other) { return *this = Constrained(other); }
  ~Constrained() = default;

  bool neutral() const noexcept { return state_ == nullptr; }

  void apply(std::span<float> logits, const SamplingContext& context) const noexcept {
    if (!follow(context.generated())) {  // the text ends
      std::fill(logits.begin(), logits.end(), detail::banned);
      for (const Token token : eos_) {
        if (static_cast<std::size_t>(token) < logits.size()) logits[static_cast<std::size_t>(token)] = 0;
      }
      return;
    }
    const std::span<const std::uint32_t> allowed = state_->allowed();
    for (std::size_t first = 0, word = 0; first < logits.size(); first += 32, ++word) {
      const std::uint32_t bits = word < allowed.size() ? allowed[word] : 0;
      if (bits == ~std::uint32_t{0}) continue;
      const std::size_t count = std::min<std::size_t>(32, logits.size() - first);
      if (bits == 0) {
        std::fill_n(logits.begin() + static_cast<std::ptrdiff_t>(first), count, detail::banned);
        continue;
      }
      for (std::size_t i = 0; i < count; ++i) {
        if ((bits >> i & 1) == 0) logits[first + i] = detail::banned;
      }
    }
  }

 private:
  /// Brings the state behind these tokens; false without memory, or where the rules do not allow one of them.
  bool follow(std::span<const Token> tokens) const noexcept try {
    const auto common = static_cast<std::size_t>(
        std::mismatch(accepted_.begin(), accepted_.end(), tokens.begin(), tokens.end()).first - accepted_.begin());
    if (common < accepted_.size()) state_->rollback(accepted_.size() - common);
    accepted_.resize(common);
    for (const Token token : tokens.subspan(common)) {
      if (!state_->accept(token)) return false;  // never sampled: no logit was a number
      accepted_.push_back(token);
    }
    return true;
  } catch (...) {
    return false;
  }

  std::unique_ptr<ConstraintState> state_;
  mutable std::vector<Token> accepted_;
  std::vector<Token> eos_;
};

static_assert(LogitsTransform<Constrained>);

}  // namespace tulle
