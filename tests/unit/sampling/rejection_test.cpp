// SPDX-License-Identifier: Apache-2.0
#include <tulle/sampling/rejection.hpp>

#include <cstdint>
#include <vector>

#include <catch2/catch_all.hpp>

#include <tulle/sampling/multinomial.hpp>

using namespace tulle;

namespace {

using Floats = std::vector<float>;

SamplingContext context_of(std::uint64_t seed) {
  SamplingContext context;
  context.seed = seed;
  context.position = 3;
  return context;
}

struct Drawn {
  double chi_square = 0;
  double accepted = 0;  // share
};

/// Draws from `drawn_from`, verifies as if that were `q`, and compares what comes out with `p`.
Drawn draws(const Floats& p, const Floats& q, const Floats& drawn_from, std::uint64_t count = 20000) {
  std::vector<double> found(p.size());
  Drawn result;
  for (std::uint64_t seed = 0; seed < count; ++seed) {
    const SamplingContext context = context_of(seed);
    const Token drafted = draw(drawn_from, 1, uniform(seed, 0, context.position));
    const Token token = accept_or_redraw(p, q, drafted, context);
    ++found[static_cast<std::size_t>(token)];
    result.accepted += token == drafted ? 1 : 0;
  }
  result.accepted /= static_cast<double>(count);
  for (std::size_t id = 0; id < p.size(); ++id) {
    const double expected = static_cast<double>(p[id]) * static_cast<double>(count);
    if (p[id] == 0) {
      CHECK(found[id] == 0);
    } else {
      result.chi_square += (found[id] - expected) * (found[id] - expected) / expected;
    }
  }
  return result;
}

const Floats p{0.5f, 0.3f, 0.15f, 0.05f, 0}, q{0.3f, 0.35f, 0.05f, 0.2f, 0.1f};

// 4 degrees of freedom: above 23.5 with probability 1e-4.
constexpr double limit = 23.5;

}  // namespace

TEST_CASE("rejection sampling gives the target's distribution with any draft", "[sampling][rejection]") {
  const Drawn drawn = draws(p, q, q);
  CHECK(drawn.chi_square < limit);
  CHECK(drawn.accepted == Catch::Approx(0.3 + 0.3 + 0.05 + 0.05).margin(0.015));  // the sum of min(p, q)
  CHECK(draws(p, Floats{0, 0, 0, 0, 1}, Floats{0, 0, 0, 0, 1}).chi_square < limit);
  CHECK(draws(p, Floats{0.6f, 0.4f}, Floats{0.6f, 0.4f, 0, 0, 0}).chi_square < limit);  // ids it does not have
  const Drawn same = draws(p, p, p);
  CHECK(same.chi_square < limit);
  CHECK(same.accepted == 1);
}

TEST_CASE("a certain draft is accepted with its own probability", "[sampling][rejection]") {
  const Drawn drawn = draws(p, {}, Floats{0, 1, 0, 0, 0});
  CHECK(drawn.chi_square < limit);
  CHECK(drawn.accepted == Catch::Approx(0.3).margin(0.015));
}

TEST_CASE("a draft that was drawn from something else gives another distribution", "[sampling][rejection]") {
  CHECK(draws(p, q, Floats{0.2f, 0.2f, 0.2f, 0.2f, 0.2f}).chi_square > 10 * limit);
}

TEST_CASE("a greedy target accepts its own token alone", "[sampling][rejection]") {
  for (const Token drafted : {0, 1, 2}) {
    Floats one_hot{0, 1, 0};
    CHECK(accept_or_redraw(one_hot, Floats{0.4f, 0.3f, 0.3f}, drafted, context_of(7)) == 1);
    one_hot = {0, 1, 0};
    CHECK(accept_or_redraw(one_hot, {}, drafted, context_of(7)) == 1);
  }
}

TEST_CASE("a token outside the vocabulary is never accepted", "[sampling][rejection]") {
  Floats row{0.5f, 0.5f};
  CHECK(accept_or_redraw(row, {}, 5, context_of(1)) < 2);
}
