// SPDX-License-Identifier: Apache-2.0
/// \file What every model of `Sampler` must do.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <thread>
#include <vector>

#include <catch2/catch_all.hpp>

#include <tulle/core/rng.hpp>
#include <tulle/sampling/sampler.hpp>

namespace tulle::conformance {

/// The laws of one sampler. History is {1, 2, 3}, of which 1 is prompt; a sampler under test must ban no token of its
/// own accord below id 8 after this history.
template <Sampler S>
class SamplerSuite {
 public:
  explicit SamplerSuite(const S& sampler) : sampler_(sampler) {}

  void check_all() const {
    check_distributions();
    check_frequencies();
    check_keys();
    check_bans();
    check_one_element();
    check_broken_rows();
    check_threads();
  }

 private:
  static constexpr float inf = std::numeric_limits<float>::infinity();
  static constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();
  static constexpr std::array<Token, 3> history{1, 2, 3};

  static SamplingContext context(Position position, std::uint64_t seed = 1, std::uint64_t sequence = 0) {
    return {.history = history, .prompt_length = 1, .position = position, .seed = seed, .sequence = sequence};
  }

  /// Logits between -2 and 2, so that most samplers keep several tokens.
  static std::vector<float> row(std::size_t size, std::uint64_t seed) {
    std::vector<float> logits(size);
    for (std::uint32_t id = 0; id < size; ++id) logits[id] = static_cast<float>(uniform(seed, 99, id) * 4 - 2);
    return logits;
  }

  Token sample(std::vector<float> logits, const SamplingContext& key) const { return sampler_.sample(logits, key); }

  std::vector<float> distribution(std::vector<float> logits, const SamplingContext& key = context(0)) const {
    sampler_.distribution(logits, key);
    return logits;
  }

  /// A distribution: no value below 0, the sum is 1. Returns how many tokens can be drawn.
  std::size_t check_distribution(const std::vector<float>& probabilities) const {
    double sum = 0;
    std::size_t support = 0;
    for (const float probability : probabilities) {
      REQUIRE(probability >= 0);
      sum += probability;
      support += probability > 0 ? 1 : 0;
    }
    REQUIRE(std::abs(sum - 1) < 1e-5);
    return support;
  }

  void check_distributions() const {
    INFO("the distribution sums to 1 and equal arguments give equal results");
    for (std::uint64_t seed = 0; seed < 20; ++seed) {
      const std::vector<float> logits = row(static_cast<std::size_t>(10 + 41 * seed), seed);
      const std::vector<float> probabilities = distribution(logits);
      check_distribution(probabilities);
      REQUIRE(distribution(logits, context(7, seed, 3)) == probabilities);  // the key is for the draw alone
      const Token token = sample(logits, context(4, seed));
      (void)sample(logits, context(5, seed));
      REQUIRE(sample(logits, context(4, seed)) == token);
      REQUIRE(probabilities.at(static_cast<std::size_t>(token)) > 0);
    }
    const std::vector<float> equal(16, 0.25f);
    check_distribution(distribution(equal));
    REQUIRE(sample(equal, context(3)) == sample(equal, context(3)));
  }

  /// Pearson's chi-square of `draws` draws; the bound is about four standard deviations above its mean.
  template <class Key>
  void check_chi_square(const std::vector<float>& logits, Key key) const {
    constexpr std::uint32_t draws = 8000;
    const std::vector<float> probabilities = distribution(logits);
    std::vector<double> counts(logits.size());
    for (std::uint32_t index = 0; index < draws; ++index) counts.at(sample(logits, key(index))) += 1;
    double chi_square = 0;
    double freedom = -1;
    for (std::size_t id = 0; id < counts.size(); ++id) {
      const double expected = static_cast<double>(probabilities[id]) * draws;
      if (expected == 0) REQUIRE(counts[id] == 0);
      if (expected == 0) continue;
      chi_square += (counts[id] - expected) * (counts[id] - expected) / expected;
      freedom += 1;
    }
    REQUIRE(chi_square <= freedom + 4 * std::sqrt(2 * freedom) + 1);
  }

