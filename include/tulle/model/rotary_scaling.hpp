// SPDX-License-Identifier: Apache-2.0
/// \file Rotary frequencies from a config: plain, linear and llama3 scaling (L3).
#pragma once

#include <cmath>
#include <cstddef>
#include <numbers>
#include <string>
#include <string_view>
#include <vector>

#include <tulle/core/json.hpp>

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

/// Frequencies of a Hugging Face config: `rope_theta` and `rope_scaling` (up to transformers 4) or `rope_parameters`
/// (from 5). Kinds: default, linear, llama3 (Llama 3.1: long wavelengths are stretched by `factor`, short ones kept,
/// those between blended), and "factors": one divisor per frequency, as GGUF files hold them.
/// Errors: malformed for values that make no sense, unsupported for another kind.
inline std::vector<float> rotary_frequencies(const Json& config, std::size_t dimensions, std::string_view where) {
  const Json none = Json::object();
  const auto object = [&](const char* key) -> const Json& {
    const auto found = config.find(key);
    if (found == config.end() || found->is_null()) return none;
    if (!found->is_object()) fail(ErrorCode::malformed, where, ": \"", key, "\" must be an object");
    return *found;
  };
  const Json& parameters = object("rope_parameters").empty() ? object("rope_scaling") : object("rope_parameters");
  const double theta = json_value(parameters, "rope_theta", json_value(config, "rope_theta", 10000.0, where), where);
  if (!(theta > 0) || !std::isfinite(theta)) fail(ErrorCode::malformed, where, ": rope_theta must be positive");
  std::vector<float> frequencies = plain_frequencies(theta, dimensions);

  std::string kind = json_value(parameters, "type", std::string("default"), where);
  kind = json_value(parameters, "rope_type", kind, where);
  const auto positive = [&](const char* key) {
    const double value = json_value(parameters, key, 0.0, where);
    if (!(value > 0) || !std::isfinite(value))
      fail(ErrorCode::malformed, where, ": rope scaling \"", kind, "\" needs a positive \"", key, "\"");
    return value;
  };
  if (kind == "default") return frequencies;
  if (kind == "linear") {
    const double factor = positive("factor");
    for (float& frequency : frequencies) frequency = static_cast<float>(frequency / factor);
    return frequencies;
  }
  if (kind == "llama3") {
    const double factor = positive("factor"), low = positive("low_freq_factor"), high = positive("high_freq_factor");
    const double original = positive("original_max_position_embeddings");
    if (!(high > low)) fail(ErrorCode::malformed, where, ": high_freq_factor must be above low_freq_factor");
    for (float& frequency : frequencies) {
      const double wavelength = 2 * std::numbers::pi / frequency;
      if (wavelength < original / high) continue;
      const double blend = wavelength > original / low ? 0.0 : (original / wavelength - low) / (high - low);
      frequency = static_cast<float>((1 - blend) * frequency / factor + blend * frequency);
    }
    return frequencies;
  }
  if (kind == "factors") {
    const auto factors = json_value(parameters, "factors", std::vector<double>{}, where);
    if (factors.size() != frequencies.size()) {
      fail(ErrorCode::malformed, where, ": ", factors.size(), " rope factors for ", frequencies.size(), " frequencies");
    }
    for (std::size_t j = 0; j < factors.size(); ++j) {
      if (!(factors[j] > 0)) fail(ErrorCode::malformed, where, ": rope factors must be positive");
      frequencies[j] = static_cast<float>(frequencies[j] / factors[j]);
    }
    return frequencies;
  }
  fail(ErrorCode::unsupported, where, ": rope scaling \"", kind,
       "\" is not known; known are default, linear and llama3");
}

}  // namespace tulle
