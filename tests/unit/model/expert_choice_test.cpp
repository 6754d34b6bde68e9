// SPDX-License-Identifier: Apache-2.0
#include <tulle/model/expert_choice.hpp>

#include <catch2/catch_all.hpp>
#include <cmath>
#include <cstddef>
#include <vector>

using namespace tulle;

namespace {

/// The score of expert e is x[e] of a row.
RouterWeights identity(std::size_t size) {
  RouterWeights router;
  router.weight.assign(size * size, 0.0f);
  for (std::size_t i = 0; i < size; ++i) router.weight[i * size + i] = 1;
  return router;
}

}  // namespace

TEST_CASE("a row goes to the experts of the largest scores, of equal ones to the first", "[model][expert_choice]") {
  ExpertChoice choice(3, 5, 2);
  const ExpertSpec spec{.count = 5, .per_row = 2};
  const RouterWeights router = identity(5);
  const std::vector<std::vector<float>> rows{{0, 3, 1, 3, 2}, {5, 0, 0, 0, 0}, {0, 0, 0, 2, 1}};
  for (std::size_t row = 0; row < rows.size(); ++row) choice.choose(spec, router, rows[row].data(), 5, row);
  choice.group(rows.size(), spec);
  const auto numbers = [&](std::size_t expert) {
    std::vector<std::size_t> found;
    for (const ChosenRow& chosen : choice.rows_of(expert)) found.push_back(chosen.row);
    return found;
  };
  CHECK(numbers(0) == std::vector<std::size_t>{1});
  CHECK(numbers(1) == std::vector<std::size_t>{0, 1});
  CHECK(numbers(2).empty());
  CHECK(numbers(3) == std::vector<std::size_t>{0, 2});
  CHECK(numbers(4) == std::vector<std::size_t>{2});
  CHECK(choice.rows_of(1)[0].weight == Catch::Approx(0.5));
  CHECK(choice.rows_of(4)[0].weight == Catch::Approx(std::exp(1.0) / (std::exp(1.0) + std::exp(2.0))));
}

TEST_CASE("weights are shares of all experts where they are not normalized", "[model][expert_choice]") {
  ExpertChoice choice(1, 3, 1);
  const ExpertSpec spec{.count = 3, .per_row = 1, .normalized = false};
  RouterWeights router = identity(3);
  router.bias = {0, 0, 1};
  const std::vector<float> x{0, 1, 1};
  choice.choose(spec, router, x.data(), 3, 0);
  choice.group(1, spec);
  REQUIRE(choice.rows_of(2).size() == 1);
  CHECK(choice.rows_of(2)[0].weight == Catch::Approx(std::exp(2.0) / (1 + std::exp(1.0) + std::exp(2.0))));
  CHECK(choice.all_rows(1)[0].weight == 1.0f);
}

TEST_CASE("scores that are no numbers choose experts, too", "[model][expert_choice]") {
  ExpertChoice choice(1, 4, 2);
  const ExpertSpec spec{.count = 4, .per_row = 2};
  const std::vector<float> x{std::nanf(""), 1, std::nanf(""), std::nanf("")};
  choice.choose(spec, identity(4), x.data(), 4, 0);
  choice.group(1, spec);
  std::size_t chosen = 0;
  for (std::size_t expert = 0; expert < 4; ++expert) chosen += choice.rows_of(expert).size();
  CHECK(chosen == 2);
}
