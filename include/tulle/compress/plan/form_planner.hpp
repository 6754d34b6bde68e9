// SPDX-License-Identifier: Apache-2.0
/// \file The choice of a form for each matrix of one model (L5).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <tulle/compress/module_list.hpp>
#include <tulle/compress/plan/form_choice.hpp>
#include <tulle/compress/plan/form_costs.hpp>
#include <tulle/compress/plan/form_losses.hpp>
#include <tulle/compress/plan/matrix_form.hpp>
#include <tulle/compress/recipe_expression.hpp>
#include <tulle/core/error.hpp>
#include <tulle/kernel/linear_kernel.hpp>

namespace tulle {

/// What a matrix gets, or all matrices together in one form.
struct PlannedForm {
  std::string name;  ///< of the matrix
  std::string form;
  double loss = 0, bytes = 0, seconds = 0;  ///< of the whole matrix

  PlannedForm& operator+=(const PlannedForm& other) noexcept {
    loss += other.loss;
    bytes += other.bytes;
    seconds += other.seconds;
    return *this;
  }
};

struct FormPlan {
  std::vector<PlannedForm> matrices;
  std::vector<PlannedForm> uniform;  ///< each form in every matrix, where it fits all
  std::string form;                  ///< of every matrix; empty: there are several
  double weights = 0, bytes = 0, seconds = 0, int8_seconds = 0, loss = 0;
  BytesAndTime multiplier;
};

namespace detail {

/// The choice for one model.
class FormPlanner {
 public:
  FormPlanner(const FormRequest& request, const ModuleList& modules, std::span<const LayerLosses> layers,
              std::span<const FormCost> costs)
      : request_(request), layers_(layers), costs_(costs), factors_(request.forms.size(), 1.0) {
    for (const Module& module : modules.modules) modules_[module.name] = &module;
    for (const LayerLosses& layer : layers) {
      if (!layer.factors.empty()) factors_ = layer.factors;
    }
  }

  FormPlan plan() {
    std::vector<const std::vector<std::string>*> names;
    std::vector<const LayerLosses*> owners;
    FormPlan result;
    for (const LayerLosses& layer : layers_) {
      for (const std::vector<std::string>& item : layer.items) {
        names.push_back(&item);
        owners.push_back(&layer);
        for (const std::string& name : item) {
          const Module& module = *modules_.at(name);
          result.weights += weights_of(module);
          result.int8_seconds += cost_of(costs_, "int8", module.columns).seconds * weights_of(module);
        }
      }
    }
    for (std::size_t form = 0; form < request_.forms.size(); ++form) add_uniform(form, result);
    std::vector<std::vector<FormOption>> items = items_of(Errors::small);
    if (!is_met(result, items)) items = items_of(Errors::any);
    const BytesAndTime limits = limit(result, items);
    FormChoice choice = choose_forms(items, limits);
    const auto fill = [&](const auto& form_of) {
      PlannedForm sum;
      for (std::size_t item = 0; item < items.size(); ++item) {
        for (std::size_t i = 0; i < names[item]->size(); ++i) {
          sum += result.matrices.emplace_back(planned(*owners[item], (*names[item])[i], form_of(item, i)));
        }
      }
      result.loss = sum.loss;
      result.bytes = sum.bytes;
      result.seconds = sum.seconds;
    };
    if (const std::optional<std::size_t> form = one_for_all(result, choice.loss)) {
      fill([&](std::size_t, std::size_t) { return *form; });
      result.form = request_.forms[*form].name;
    } else {
      choice = choose_cheaper(items, limits, choice, (1 + free_loss) * choice.loss, min_saving);
      fill([&](std::size_t item, std::size_t i) { return items[item][choice.options[item]].forms[i]; });
    }
    result.multiplier = choice.multiplier;
    return result;
  }

 private:
  static double weights_of(const Module& module) {
    return static_cast<double>(module.rows) * static_cast<double>(module.columns);
  }

