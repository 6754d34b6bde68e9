// SPDX-License-Identifier: Apache-2.0
/// \file Rotary frequencies from a config: plain ones, and scaled for longer texts than a model was first trained on (L3).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <numbers>
#include <string>
#include <string_view>
#include <vector>

#include <tulle/core/json.hpp>
#include <tulle/model/architecture.hpp>

namespace tulle {

/// theta^(-2j / dimensions) for j = 0 .. dimensions / 2 - 1, in double and rounded once.
inline std::vector<float> plain_frequencies(double theta, std::size_t dimensions) {
  std::vector<float> frequencies(dimensions / 2);
  for (std::size_t j = 0; j < frequencies.size(); ++j) {
    frequencies[j] =
        static_cast<float>(std::pow(theta, -2.0 * static_cast<double>(j) / static_cast<double>(dimensions)));
  }
  return frequencies;
}

namespace detail {

/// What a config says of rotary positions: `rope_scaling`, which users add by the advice of model cards, or else
/// `rope_parameters` (transformers from 5 on, PreTrainedConfig.convert_rope_params_to_dict).
inline const Json& rope_parameters(const Json& config, std::string_view where) {
  static const Json none = Json::object();
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    const auto found = config.find(key);
    if (found == config.end() || found->is_null()) continue;
    if (!found->is_object()) fail(ErrorCode::malformed, where, ": \"", key, "\" must be an object");
    if (!found->empty()) return *found;
  }
  return none;
}

/// One config's rotary scaling. Source of all formulas: transformers, modeling_rope_utils.py; the papers beside each.
class RotaryScaling {
 public:
  RotaryScaling(const Json& config, std::size_t dimensions, std::string_view where)
      : config_(config), parameters_(rope_parameters(config, where)), dimensions_(dimensions), where_(where) {
    double theta = 10000;
    if (const auto own = config.find("rope_parameters"); own != config.end() && own->is_object()) {
      theta = json_value(*own, "rope_theta", theta, where);
    }
    theta_ = json_value(parameters_, "rope_theta", json_value(config, "rope_theta", theta, where), where);
    if (!(theta_ > 0) || !std::isfinite(theta_)) fail(ErrorCode::malformed, where, ": rope_theta must be positive");
    kind_ = json_value(parameters_, "type", std::string("default"), where);
    kind_ = json_value(parameters_, "rope_type", kind_, where);
    // Early files of Phi-3 have other names for it.
    if (kind_ == "su" || (kind_ == "yarn" && parameters_.contains("short_factor"))) kind_ = "longrope";
  }

  Rotary table() const {
    Rotary table{RotaryPairing::halves, plain_frequencies(theta_, dimensions_)};
    std::vector<float>& frequencies = table.inverse_frequencies;
    if (kind_ == "default") return table;
    if (kind_ == "linear") {
      divide(frequencies, std::vector<double>(frequencies.size(), positive("factor")));
    } else if (kind_ == "dynamic") {
      table.of_length = dynamic();
    } else if (kind_ == "llama3") {
      stretch_long_waves(frequencies);
    } else if (kind_ == "yarn") {
      blend_by_turns(frequencies);
      table.factor = static_cast<float>(yarn_factor());
    } else if (kind_ == "longrope") {
      table.factor = static_cast<float>(longrope_factor());
      table.of_length = longrope();
    } else if (kind_ == "factors") {
      divide(frequencies, factors("factors"));
    } else {
      fail(ErrorCode::unsupported, where_, ": rope scaling \"", kind_,
           "\" is not known; known are default, linear, dynamic, llama3, yarn and longrope");
    }
    return table;
  }

 private:
  double number(const char* key, double fallback) const { return json_value(parameters_, key, fallback, where_); }
  double positive(const char* key) const {
    const double value = number(key, 0);
    if (!(value > 0) || !std::isfinite(value)) {
      fail(ErrorCode::malformed, where_, ": rope scaling \"", kind_, "\" needs a positive \"", key, "\"");
    }
    return value;
  }
  /// Positions that the model can have, and those that it was first trained on.
  double max_positions() const {
    const double most = json_value(config_, "max_position_embeddings", 0.0, where_);
    if (!(most >= 1)) fail(ErrorCode::malformed, where_, ": rope scaling needs \"max_position_embeddings\"");
    return most;
  }
  double original_positions() const {  // in transformers, too, the config's own key wins
    constexpr const char* key = "original_max_position_embeddings";
    const double of_config = json_value(config_, key, 0.0, where_);
    const double value = of_config > 0 ? of_config : number(key, 0);
    return value > 0 ? value : max_positions();
  }

  std::vector<double> factors(const char* key) const {
    auto values = json_value(parameters_, key, std::vector<double>{}, where_);
    if (values.size() != dimensions_ / 2) {
      fail(ErrorCode::malformed, where_, ": ", values.size(), " rope factors for ", dimensions_ / 2, " frequencies");
    }
    for (const double value : values) {
      if (!(value > 0)) fail(ErrorCode::malformed, where_, ": rope factors must be positive");
    }
    return values;
  }
  static void divide(std::vector<float>& frequencies, const std::vector<double>& divisors) {
    for (std::size_t j = 0; j < frequencies.size(); ++j) {
      frequencies[j] = static_cast<float>(frequencies[j] / divisors[j]);
    }
  }

