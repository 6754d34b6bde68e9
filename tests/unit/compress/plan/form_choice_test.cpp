// SPDX-License-Identifier: Apache-2.0
#include <tulle/compress/plan/form_choice.hpp>

#include <algorithm>
#include <limits>
#include <vector>

#include <catch2/catch_all.hpp>

using namespace tulle;

namespace {

using Items = std::vector<std::vector<FormOption>>;

constexpr double unlimited = std::numeric_limits<double>::infinity();

/// 5 items of 4 options each: losses that fall with the bytes, no two alike.
Items some_items() {
  Items items(5);
  for (std::size_t item = 0; item < items.size(); ++item) {
    for (std::size_t i = 0; i < 4; ++i) {
      const double cost = static_cast<double>((i + 1) * (item + 2) + (item * 7 + i * 3) % 5);
      const double loss = static_cast<double>((item * 37 + i * 11) % 13 + 1) / (cost * cost);
      items[item].push_back({loss, {cost, 0}, {i}});
    }
    items[item] = pareto_front(items[item]);
  }
  return items;
}

/// 4 items of 8 options each, whose times are not in the order of their bytes.
Items timed_items() {
  Items items(4);
  for (std::size_t item = 0; item < items.size(); ++item) {
    for (std::size_t i = 0; i < 8; ++i) {
      const double bytes = static_cast<double>(1 + (i * 5 + item) % 8), seconds = static_cast<double>(1 + (i * 3) % 8);
      items[item].push_back(
          {static_cast<double>((item * 29 + i * 17) % 23 + 1) / (bytes * seconds), {bytes, seconds}, {i}});
    }
    items[item] = pareto_front(items[item]);
  }
  return items;
}

/// Calls visit(loss, cost) for every combination.
template <class Visit>
void for_all(const Items& items, Visit&& visit, std::size_t item = 0, double loss = 0, BytesAndTime cost = {}) {
  if (item == items.size()) return visit(loss, cost);
  for (const FormOption& option : items[item]) {
    BytesAndTime sum = cost;
    for_all(items, visit, item + 1, loss + option.loss, sum += option.cost);
  }
}

double least_loss(const Items& items, const BytesAndTime& limit) {
  double least = unlimited;
  for_all(items, [&](double loss, const BytesAndTime& cost) {
    if (cost.is_within(limit)) least = std::min(least, loss);
  });
  return least;
}

}  // namespace

TEST_CASE("a front has no option that another one beats", "[compress][plan]") {
  const auto front = pareto_front(
      {{3, {1, 0}, {}}, {1, {4, 0}, {}}, {3, {2, 0}, {}}, {2, {4, 0}, {}}, {1, {5, 0}, {}}, {2.5, {3, 0}, {}}});
  REQUIRE(front.size() == 3);
  CHECK(front[0].cost.bytes == 4);
  CHECK(front[1].loss == 2.5);
  CHECK(front[2].cost.bytes == 1);

  const auto timed =
      pareto_front({{1, {1, 3}, {7}}, {1, {2, 2}, {}}, {1, {2, 3}, {}}, {1, {1, 3}, {8}}, {0.5, {3, 3}, {}}});
  REQUIRE(timed.size() == 3);  // faster with more bytes, or of smaller loss
  CHECK(timed[0].loss == 0.5);
  CHECK(timed[1].cost == BytesAndTime{2, 2});
  CHECK(timed[2].forms == std::vector<std::size_t>{7});
}

TEST_CASE("the choice at a multiplier is the best of all combinations", "[compress][plan]") {
  const Items items = some_items();
  for (const double multiplier : {0.0, 1e-4, 1e-3, 0.01, 0.1, 1.0}) {
    double least = unlimited;
    for_all(items,
            [&](double loss, const BytesAndTime& cost) { least = std::min(least, loss + multiplier * cost.bytes); });
    const FormChoice choice = choose_at(items, {multiplier, 0});
    CHECK(choice.loss + multiplier * choice.cost.bytes == Catch::Approx(least));
    // So nothing that costs no more has a smaller loss.
    if (multiplier != 0) CHECK(choice.loss == Catch::Approx(least_loss(items, choice.cost)));
  }
}

