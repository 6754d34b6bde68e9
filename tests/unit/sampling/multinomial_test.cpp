// SPDX-License-Identifier: Apache-2.0
#include <tulle/sampling/multinomial.hpp>

#include <cmath>
#include <limits>
#include <vector>

#include <catch2/catch_all.hpp>

using namespace tulle;

TEST_CASE("draw inverts the cumulative sum in order of ids", "[sampling][multinomial]") {
  const std::vector<float> weights{1, 0, 2, 1, 0};
  CHECK(draw(weights, 4, 0.0) == 0);
  CHECK(draw(weights, 4, 0.2499) == 0);
  CHECK(draw(weights, 4, 0.25) == 2);
  CHECK(draw(weights, 4, 0.7499) == 2);
  CHECK(draw(weights, 4, 0.75) == 3);
  CHECK(draw(weights, 4, std::nextafter(1.0, 0.0)) == 3);
  CHECK(draw(std::vector<float>{0, 1}, 1, 0.0) == 1);
}

TEST_CASE("the distribution is the softmax", "[sampling][multinomial]") {
  std::vector<float> logits{1, 2, 3, -std::numeric_limits<float>::infinity()};
  Multinomial().distribution(logits, {});
  const double total = std::exp(1.0) + std::exp(2.0) + std::exp(3.0);
  for (int id = 0; id < 3; ++id) CHECK(logits[id] == Catch::Approx(std::exp(id + 1.0) / total).epsilon(1e-6));
  CHECK(logits[3] == 0);
}

TEST_CASE("very large and very small logits do not overflow", "[sampling][multinomial]") {
  std::vector<float> logits{3e38f, 3e38f, -3e38f};
  Multinomial().distribution(logits, {});
  CHECK(logits == std::vector<float>{0.5f, 0.5f, 0});
}

TEST_CASE("the draw is the one of uniform(seed, sequence, position)", "[sampling][multinomial]") {
  SamplingContext context;
  context.seed = 11;
  context.sequence = 5;
  for (context.position = 0; context.position < 200; ++context.position) {
    std::vector<float> logits(10, 0.5f);
    const double expected = std::floor(uniform(11, 5, context.position) * 10);
    REQUIRE(Multinomial().sample(logits, context) == static_cast<Token>(expected));
  }
}