  /// A larger theta for sequences beyond the trained length ("NTK-aware", bloc97 2023).
  std::function<std::vector<float>(std::size_t)> dynamic() const {
    const double factor = positive("factor"), most = max_positions();
    return [theta = theta_, dimensions = dimensions_, factor, most](std::size_t length) {
      const double longest = std::max(static_cast<double>(length), most), d = static_cast<double>(dimensions);
      return plain_frequencies(theta * std::pow(factor * longest / most - (factor - 1), d / (d - 2)), dimensions);
    };
  }

  /// Llama 3.1: long wavelengths are stretched by `factor`, short ones kept, those between blended.
  void stretch_long_waves(std::vector<float>& frequencies) const {
    const double factor = positive("factor"), low = positive("low_freq_factor"), high = positive("high_freq_factor");
    const double original = original_positions();
    if (!(high > low)) fail(ErrorCode::malformed, where_, ": high_freq_factor must be above low_freq_factor");
    for (float& frequency : frequencies) {
      const double wavelength = 2 * std::numbers::pi / frequency;
      if (wavelength < original / high) continue;
      const double blend = wavelength > original / low ? 0.0 : (original / wavelength - low) / (high - low);
      frequency = static_cast<float>((1 - blend) * frequency / factor + blend * frequency);
    }
  }

  /// Frequencies that turn often within the trained length are kept, those that hardly turn are divided by `factor`.
  /// Peng, Quesnelle, Fan, Shippole, "YaRN", 2023.
  void blend_by_turns(std::vector<float>& frequencies) const {
    const double factor = stretch(), d = static_cast<double>(dimensions_), original = original_positions();
    const auto dimension_of = [&](double turns) {
      return d * std::log(original / (turns * 2 * std::numbers::pi)) / (2 * std::log(theta_));
    };
    double low = dimension_of(number("beta_fast", 32)), high = dimension_of(number("beta_slow", 1));
    if (json_value(parameters_, "truncate", true, where_)) {
      low = std::floor(low);
      high = std::ceil(high);
    }
    low = std::max(low, 0.0);
    high = std::min(high, d - 1);
    if (low == high) high += 0.001;
    for (std::size_t j = 0; j < frequencies.size(); ++j) {
      const double ramp = std::clamp((static_cast<double>(j) - low) / (high - low), 0.0, 1.0);
      frequencies[j] = static_cast<float>(frequencies[j] / factor * ramp + frequencies[j] * (1 - ramp));
    }
  }
  /// `factor`, or what the lengths say.
  double stretch() const {
    const double given = number("factor", 0);
    return given > 0 ? positive("factor") : max_positions() / original_positions();
  }
  double yarn_factor() const {
    const double given = number("attention_factor", 0), factor = stretch();
    if (given > 0) return given;
    const auto scale = [&](double weight) { return factor <= 1 ? 1.0 : 0.1 * weight * std::log(factor) + 1; };
    const double of_some = number("mscale", 0), of_all = number("mscale_all_dim", 0);
    return of_some != 0 && of_all != 0 ? scale(of_some) / scale(of_all) : scale(1);
  }

  /// Ding et al., "LongRoPE", 2024: a divisor for each frequency, of two lists by the length of the sequences.
  std::function<std::vector<float>(std::size_t)> longrope() const {
    auto of = [&](const char* key) {
      std::vector<float> frequencies = plain_frequencies(theta_, dimensions_);
      divide(frequencies, factors(key));
      return frequencies;
    };
    return [small = of("short_factor"), large = of("long_factor"), original = original_positions()](
               std::size_t length) { return static_cast<double>(length) > original ? large : small; };
  }
  double longrope_factor() const {
    const double given = number("attention_factor", 0), factor = stretch();
    if (given > 0) return given;
    return factor <= 1 ? 1.0 : std::sqrt(1 + std::log(factor) / std::log(original_positions()));
  }

  const Json& config_;
  const Json& parameters_;
  std::size_t dimensions_;
  std::string_view where_;
  double theta_;
  std::string kind_;
};

}  // namespace detail

/// The rotary table of a Hugging Face config, for `dimensions` of a head: `rope_theta` and `rope_scaling` (up to
/// transformers 4) or `rope_parameters` (from 5). Kinds: default, linear, dynamic, llama3, yarn, longrope, and
/// "factors": one divisor per frequency, as GGUF files hold them. Tables of dynamic and longrope follow the length of the
/// sequences: they are those of a short one until `Architecture::set_sequence_length`.
/// Errors: malformed for values that make no sense, unsupported for another kind.
inline Rotary rotary_table(const Json& config, std::size_t dimensions, std::string_view where) {
  Rotary table = detail::RotaryScaling(config, dimensions, where).table();
  if (table.of_length) table.inverse_frequencies = table.of_length(1);
  return table;
}

/// The part of a head that rotates, under its newer name or as `fallback`.
inline double rotary_part(const Json& config, double fallback, std::string_view where) {
  fallback = json_value(config, "partial_rotary_factor", fallback, where);
  return json_value(detail::rope_parameters(config, where), "partial_rotary_factor", fallback, where);
}

}  // namespace tulle