  /// A form that does not fit has a loss below 0.
  PlannedForm planned(const LayerLosses& layer, const std::string& name, std::size_t form) const {
    const Module& module = *modules_.at(name);
    PlannedForm result{name, std::string(request_.forms[form].name), layer.losses.at(name).at(form), 0, 0};
    if (result.loss < 0) return result;
    const FormCost& cost = cost_of(costs_, result.form, module.columns);
    result.loss *= factors_[form];
    result.bytes = cost.bytes * weights_of(module);
    result.seconds = cost.seconds * weights_of(module);
    if (const auto found = layer.bytes.find(name); found != layer.bytes.end() && found->second.at(form) > 0) {
      result.seconds *= found->second.at(form) / result.bytes;
      result.bytes = found->second.at(form);
    }
    return result;
  }

  /// What a form may cost a matrix. `small`: no more than one without zeros does. Losses were measured with small errors,
  /// and those of large ones are too small in some layers (compress/README.md), so `any` is for budgets that need it.
  enum class Errors { small, any };

  double largest_loss(const LayerLosses& layer, const std::string& name, Errors errors) const {
    if (errors == Errors::any) return std::numeric_limits<double>::infinity();
    double largest = -1;  // of a form that does not fit
    for (std::size_t form = 0; form < request_.forms.size(); ++form) {
      if (request_.forms[form].sparsity == 0) largest = std::max(largest, planned(layer, name, form).loss);
    }
    return largest;
  }

  std::vector<std::vector<FormOption>> items_of(Errors errors) const {
    std::vector<std::vector<FormOption>> items;
    for (const LayerLosses& layer : layers_) {
      for (const std::vector<std::string>& names : layer.items) items.push_back(options_of(layer, names, errors));
    }
    return items;
  }

  /// All combinations of forms of matrices that are multiplied together, but those that cannot be packed.
  std::vector<FormOption> options_of(const LayerLosses& layer, const std::vector<std::string>& names,
                                     Errors errors) const {
    bool ends_at_panels = true;
    for (std::size_t i = 0; i + 1 < names.size(); ++i) {
      ends_at_panels = ends_at_panels && modules_.at(names[i])->rows % panel_rows == 0;
    }
    const auto fits_with = [&](const std::vector<std::size_t>& before, std::size_t form) {
      return std::all_of(before.begin(), before.end(), [&](std::size_t other) {
        return other == form || (ends_at_panels && !request_.forms[other].is_packed_with(request_.forms[form]));
      });
    };
    std::vector<FormOption> options{{}};
    for (const std::string& name : names) {
      std::vector<FormOption> longer;
      const double largest = largest_loss(layer, name, errors);
      for (std::size_t form = 0; form < request_.forms.size(); ++form) {
        const PlannedForm matrix = planned(layer, name, form);
        if (matrix.loss < 0 || matrix.loss > largest) continue;
        for (const FormOption& option : options) {
          if (!fits_with(option.forms, form)) continue;
          FormOption& next = longer.emplace_back(option);
          next.forms.push_back(form);
          next.loss += matrix.loss;
          next.cost += {matrix.bytes, matrix.seconds};
        }
      }
      options = std::move(longer);
    }
    if (options.empty() && errors == Errors::any) {
      fail(ErrorCode::invalid_argument, names.front(), " has ", modules_.at(names.front())->columns,
           " columns, which none of the plan's forms fits; allow int8");
    }
    return pareto_front(std::move(options));
  }

  static constexpr double almost = 1 - 1e-9;  // sums are rounded
  // Losses are known no better than that (compress/README.md): a plan of several forms is expected to lose less than one
  // form by `min_gain`, and what the budget does not limit is made small for `free_loss` where that saves `min_saving`.
  static constexpr double min_gain = 0.15, free_loss = 0.07, min_saving = 0.05;

