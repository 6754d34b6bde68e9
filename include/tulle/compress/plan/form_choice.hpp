// SPDX-License-Identifier: Apache-2.0
/// \file The choice of least loss within a budget, by a Lagrange multiplier (L5).
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace tulle {

/// One way to store an item. Costs and losses of the items of a model add up.
struct FormOption {
  double loss = 0, cost = 0;
  std::vector<std::size_t> forms{};  ///< of each matrix of the item
};

struct FormChoice {
  std::vector<std::size_t> options;  ///< of each item
  double loss = 0, cost = 0;
  double multiplier = 0;  ///< of the cost, where the search ended
};

/// The options that no other beats in both loss and cost, by falling cost. Of equal ones the first stays.
inline std::vector<FormOption> pareto_front(std::vector<FormOption> options) {
  std::stable_sort(options.begin(), options.end(), [](const FormOption& a, const FormOption& b) {
    return a.cost != b.cost ? a.cost < b.cost : a.loss < b.loss;
  });
  std::vector<FormOption> front;
  for (FormOption& option : options) {
    if (front.empty() || option.loss < front.back().loss) front.push_back(std::move(option));
  }
  std::reverse(front.begin(), front.end());
  return front;
}

/// Of every item the option of least loss + multiplier * cost; of equal ones the first.
inline FormChoice choose_at(std::span<const std::vector<FormOption>> items, double multiplier) {
  FormChoice choice;
  choice.multiplier = multiplier;
  for (const std::vector<FormOption>& options : items) {
    std::size_t best = 0;
    const auto value = [&](std::size_t i) { return options[i].loss + multiplier * options[i].cost; };
    for (std::size_t i = 1; i < options.size(); ++i) {
      if (value(i) < value(best)) best = i;
    }
    choice.options.push_back(best);
    choice.loss += options[best].loss;
    choice.cost += options[best].cost;
  }
  return choice;
}

/// The smallest sum of costs that there is.
inline double least_cost(std::span<const std::vector<FormOption>> items) {
  double sum = 0;
  for (const std::vector<FormOption>& options : items) {
    double least = std::numeric_limits<double>::infinity();
    for (const FormOption& option : options) least = std::min(least, option.cost);
    sum += least;
  }
  return sum;
}

/// Bisects the multiplier until the cost is at most `budget`; what then is left of the budget goes, step by step, where
/// it lowers the loss most for its cost. Needs: a budget of at least `least_cost`, and fronts of `pareto_front`.
inline FormChoice choose_forms(std::span<const std::vector<FormOption>> items, double budget) {
  FormChoice best = choose_at(items, 0);
  if (best.cost <= budget) return best;
  double low = 0, high = 1e-9;
  constexpr double largest = 1e30;
  while (high < largest && choose_at(items, high).cost > budget) high *= 16;
  best = choose_at(items, high);
  for (int step = 0; step < 80; ++step) {
    const double middle = low + (high - low) / 2;
    FormChoice choice = choose_at(items, middle);
    (choice.cost <= budget ? high : low) = middle;
    if (choice.cost <= budget) best = std::move(choice);
  }
  for (bool has_changed = true; has_changed;) {
    has_changed = false;
    std::size_t item_of_best = 0, option_of_best = 0;
    double most = 0;
    for (std::size_t item = 0; item < items.size(); ++item) {
      const FormOption& own = items[item][best.options[item]];
      for (std::size_t i = 0; i < items[item].size(); ++i) {
        const FormOption& other = items[item][i];
        const double gain = own.loss - other.loss, cost = other.cost - own.cost;
        if (gain <= 0 || best.cost + cost > budget) continue;
        const double rate = cost <= 0 ? std::numeric_limits<double>::infinity() : gain / cost;
        if (rate <= most) continue;
        most = rate;
        item_of_best = item;
        option_of_best = i;
        has_changed = true;
      }
    }
    if (!has_changed) break;
    const FormOption& own = items[item_of_best][best.options[item_of_best]];
    const FormOption& other = items[item_of_best][option_of_best];
    best.loss += other.loss - own.loss;
    best.cost += other.cost - own.cost;
    best.options[item_of_best] = option_of_best;
  }
  return best;
}

}  // namespace tulle