  void check_frequencies() const {
    INFO("tokens are drawn as often as the distribution says, whichever part of the key counts up");
    const std::vector<float> logits = row(24, 5);
    check_chi_square(logits, [](std::uint32_t index) { return context(index); });
    check_chi_square(logits, [](std::uint32_t index) { return context(3, index); });
    check_chi_square(logits, [](std::uint32_t index) { return context(3, 1, index); });
  }

  void check_keys() const {
    INFO("position, seed and sequence each change the draw, unless there is nothing to draw");
    const std::vector<float> logits = row(24, 6);
    if (check_distribution(distribution(logits)) == 1) return;
    std::size_t by_position = 0;
    std::size_t by_seed = 0;
    std::size_t by_sequence = 0;
    for (Position position = 0; position < 200; ++position) {
      const Token token = sample(logits, context(position));
      by_position += token != sample(logits, context(position + 1000)) ? 1 : 0;
      by_seed += token != sample(logits, context(position, 2)) ? 1 : 0;
      by_sequence += token != sample(logits, context(position, 1, 1)) ? 1 : 0;
    }
    CHECK(by_position > 20);
    CHECK(by_seed > 20);
    CHECK(by_sequence > 20);
  }

  void check_bans() const {
    INFO("a banned token is never drawn");
    std::vector<float> logits = row(24, 8);
    for (std::size_t id = 0; id < logits.size(); id += 2) logits[id] = -inf;
    logits[5] = not_a_number;
    const std::vector<float> probabilities = distribution(logits);
    check_distribution(probabilities);
    for (std::size_t id = 0; id < logits.size(); id += 2) REQUIRE(probabilities[id] == 0);
    REQUIRE(probabilities[5] == 0);
    for (Position position = 0; position < 500; ++position) {
      const Token token = sample(logits, context(position));
      REQUIRE(token % 2 == 1);
      REQUIRE(token != 5);
    }
    std::vector<float> only(8, -inf);
    only[4] = -1000;
    for (Position position = 0; position < 20; ++position) REQUIRE(sample(only, context(position)) == 4);
    REQUIRE(distribution(only)[4] == 1);
  }

  void check_one_element() const {
    INFO("a vocabulary of one token has one answer");
    for (const float logit : {0.0f, -50.0f, inf, -inf, not_a_number}) {
      REQUIRE(sample({logit}, context(1)) == 0);
      REQUIRE(distribution({logit}) == std::vector<float>{1});
    }
  }

  void check_broken_rows() const {
    INFO("rows without a number have a defined answer, rows with infinite logits draw among those");
    const auto answers = [this](const std::vector<float>& logits, Token expected) {
      for (Position position = 0; position < 20; ++position) REQUIRE(sample(logits, context(position)) == expected);
      std::vector<float> one_hot(logits.size());
      one_hot[static_cast<std::size_t>(expected)] = 1;
      REQUIRE(distribution(logits) == one_hot);
    };
    answers(std::vector<float>(8, -inf), 0);
    answers(std::vector<float>(8, not_a_number), 0);
    answers({-inf, -inf, not_a_number, -inf, not_a_number}, 2);
    answers({not_a_number, not_a_number, 1, not_a_number}, 2);
    answers({0, 1, 2, 3, 4, inf, 6}, 5);
    answers({0, 3e38f, -3e38f, 0}, 1);
    check_distribution(distribution({inf, 1, inf, not_a_number, -inf}));
  }

  void check_threads() const {
    INFO("one object serves several threads");
    const std::vector<float> logits = row(300, 9);
    const auto draw_all = [this, &logits](std::span<Token> tokens, Position step) {
      for (Position position = 0; position < tokens.size(); position += step) {
        std::vector<float> copy = logits;
        tokens[position] = sampler_.sample(copy, context(position));
      }
    };
    std::vector<Token> alone(100);
    std::vector<Token> beside(100);
    std::vector<Token> neighbour(100);
    draw_all(alone, 1);
    std::thread other(draw_all, std::span<Token>(neighbour), 1);
    draw_all(beside, 1);
    other.join();
    REQUIRE(beside == alone);
    REQUIRE(neighbour == alone);
  }

  const S& sampler_;
};

}  // namespace tulle::conformance
