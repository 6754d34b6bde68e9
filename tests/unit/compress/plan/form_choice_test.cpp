// SPDX-License-Identifier: Apache-2.0
#include <tulle/compress/plan/form_choice.hpp>

#include <algorithm>
#include <limits>
#include <vector>

#include <catch2/catch_all.hpp>

using namespace tulle;

namespace {

using Items = std::vector<std::vector<FormOption>>;

/// 5 items of 4 options each: losses that fall with the cost, no two alike.
Items some_items() {
  Items items(5);
  for (std::size_t item = 0; item < items.size(); ++item) {
    for (std::size_t i = 0; i < 4; ++i) {
      const double cost = static_cast<double>((i + 1) * (item + 2) + (item * 7 + i * 3) % 5);
      const double loss = static_cast<double>((item * 37 + i * 11) % 13 + 1) / (cost * cost);
      items[item].push_back({loss, cost, {i}});
    }
    items[item] = pareto_front(items[item]);
  }
  return items;
}

/// Calls visit(loss, cost) for every combination.
template <class Visit>
void for_all(const Items& items, Visit&& visit, std::size_t item = 0, double loss = 0, double cost = 0) {
  if (item == items.size()) return visit(loss, cost);
  for (const FormOption& option : items[item]) for_all(items, visit, item + 1, loss + option.loss, cost + option.cost);
}

}  // namespace

TEST_CASE("a front has no option that another one beats", "[compress][plan]") {
  const auto front = pareto_front({{3, 1, {}}, {1, 4, {}}, {3, 2, {}}, {2, 4, {}}, {1, 5, {}}, {2.5, 3, {}}});
  REQUIRE(front.size() == 3);
  CHECK(front[0].cost == 4);
  CHECK(front[1].loss == 2.5);
  CHECK(front[2].cost == 1);
}

TEST_CASE("the choice at a multiplier is the best of all combinations", "[compress][plan]") {
  const Items items = some_items();
  for (const double multiplier : {0.0, 1e-4, 1e-3, 0.01, 0.1, 1.0}) {
    double least = std::numeric_limits<double>::infinity();
    for_all(items, [&](double loss, double cost) { least = std::min(least, loss + multiplier * cost); });
    const FormChoice choice = choose_at(items, multiplier);
    CHECK(choice.loss + multiplier * choice.cost == Catch::Approx(least));
    // So nothing that costs no more has a smaller loss.
    if (multiplier == 0) continue;
    double smallest = std::numeric_limits<double>::infinity();
    for_all(items, [&](double loss, double cost) {
      if (cost <= choice.cost) smallest = std::min(smallest, loss);
    });
    CHECK(choice.loss == Catch::Approx(smallest));
  }
}

TEST_CASE("every budget from the least cost on is met, and nearly used up", "[compress][plan]") {
  const Items items = some_items();
  const double least = least_cost(items), most = choose_at(items, 0).cost;
  for (double budget = least; budget <= most + 1; budget += 0.5) {
    double best = std::numeric_limits<double>::infinity();
    for_all(items, [&](double loss, double cost) {
      if (cost <= budget) best = std::min(best, loss);
    });
    const FormChoice choice = choose_forms(items, budget);
    CAPTURE(budget);
    CHECK(choice.cost <= budget);
    CHECK(choice.loss >= best * (1 - 1e-12));
    CHECK(choice.loss <= choose_at(items, choice.multiplier).loss + choice.multiplier * budget);
    CHECK(choice.options == choose_forms(items, budget).options);
  }
  CHECK(choose_forms(items, most).loss == choose_at(items, 0).loss);
}
