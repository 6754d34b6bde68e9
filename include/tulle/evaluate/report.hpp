// SPDX-License-Identifier: Apache-2.0
/// \file Results of evaluations as JSON (L5).
#pragma once

#include <string>

#include <tulle/core/json.hpp>
#include <tulle/evaluate/estimate.hpp>
#include <tulle/evaluate/multiple_choice.hpp>
#include <tulle/evaluate/perplexity.hpp>

namespace tulle {

namespace detail {

/// Adds "name" and "name_standard_error".
inline void put_estimate(nlohmann::ordered_json& object, const std::string& name, const Estimate& estimate) {
  object[name] = estimate.value;
  object[name + "_standard_error"] = estimate.standard_error;
}

}  // namespace detail

/// "perplexity", "mean_nll", each with its "..._standard_error", "tokens", "windows", "seconds" and "window_nll", the
/// mean of each window; with a reference an object "reference" with "perplexity", "mean_nll", "perplexity_ratio", "kl"
/// and "same_top". A number that is not finite becomes null.
inline nlohmann::ordered_json report_json(const PerplexityResult& result) {
  nlohmann::ordered_json object;
  detail::put_estimate(object, "perplexity", result.perplexity);
  detail::put_estimate(object, "mean_nll", result.mean_nll);
  object["tokens"] = result.tokens;
  object["windows"] = result.windows.size();
  object["seconds"] = result.seconds;
  if (result.comparison) {
    nlohmann::ordered_json& reference = object["reference"];
    detail::put_estimate(reference, "perplexity", result.comparison->reference_perplexity);
    detail::put_estimate(reference, "mean_nll", result.comparison->reference_mean_nll);
    detail::put_estimate(reference, "perplexity_ratio", result.comparison->perplexity_ratio);
    detail::put_estimate(reference, "kl", result.comparison->kl);
    detail::put_estimate(reference, "same_top", result.comparison->same_top);
  }
  nlohmann::ordered_json& means = object["window_nll"] = nlohmann::ordered_json::array();
  for (const WindowScore& each : result.windows) means.push_back(each.mean_nll());
  return object;
}

/// "accuracy", "accuracy_per_letter", each with its "..._standard_error", "questions", "seconds" and "chosen", a list of
/// {"answer", "chosen", "chosen_per_letter", "log_likelihoods"}.
inline nlohmann::ordered_json report_json(const MultipleChoiceResult& result) {
  nlohmann::ordered_json object;
  detail::put_estimate(object, "accuracy", result.accuracy);
  detail::put_estimate(object, "accuracy_per_letter", result.accuracy_per_letter);
  object["questions"] = result.questions.size();
  object["seconds"] = result.seconds;
  nlohmann::ordered_json& chosen = object["chosen"] = nlohmann::ordered_json::array();
  for (const ChoiceResult& each : result.questions) {
    chosen.push_back({{"answer", each.answer},
                      {"chosen", each.chosen},
                      {"chosen_per_letter", each.chosen_per_letter},
                      {"log_likelihoods", each.log_likelihoods}});
  }
  return object;
}

}  // namespace tulle
