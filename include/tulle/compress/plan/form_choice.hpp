// SPDX-License-Identifier: Apache-2.0
/// \file The choice of least loss within a budget, by Lagrange multipliers (L5).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace tulle {

/// Memory and decode time. As a limit: infinity where there is none.
struct BytesAndTime {
  double bytes = 0, seconds = 0;

  BytesAndTime& operator+=(const BytesAndTime& other) noexcept {
    bytes += other.bytes;
    seconds += other.seconds;
    return *this;
  }
  BytesAndTime operator-(const BytesAndTime& other) const noexcept {
    return {bytes - other.bytes, seconds - other.seconds};
  }
  bool is_within(const BytesAndTime& limit) const noexcept { return bytes <= limit.bytes && seconds <= limit.seconds; }

  bool operator==(const BytesAndTime&) const = default;
};

/// One way to store an item. Costs and losses of the items of a model add up.
struct FormOption {
  double loss = 0;
  BytesAndTime cost{};
  std::vector<std::size_t> forms{};  ///< of each matrix of the item
};

struct FormChoice {
  std::vector<std::size_t> options;  ///< of each item
  double loss = 0;
  BytesAndTime cost;
  BytesAndTime multiplier;  ///< of both costs, where the search ended
};

/// The options that no other is as good as in loss, bytes and time, by falling bytes. Of equal ones the first stays.
inline std::vector<FormOption> pareto_front(std::vector<FormOption> options) {
  std::stable_sort(options.begin(), options.end(), [](const FormOption& a, const FormOption& b) {
    if (a.cost.bytes != b.cost.bytes) return a.cost.bytes < b.cost.bytes;
    return a.cost.seconds != b.cost.seconds ? a.cost.seconds < b.cost.seconds : a.loss < b.loss;
  });
  std::vector<FormOption> front;
  for (FormOption& option : options) {
    const bool is_beaten = std::any_of(front.begin(), front.end(), [&](const FormOption& smaller) {
      return smaller.cost.seconds <= option.cost.seconds && smaller.loss <= option.loss;
    });
    if (!is_beaten) front.push_back(std::move(option));
  }
  std::reverse(front.begin(), front.end());
  return front;
}

/// Of every item the option of least loss + multiplier * cost; of equal ones the first.
inline FormChoice choose_at(std::span<const std::vector<FormOption>> items, const BytesAndTime& multiplier) {
  FormChoice choice;
  choice.multiplier = multiplier;
  for (const std::vector<FormOption>& options : items) {
    std::size_t best = 0;
    const auto value = [&](std::size_t i) {
      const BytesAndTime& cost = options[i].cost;
      return options[i].loss + multiplier.bytes * cost.bytes + multiplier.seconds * cost.seconds;
    };
    for (std::size_t i = 1; i < options.size(); ++i) {
      if (value(i) < value(best)) best = i;
    }
    choice.options.push_back(best);
    choice.loss += options[best].loss;
    choice.cost += options[best].cost;
  }
  return choice;
}

/// The smallest sum of bytes that there is, and the smallest of seconds, each for itself.
inline BytesAndTime least_cost(std::span<const std::vector<FormOption>> items) {
  BytesAndTime sum;
  for (const std::vector<FormOption>& options : items) {
    BytesAndTime least = options.front().cost;
    for (const FormOption& option : options) {
      least.bytes = std::min(least.bytes, option.cost.bytes);
      least.seconds = std::min(least.seconds, option.cost.seconds);
    }
    sum += least;
  }
  return sum;
}