TEST_CASE("every budget from the least cost on is met, and nearly used up", "[compress][plan]") {
  const Items items = some_items();
  const double least = least_cost(items).bytes, most = choose_at(items, {}).cost.bytes;
  for (double bytes = least; bytes <= most + 1; bytes += 0.5) {
    const BytesAndTime limit{bytes, unlimited};
    const FormChoice choice = choose_forms(items, limit);
    CAPTURE(bytes);
    CHECK(choice.cost.is_within(limit));
    CHECK(choice.loss >= least_loss(items, limit) * (1 - 1e-12));
    CHECK(choice.loss <= choose_at(items, choice.multiplier).loss + choice.multiplier.bytes * bytes);
    CHECK(choice.options == choose_forms(items, limit).options);
  }
  CHECK(choose_forms(items, {most, unlimited}).loss == choose_at(items, {}).loss);
}

TEST_CASE("bytes and time are limited at once", "[compress][plan]") {
  const Items items = timed_items();
  const BytesAndTime least = least_cost(items);
  CHECK(least_seconds(items, unlimited) == Catch::Approx(least.seconds));
  bool is_time_short = false;  // somewhere time costs loss that bytes alone would not
  for (double bytes = least.bytes; bytes <= 30; bytes += 1.5) {
    const double fastest = least_seconds(items, bytes);
    const double alone = choose_forms(items, {bytes, unlimited}).loss;
    for (double seconds = fastest; seconds <= 30; seconds += 1.5) {
      const BytesAndTime limit{bytes, seconds};
      const FormChoice choice = choose_forms(items, limit);
      CAPTURE(bytes, seconds);
      CHECK(choice.cost.is_within(limit));
      CHECK(choice.loss >= least_loss(items, limit) * (1 - 1e-12));
      is_time_short = is_time_short || choice.loss > alone * 1.1;
    }
  }
  CHECK(is_time_short);

  // Items that are alike change their options all at once, whatever the multiplier.
  const Items alike(10, pareto_front({{3, {1, 10}, {}}, {2, {2, 8}, {}}, {1, {3, 1}, {}}, {0.5, {3, 9}, {}}}));
  const double fastest = least_seconds(alike, 20);
  CHECK(fastest == 55);  // half of them with 3 bytes
  for (const double seconds : {fastest, 60.0, 75.0}) {
    const FormChoice choice = choose_forms(alike, {20, seconds});
    CHECK(choice.cost.is_within({20, seconds}));
    CHECK(choice.loss <= 20);
  }
}

TEST_CASE("the cost without a limit becomes small for a little loss", "[compress][plan]") {
  const Items items = timed_items();
  double seconds = 0, bytes = 0;  // that were saved
  for (double limited = least_cost(items).bytes; limited <= 30; limited += 1.5) {
    CAPTURE(limited);
    for (const bool is_time_open : {true, false}) {
      const BytesAndTime limit = is_time_open ? BytesAndTime{limited, unlimited} : BytesAndTime{unlimited, limited};
      const FormChoice best = choose_forms(items, limit);
      const FormChoice cheaper = choose_cheaper(items, limit, best, 1.5 * best.loss, 0.05);
      CHECK(cheaper.cost.is_within(limit));
      CHECK(cheaper.loss <= 1.5 * best.loss);
      const auto open = is_time_open ? &BytesAndTime::seconds : &BytesAndTime::bytes;
      CHECK((cheaper.options == best.options || cheaper.cost.*open <= 0.95 * best.cost.*open));
      const BytesAndTime fewer = best.cost - cheaper.cost;
      CHECK((is_time_open ? fewer.seconds : fewer.bytes) >= 0);
      (is_time_open ? seconds : bytes) += is_time_open ? fewer.seconds : fewer.bytes;
    }
    const FormChoice both = choose_forms(items, {limited, 30});
    CHECK(choose_cheaper(items, {limited, 30}, both, 2 * both.loss, 0).options == both.options);
  }
  CHECK(seconds > 0);
  CHECK(bytes > 0);
}