  /// What the budget asks for, as sums of costs. Errors: invalid_argument for a form that does not fit every matrix.
  BytesAndTime wanted(const FormPlan& sums) const {
    constexpr double unlimited = std::numeric_limits<double>::infinity();
    const FormBudget& budget = request_.budget;
    if (!budget.form.empty()) {
      for (const PlannedForm& each : sums.uniform) {
        if (each.form == budget.form) return {each.bytes, each.seconds};
      }
      fail(ErrorCode::invalid_argument, "not every matrix can have the form ", budget.form);
    }
    return {budget.bytes_per_weight ? *budget.bytes_per_weight * sums.weights : unlimited,
            budget.speedup ? sums.int8_seconds / *budget.speedup : unlimited};
  }
  /// The least bytes, and the least time within those that are wanted.
  BytesAndTime least(const BytesAndTime& wanted, std::span<const std::vector<FormOption>> items) const {
    BytesAndTime least = least_cost(items);
    const FormBudget& budget = request_.budget;
    if (budget.limits_bytes() && budget.limits_time()) {
      least.seconds = least_seconds(items, std::max(wanted.bytes, least.bytes));
    }
    return least;
  }
  bool is_met(const FormPlan& sums, std::span<const std::vector<FormOption>> items) const {
    if (std::any_of(items.begin(), items.end(), [](const auto& options) { return options.empty(); })) return false;
    const BytesAndTime asked = wanted(sums), possible = least(asked, items);
    return asked.bytes >= possible.bytes * almost && asked.seconds >= possible.seconds * almost;
  }

  /// Of the sums. Errors: invalid_argument, with the nearest budget that can be met.
  BytesAndTime limit(const FormPlan& sums, std::span<const std::vector<FormOption>> items) const {
    const BytesAndTime asked = wanted(sums), possible = least(asked, items);
    const std::optional<double>&bytes = request_.budget.bytes_per_weight, &speedup = request_.budget.speedup;
    if (bytes && asked.bytes < possible.bytes * almost) {
      fail(ErrorCode::invalid_argument, "no plan has at most ", number_text(*bytes),
           " bytes a weight; the smallest forms of this model have ",
           number_text(std::ceil(possible.bytes / sums.weights * 1000 * almost) / 1000), ": give that or more");
    }
    if (speedup && asked.seconds < possible.seconds * almost) {
      fail(ErrorCode::invalid_argument, "no plan ", bytes ? "of " + number_text(*bytes) + " bytes a weight " : "",
           "decodes ", number_text(*speedup), " times as fast as int8; the fastest that was found reaches ",
           number_text(std::floor(sums.int8_seconds / possible.seconds * 100 / almost) / 100), ": give that or less");
    }
    return {std::max(asked.bytes, possible.bytes), std::max(asked.seconds, possible.seconds)};
  }

  /// The form that loses least of those that keep to the budget in every matrix, where `loss`, of several forms, is
  /// hardly smaller.
  std::optional<std::size_t> one_for_all(const FormPlan& sums, double loss) const {
    const BytesAndTime asked = wanted(sums);
    const PlannedForm* best = nullptr;
    for (const PlannedForm& each : sums.uniform) {
      const bool keeps = each.bytes * almost <= asked.bytes && each.seconds * almost <= asked.seconds;
      if (keeps && (best == nullptr || each.loss < best->loss)) best = &each;
    }
    if (best == nullptr || loss < (1 - min_gain) * best->loss) return std::nullopt;
    const auto found = std::find_if(request_.forms.begin(), request_.forms.end(),
                                    [&](const MatrixForm& form) { return form.name == best->form; });
    return static_cast<std::size_t>(found - request_.forms.begin());
  }

  void add_uniform(std::size_t form, FormPlan& result) const {
    PlannedForm sum{"", std::string(request_.forms[form].name), 0, 0, 0};
    for (const LayerLosses& layer : layers_) {
      for (const std::vector<std::string>& item : layer.items) {
        for (const std::string& name : item) {
          const PlannedForm matrix = planned(layer, name, form);
          if (matrix.loss < 0) return;
          sum += matrix;
        }
      }
    }
    result.uniform.push_back(std::move(sum));
  }

  const FormRequest& request_;
  std::span<const LayerLosses> layers_;
  std::span<const FormCost> costs_;
  std::vector<double> factors_;
  std::map<std::string, const Module*> modules_;
};

}  // namespace detail

}  // namespace tulle