namespace detail {

/// What `choose` gives at the smallest multiplier with a cost within the limit, found by bisection.
template <class Choose, class IsWithin>
FormChoice choose_within(Choose choose, IsWithin is_within) {
  FormChoice best = choose(0.0);
  if (is_within(best.cost)) return best;
  constexpr double largest = 1e30;
  double low = 0, high = 1e-9;
  for (best = choose(high); high < largest && !is_within(best.cost); best = choose(high)) high *= 16;
  for (int step = 0; step < 80; ++step) {
    const double middle = low + (high - low) / 2;
    if (middle <= low || middle >= high) break;
    FormChoice choice = choose(middle);
    const bool fits = is_within(choice.cost);
    (fits ? high : low) = middle;
    if (fits) best = std::move(choice);
  }
  return best;
}

/// Within the limit of bytes alone, where a second counts as much as a loss of `of_time`.
inline FormChoice choose_within_bytes(std::span<const std::vector<FormOption>> items, double bytes, double of_time) {
  return choose_within([&](double of_bytes) { return choose_at(items, {of_bytes, of_time}); },
                       [&](const BytesAndTime& cost) { return cost.bytes <= bytes; });
}

/// What is left of the limit goes, step by step, where it lowers `loss` most for its share of the limit.
template <class Loss>
void spend(std::span<const std::vector<FormOption>> items, const BytesAndTime& limit, Loss loss, FormChoice& choice) {
  for (bool has_changed = true; has_changed;) {
    has_changed = false;
    std::size_t item_of_best = 0, option_of_best = 0;
    double most = 0;
    for (std::size_t item = 0; item < items.size(); ++item) {
      const FormOption& own = items[item][choice.options[item]];
      for (std::size_t i = 0; i < items[item].size(); ++i) {
        const FormOption& other = items[item][i];
        const double gain = loss(own) - loss(other);
        const BytesAndTime more = other.cost - own.cost;
        BytesAndTime sum = choice.cost;
        sum += more;
        if (gain <= 0 || !sum.is_within(limit)) continue;
        const double share = more.bytes / limit.bytes + more.seconds / limit.seconds;  // 0 of no limit
        const double rate = share <= 0 ? std::numeric_limits<double>::infinity() : gain / share;
        if (rate <= most) continue;
        most = rate;
        item_of_best = item;
        option_of_best = i;
        has_changed = true;
      }
    }
    if (!has_changed) break;
    const FormOption& own = items[item_of_best][choice.options[item_of_best]];
    const FormOption& other = items[item_of_best][option_of_best];
    choice.loss += other.loss - own.loss;
    choice.cost += other.cost - own.cost;
    choice.options[item_of_best] = option_of_best;
  }
}

/// The fastest choice that was found within a limit of bytes.
inline FormChoice choose_fastest(std::span<const std::vector<FormOption>> items, double bytes) {
  constexpr double only_time = 1e18;
  FormChoice choice = choose_within_bytes(items, bytes, only_time);
  const auto seconds = [](const FormOption& option) { return option.cost.seconds; };
  spend(items, {bytes, std::numeric_limits<double>::infinity()}, seconds, choice);
  return choice;
}

}  // namespace detail

/// The least time that was found within a limit of bytes, which is at least that of `least_cost`.
inline double least_seconds(std::span<const std::vector<FormOption>> items, double bytes) {
  return detail::choose_fastest(items, bytes).cost.seconds;
}

/// Bisects the multipliers until both costs are within their limits; what then is left goes where it lowers the loss. No
/// multiplier may do where layers are alike, which then change their forms all at once: there it begins from the fastest
/// choice. Needs: limits of at least `least_cost` and `least_seconds`, and fronts of `pareto_front`.
inline FormChoice choose_forms(std::span<const std::vector<FormOption>> items, const BytesAndTime& limit) {
  FormChoice best =
      detail::choose_within([&](double of_time) { return detail::choose_within_bytes(items, limit.bytes, of_time); },
                            [&](const BytesAndTime& cost) { return cost.seconds <= limit.seconds; });
  if (!best.cost.is_within(limit)) best = detail::choose_fastest(items, limit.bytes);
  detail::spend(items, limit, [](const FormOption& option) { return option.loss; }, best);
  return best;
}

/// Makes the cost that `limit` leaves open, where one is, as small as was found for a loss of at most `max_loss`, where that
/// saves a share of `min_saving` or more. `choice` is that of `choose_forms`.
inline FormChoice choose_cheaper(std::span<const std::vector<FormOption>> items, BytesAndTime limit,
                                 const FormChoice& choice, double max_loss, double min_saving) {
  double BytesAndTime::* const open = std::isinf(limit.seconds) ? &BytesAndTime::seconds : &BytesAndTime::bytes;
  if (!std::isinf(limit.*open)) return choice;
  double low = least_cost(items).*open, high = choice.cost.*open;
  FormChoice best = choice;
  for (int step = 0; step < 12; ++step) {
    limit.*open = low + (high - low) / 2;
    FormChoice cheaper = choose_forms(items, limit);
    const bool fits = cheaper.cost.is_within(limit) && cheaper.loss <= max_loss;
    (fits ? high : low) = limit.*open;
    if (fits) best = std::move(cheaper);
  }
  return best.cost.*open <= (1 - min_saving) * choice.cost.*open ? best : choice;
}

}  // namespace tulle
