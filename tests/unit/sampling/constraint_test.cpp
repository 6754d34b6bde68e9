// SPDX-License-Identifier: Apache-2.0
#include <tulle/sampling/constraint.hpp>

#include <catch2/catch_all.hpp>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <tulle/sampling/sampler_chain.hpp>

namespace {

using tulle::Token;

/// 0, 1, 2, ... up to `last`, then eos.
class CountingState final : public tulle::ConstraintState {
 public:
  CountingState(Token last, Token eos) : last_(last), eos_(eos) {}
  std::unique_ptr<tulle::ConstraintState> clone() const override { return std::make_unique<CountingState>(*this); }
  bool accept(Token token) noexcept override {
    if (token != next()) return false;
    ++count_;
    return true;
  }
  void rollback(std::size_t tokens) noexcept override { count_ -= static_cast<Token>(tokens); }
  std::span<const std::uint32_t> allowed() noexcept override {
    bits_ = {0, 0};
    bits_[static_cast<std::size_t>(next()) / 32] |= std::uint32_t{1} << (next() % 32);
    return bits_;
  }

 private:
  Token next() const noexcept { return count_ <= last_ ? count_ : eos_; }
  Token last_, eos_, count_ = 0;
  std::vector<std::uint32_t> bits_;
};

class Counting final : public tulle::Constraint {
 public:
  std::unique_ptr<tulle::ConstraintState> begin(std::span<const Token> eos) const override {
    return std::make_unique<CountingState>(35, eos.front());
  }
};

Token drawn(const tulle::SamplerChain& chain, const std::vector<Token>& history) {
  std::vector<float> logits(70, 0.0f);
  logits[50] = 9;
  tulle::SamplingContext context;
  context.history = history;
  context.prompt_length = 1;
  return chain.sample(logits, context);
}

}  // namespace

TEST_CASE("A constraint decides what is sampled, whatever the calls before were") {
  tulle::SamplingOptions options;
  options.constraint = std::make_shared<Counting>();
  options.eos = {40};
  const tulle::SamplerChain chain(options);
  std::vector<Token> history{7};
  for (Token expected = 0; expected <= 35; ++expected) {
    REQUIRE(drawn(chain, history) == expected);
    history.push_back(expected);
  }
  CHECK(drawn(chain, history) == 40);
  const tulle::SamplerChain copy = chain;  // with its state
  history.resize(3);
  CHECK(drawn(chain, history) == 2);
  CHECK(drawn(copy, history) == 2);
  CHECK(drawn(chain, {7, 0}) == 1);
}

TEST_CASE("A constraint goes with no other bans of tokens") {
  tulle::SamplingOptions options;
  options.constraint = std::make_shared<Counting>();
  options.min_new_tokens = 2;
  CHECK_THROWS_AS(options.validate(), tulle::Error);
}
